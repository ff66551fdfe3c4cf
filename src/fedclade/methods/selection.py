"""Selection: who takes part in a round, by what clients' drifts told at the last check-in.

At a check-in every client trains the model it has, and sends it: that costs as many uploads as there are clients. What
the drifts tell is then used for many rounds. Selection is a part of its own: ABC is FedAvg with it; any other method
that samples has it by `selection = ...`, and then it goes on inside the groups of clients that share a model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.fleet import Fleet, Updates
from fedclade.methods.needs import Needs, Network
from fedclade.methods.policy import SLACK, allotted, by_groups, by_scores, grouped, least
from fedclade.methods.protocol import Fact
from fedclade.nouns import Assignment, ClientId, InputError, Round, Rows, settings
from fedclade.relate import attention, cosine_attention
from fedclade.relate.drifts import cosine_scores, drift_groups, nearest, principal_scores

Score = Literal["groups", "pca", "cosine", "attention", "attention+"]
"""What drifts are asked for: groups of like directions, the first principal component, the cosine to the mean, or what
a network attends to, the paper's or ours."""
By = Literal["random", "balanced", "groups", "pca", "cosine", "attention", "attention+"]
CheckIn = Annotated[int, Field(ge=1, le=10**9)]
UNKNOWN = -1  # the group of those who were not heard at a check-in
SHOWN = 1000  # clients whose scores are told


@settings
class Selection:
    """Who takes part in a round, in any method that samples."""

    selection: By = "random"
    """By chance; the least used (`balanced`); or by what drifts tell: see `Score`."""
    check_in: CheckIn = 50
    """Rounds between check-ins, in which everybody is asked; the first round is one."""
    network: str = ""
    """By attention: the file of a network, see `fedclade attention train`; empty: the shipped one, if there is one."""

    def needs(self) -> Needs:
        """What it needs beside what the method does."""
        return needs_of_score(self.selection, self.network)


def needs_of_score(score: str, network: str) -> Needs:
    """What a score needs; an error if a network is named for nothing.

    All but the paper's network look at angles only, which are the same in a blind run.
    """
    if score == "attention":
        return Needs(network=Network(score, network), sees="each number of an update by its place, for its network")
    if score == "attention+":
        return Needs(network=Network(score, network or score))
    if network:
        need = '"attention" or "attention+"'
        raise InputError("the network is for nothing", where="method.network", got=f'by "{score}"', need=need)
    return Needs()


@dataclass(frozen=True, eq=False)
class Standing:
    """What is known of clients: how often they took part, and what their drifts told."""

    used: dict[ClientId, int] = field(default_factory=dict)
    scores: dict[ClientId, float] = field(default_factory=dict)
    group: dict[ClientId, int] = field(default_factory=dict)
    checked: int = 0
    """The round of the last check-in; 0: there was none."""

    def due(self, every: int, now: Round) -> bool:
        """Whether a check-in is due in this round."""
        return not self.checked or now.number - self.checked >= every

    def after(self, chosen: tuple[ClientId, ...]) -> "Standing":
        """The same when these have taken part."""
        return replace(self, used={**self.used, **{client: self.used[client] + 1 for client in chosen}})

    def with_clients(self, clients: tuple[ClientId, ...]) -> "Standing":
        """The same of these clients. Nobody has to wait for who is new, or was away: they begin with the least used."""
        there = [self.used[client] for client in clients if client in self.used]
        behind = max(there, default=0) - SLACK - 1  # nobody who was there is further behind
        fewest = min((times for times in there if times >= behind), default=0)
        late = [client for client in clients if client not in self.used or self.used[client] < behind]
        return replace(self, used={**self.used, **dict.fromkeys(late, fewest)}) if late else self

    def heard(self, look: "Look", starts: Assignment, updates: Updates, now: Round) -> "Standing":
        """The same after a check-in: drifts are compared among clients that were sent the same model.

        Groups that were found hold until others clearly stand apart: a trained model drifts by chance. The first ones
        need not be clear, since it costs nothing to take turns among groups that mean nothing.
        """
        if not updates.clients:
            return self
        place = {client: number for number, client in enumerate(updates.clients)}
        scores: dict[ClientId, float] = {}
        group = dict(self.group)
        for own in grouped({client: starts.home[client] for client in updates.clients}):
            drifts = updates.rows[[place[client] for client in own]] - starts.row_of(own[0])
            seen = (look or principal_scores)(drifts)  # beside groups only to be looked at
            scores |= dict(zip(own, seen.tolist(), strict=True))
            if look is not None:
                continue
            known = {client: group[client] for client in own if client in group}
            found = drift_groups(own, drifts, sure=bool(known))
            if known and len(found) == 1:
                group |= nearest(known, own, drifts)
                continue
            same = starts.home[own[0]]
            first = max(group.values(), default=UNKNOWN) + 1
            group = {client: number for client, number in group.items() if starts.home.get(client) != same}
            group |= {client: first + number for client, number in found.labels.items()}
        return replace(self, scores=scores, group=group, checked=now.number)

    def told(self) -> dict[str, Fact]:
        """What a check-in found, as facts; of many clients only that there was one."""
        facts: dict[str, Fact] = {"check_in": True}
        if len(self.used) <= SHOWN:
            facts |= {"used": dict(self.used), "scores": dict(self.scores)}
            if self.group:
                facts["drift_groups"] = dict(self.group)
        return facts


Look = Callable[[Rows], NDArray[np.float64]] | None
"""From drifts to scores; None: to groups."""


def look(score: Score, network: str, fleet: Fleet) -> Look:
    """How drifts are looked at."""
    match score:
        case "groups":
            return None
        case "pca":
            return principal_scores
        case "cosine":
            return cosine_scores
        case "attention":
            return partial(attention.scores, fleet.attention(network, score))
        case "attention+":
            return partial(cosine_attention.scores, float(fleet.attention(network or score, score)[0]))


def participants(
    by: By, standing: Standing, home: Mapping[ClientId, int], count: int, chance: np.random.Generator
) -> tuple[ClientId, ...]:
    """So many of the clients: among those with the same model, as many as these are worth by their number."""
    members, count = grouped(home), min(count, len(home))
    chosen: list[ClientId] = []
    for own, share in zip(members, allotted(members, standing.used, count, chance), strict=True):
        if by == "balanced":
            chosen += least(own, standing.used, share, chance)
        elif by == "groups":
            known = {client: standing.group.get(client, UNKNOWN) for client in own}
            chosen += by_groups(known, standing.used, share, chance)
        else:
            heard = [standing.scores[client] for client in own if client in standing.scores]
            middle = float(np.mean(heard)) if heard else 0.0
            scores = {client: standing.scores.get(client, middle) for client in own}
            chosen += by_scores(scores, standing.used, share, chance)
    return tuple(sorted(chosen))


def compares(models: Assignment) -> bool:
    """Whether anybody shares a model with somebody: otherwise there are no drifts that could be compared."""
    return len(set(models.home.values())) < len(models.home)


def selected(
    how: Selection, standing: Standing, models: Assignment, fleet: Fleet, now: Round
) -> tuple[Standing, Round, dict[str, Fact]]:
    """The round with its participants, after a check-in if one is due; and what is to be told.

    Where every client has a model of its own, the least used take part.
    """
    standing = standing.with_clients(models.clients)
    by, facts = how.selection if compares(models) else "balanced", dict[str, Fact]()
    if by != "random" and by != "balanced" and standing.due(how.check_in, now):
        standing = standing.heard(look(by, how.network, fleet), models, fleet.train(models, now), now)
        facts = standing.told() if standing.checked == now.number else facts
    chosen = participants(by, standing, models.home, now.wanted(len(models.home)), now.generator("selection"))
    return standing.after(chosen), replace(now, chosen=chosen), {**facts, "chosen": list(chosen)}
