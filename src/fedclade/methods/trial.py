"""Whether a split of CFL helps: judged by each client on examples that it does not train on.

The paper notes that one can always fall back to the solution before a split. So that falling back costs nothing, the
cluster's model trains on beside the split for some rounds; if it is better in the end, it is as if there had been no
split. And every client can be told which of the models on its path is the best for it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedclade.fleet.protocol import Fleet
from fedclade.methods.parameter_tree import Split, Tree
from fedclade.nouns import Assignment, ClientId, Round

REST = 20  # rounds without another split after one was undone


def on_trial(tree: Tree) -> dict[int, Split]:
    """The nodes whose split is on trial."""
    return {
        number: node.split
        for number, node in tree.nodes.items()
        if node.split is not None and node.split.shadow is not None
    }


def shadowed(tree: Tree, chosen: Sequence[ClientId], fleet: Fleet, now: Round) -> Tree:
    """The models of clusters whose split is on trial, one round on: FedAvg among those of the cluster."""
    trials = on_trial(tree)
    home: dict[ClientId, int] = {}
    for place, number in enumerate(trials):
        home.update(dict.fromkeys(set(tree.members(number)) & set(chosen), place))
    if not home:
        return tree
    rows = np.stack([split.shadow for split in trials.values() if split.shadow is not None])
    means = fleet.train_mean(Assignment(rows, home), now)
    for (number, split), row in zip(trials.items(), means.rows, strict=True):
        tree = tree.changed(number, replace(tree.nodes[number], split=replace(split, shadow=row)))
    return tree


def judged(tree: Tree, rounds: int, fleet: Fleet, now: Round) -> tuple[Tree, list[int]]:
    """Splits that were on trial for so many rounds, kept or undone; and the nodes of those undone."""
    undone: list[int] = []
    present = set(fleet.clients())
    for number, split in on_trial(tree).items():
        if now.number < split.round + rounds:
            continue
        assert split.shadow is not None
        rows = np.stack([split.shadow, *(tree.nodes[child].model for child in split.children)])
        asked = [client for client in tree.members(number) if client in present]
        losses = fleet.losses(asked, rows, now)
        if not losses.clients:
            continue
        without, within = losses.table[:, 0], losses.table[:, 1:]
        own = [
            split.children.index(home) if home in split.children else -1 for home in map(tree.home.get, losses.clients)
        ]
        apart = np.array(
            [row[place] if place >= 0 else one for row, place, one in zip(within, own, without, strict=True)]
        )
        if float(losses.examples @ apart) < float(losses.examples @ without):
            tree = tree.changed(number, replace(tree.nodes[number], split=replace(split, shadow=None)))
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
