"""Whether a split of CFL helps: judged by each client on examples that it does not train on.

The paper notes that one can always fall back to the solution before a split. So that falling back costs nothing, the
model of the cluster is trained further beside the split for some rounds; if it is better in the end, it is as if there
had been no split. Also, for every client the best of the models on its path is found.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedclade.core import Assignment, ClientId, Round
from fedclade.fleet import Fleet, Losses
from fedclade.methods.cfl.parameter_tree import CFLState

PAUSE_ROUNDS = 20  # rounds without another split after one was undone
CLEAR = 1.5  # standard errors of a loss by which one part must gain
STEADY = 3.0  # standard errors of a gain that all parts must have, if it is a small one
MIN_STEADY_CLIENTS = 3  # a gain of fewer clients is not steady
TOLERATED_LOSS = 0.01  # share of its loss that a part may lose without counting as worse


def train_undivided(tree: CFLState, chosen: Sequence[ClientId], fleet: Fleet, now: Round) -> CFLState:
    """Train the undivided models of splits on trial for one round: FedAvg among the clients of the cluster."""
    tried = tree.on_trial()
    home: dict[ClientId, int] = {}
    for place, number in enumerate(tried):
        home.update(dict.fromkeys(set(tree.members(number)) & set(chosen), place))
    if not home:
        return tree
    means = fleet.train_mean(Assignment(np.stack(list(tried.values())), home), now)
    for number, row in zip(tried, means.rows, strict=True):
        tree = tree.with_undivided(number, row)
    return tree


@dataclass(frozen=True)
class Gain:
    """What a part gains by a split."""

    share: float
    """By how much its loss is lower than without the split, as a share of the latter."""
    examples: int
    """How many validation examples that was measured on."""
    is_steady: bool
    """Whether it is too even over clients for chance, however small."""

    @classmethod
    def of(cls, losses: Losses) -> "Gain":
        """From the losses of the undivided model and of the part's own on the validation examples of its clients."""
        together, apart = losses.examples @ losses.table
        share = (together - apart) / max(together, np.finfo(np.float64).tiny)
        each = losses.table[:, 0] - losses.table[:, 1]
        is_steady = len(each) >= MIN_STEADY_CLIENTS and each.mean() > STEADY * each.std(ddof=1) / math.sqrt(len(each))
        return cls(float(share), int(losses.examples.sum()), bool(is_steady))

    @property
    def is_clear(self) -> bool:
        """Whether it is too large for chance, if losses of examples are spread as far as their mean, at most."""
        return self.share * math.sqrt(self.examples) > CLEAR

    @property
    def is_loss(self) -> bool:
        return self.share < -TOLERATED_LOSS


def judge_splits(tree: CFLState, rounds: int, fleet: Fleet, now: Round) -> tuple[CFLState, list[int]]:
    """Keep or undo the splits that were on trial for `rounds`; and the nodes of those undone."""
    undone: list[int] = []
    present = set(fleet.clients())
    for number, shadow in tree.on_trial().items():
        split = tree.nodes[number].split
        if split is None or now.number < split.round + rounds:
            continue
        gains = []
        for child in split.children:
            asked = [client for client in tree.members(child) if client in present]
            losses = fleet.losses(asked, np.stack([shadow, tree.nodes[child].model]), now)
            if losses.clients:
                gains.append(Gain.of(losses))
        patient = now.number < split.round + 2 * rounds
        if not gains or (patient and len(gains) < len(split.children)):
            continue  # no client of a part was heard: try later, but clients that left must not delay this for ever
        helps = any(gain.is_clear for gain in gains) or all(gain.is_steady for gain in gains)
        if helps and not any(gain.is_loss for gain in gains):  # a small part must not pay for a large one
            tree = tree.with_undivided(number, None)
        else:
            tree = tree.undo_split(number, now.number + PAUSE_ROUNDS)
            undone.append(number)
    return tree, undone


def best_of_paths(tree: CFLState, fleet: Fleet, now: Round) -> dict[ClientId, int]:
    """For every client the node of its path whose model has the lowest loss on its validation share."""
    present = set(fleet.clients())
    best: dict[ClientId, int] = {}
    for leaf in sorted(set(tree.node_by_client.values())):
        path = tree.path(leaf)
        members = [client for client, home in tree.node_by_client.items() if home == leaf and client in present]
        if len(path) > 1 and members:
            losses = fleet.losses(members, np.stack([tree.nodes[number].model for number in path]), now)
            best.update({client: path[row] for client, row in losses.best_row().items()})
    return best
