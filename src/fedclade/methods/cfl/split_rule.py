"""When CFL splits a cluster: three ways to set the thresholds of equations 30 and 31, and the check of equation 36.

`absolute`   eps1 and eps2 are numbers, in units of the update's norm.
`paper`      section V-B: eps1 is a share of the largest mean update that the cluster has seen, eps2 a multiple of eps1.
`automatic`  nothing to set. The mean update counts against the largest client's: with m clients whose updates point
             anywhere, their ratio is about 1 / sqrt(m), so a ratio below that says that they pull against each other.
             A part is far from its own optimum while its median client moves nearly as far as any part's did in this
             cluster; the largest update alone does not show it: single clients leap now and then where all can agree.
             There must be structure: no two clients across pull in one direction, and each client pulls in that of
             another of its own part, more than any two across. Twice in a row, with the same parts. So clients that
             are all unlike each other are never split: that two differ is no structure.
`tried`      the same, whatever the length of updates: how far clients are from their optimum is left to the trial of
             the split, so clients must keep a validation share.
"""

import math
from dataclasses import dataclass
from typing import Literal

from fedclade.core import InputError
from fedclade.methods.cfl.cluster_signs import ClusterSigns

Rule = Literal["automatic", "tried", "paper", "absolute"]

STALLED = 0.9  # automatic: of 1 / sqrt(m), where the updates of m clients would cancel by chance
RESTLESS = 0.59  # automatic: of the largest `usual_norm` since the cluster began
MAX_CROSS = 0.1  # automatic: the largest similarity across must be below
STRUCTURE = 0.15  # automatic: similarity to the nearest of the own part, minus the largest across if that is over 0
CONSECUTIVE_ROUNDS = {"automatic": 2, "tried": 2, "paper": 1, "absolute": 1}  # rounds
USED_BY: dict[Rule, dict[str, float]] = {  # settings that only one rule reads, with their defaults
    "absolute": {"eps1": 0.0, "eps2": 0.0},
    "paper": {"eps1_share": 0.1, "eps2_times": 6.0},
}


@dataclass(frozen=True)
class SplitRule:
    """The rule, and its settings."""

    rule: Rule
    eps1: float
    eps2: float
    eps1_share: float
    eps2_times: float
    gamma_max: float

    def check(self) -> None:
        """An error if a threshold is set that the rule does not read."""
        for rule, defaults in USED_BY.items():
            for name, default in defaults.items():
                if rule != self.rule and (value := getattr(self, name)) != default:
                    got, need = f'{value:g} with rule "{self.rule}"', f'rule "{rule}"'
                    raise InputError(f"{name} is for another rule", where=f"CFL.{name}", got=got, need=need)

    def wants_split(self, signs: ClusterSigns) -> bool:
        """Whether the cluster has stalled while its clients have not, and the bipartition is sure."""
        return self.meets_thresholds(signs) and is_sure(signs.cross, self.gamma_max)

    def meets_thresholds(self, signs: ClusterSigns) -> bool:
        """Equations 30 and 31; rules without settings ask for structure too."""
        eps1, eps2 = self.levels(signs)
        is_stalled = signs.mean_norm < eps1 and self.restless_norm(signs) > eps2
        if self.rule in ("automatic", "tried"):
            return is_stalled and signs.cross < MAX_CROSS and signs.inside - max(signs.cross, 0) > STRUCTURE
        return is_stalled

    def restless_norm(self, signs: ClusterSigns) -> float:
        """The norm that eps2 is for: of the client that moves most, or of a usual one in the part that does."""
        return signs.usual_norm if self.rule in ("automatic", "tried") else signs.largest_norm

    def levels(self, signs: ClusterSigns) -> tuple[float, float]:
        """eps1 and eps2 of this cluster in this round."""
        if self.rule in ("automatic", "tried"):
            restless = RESTLESS * signs.usual_seen if self.rule == "automatic" else 0.0
            return STALLED * signs.largest_norm / math.sqrt(signs.clients), restless
        if self.rule == "paper":
            eps1 = self.eps1_share * signs.mean_seen
            return eps1, self.eps2_times * eps1
        return self.eps1, self.eps2


def is_sure(cross: float, gamma_max: float) -> bool:
    """Equation 36: the bipartition is right as long as no client's gradient is off by gamma_max or more."""
    return math.sqrt(max(1 - cross, 0) / 2) > gamma_max
