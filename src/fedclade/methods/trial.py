"""Whether a split of CFL helps: judged by each client on examples that it does not train on.

The paper notes that one can always fall back to the solution before a split. So that falling back costs nothing, the
cluster's model trains on beside the split for some rounds; if it is better in the end, it is as if there had been no
split. And every client can be told which of the models on its path is the best for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedclade.fleet import Fleet, Losses
from fedclade.methods.parameter_tree import Tree
from fedclade.nouns import Assignment, ClientId, Round

REST = 20  # rounds without another split after one was undone
CLEAR = 1.5  # standard errors of a loss by which one part must gain
STEADY = 3.0  # standard errors of a gain that all parts must have, if it is a small one
FEW = 3  # clients: what fewer agree on is not steady
WORSE = 0.01  # of its loss: what a part may lose, and has lost nothing


def shadowed(tree: Tree, chosen: Sequence[ClientId], fleet: Fleet, now: Round) -> Tree:
    """The models of clusters whose split is on trial, one round on: FedAvg among those of the cluster."""
    tried = tree.on_trial()
    home: dict[ClientId, int] = {}
    for place, number in enumerate(tried):
        home.update(dict.fromkeys(set(tree.members(number)) & set(chosen), place))
    if not home:
        return tree
    means = fleet.train_mean(Assignment(np.stack(list(tried.values())), home), now)
    for number, row in zip(tried, means.rows, strict=True):
        tree = tree.tried(number, row)
    return tree


@dataclass(frozen=True)
class Gain:
    """What a part has of a split."""

    share: float
    """Of the loss that it would have without: how much lower it is."""
    examples: int
    """By how many that was judged."""
    is_steady: bool
    """However small, too even over clients for chance."""

    @classmethod
    def of(cls, losses: Losses) -> "Gain":
        """From the losses of the undivided model, and of the part's own, on what its clients kept aside."""
        together, apart = losses.examples @ losses.table
        share = (together - apart) / max(together, np.finfo(np.float64).tiny)
        each = losses.table[:, 0] - losses.table[:, 1]
        is_steady = len(each) >= FEW and each.mean() > STEADY * each.std(ddof=1) / math.sqrt(len(each))
        return cls(float(share), int(losses.examples.sum()), bool(is_steady))

    @property
    def is_clear(self) -> bool:
        """Too large for chance: losses of single examples are spread as far as their mean, at the most."""
        return self.share * math.sqrt(self.examples) > CLEAR

    @property
    def is_loss(self) -> bool:
        return self.share < -WORSE


def judged(tree: Tree, rounds: int, fleet: Fleet, now: Round) -> tuple[Tree, list[int]]:
    """Splits that were on trial for so many rounds, kept or undone; and the nodes of those undone."""
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
            continue  # nobody of a part was heard: later; who has left must not hold up the others for ever
        helps = any(gain.is_clear for gain in gains) or all(gain.is_steady for gain in gains)
        if helps and not any(gain.is_loss for gain in gains):  # a small part must not pay for a large one
            tree = tree.tried(number, None)
        else:
            tree = tree.undone(number, now.number + REST)
            undone.append(number)
    return tree, undone


def best_of_paths(tree: Tree, fleet: Fleet, now: Round) -> dict[ClientId, int]:
    """For everybody the node of its path whose model has the lowest loss on its validation share."""
    present = set(fleet.clients())
    best: dict[ClientId, int] = {}
    for leaf in sorted(set(tree.home.values())):
        path = tree.path(leaf)
        members = [client for client, home in tree.home.items() if home == leaf and client in present]
        if len(path) > 1 and members:
            losses = fleet.losses(members, np.stack([tree.nodes[number].model for number in path]), now)
            best.update({client: path[row] for client, row in losses.best_row().items()})
    return best
