"""Which clients FLT finds related before training: for the plots of adjacency matrices."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Points, generator
from fedclade.data import Federation
from fedclade.methods import FoundGroups, method_named
from fedclade.methods.flt.encoder import Encoder, groups_of_points
from fedclade.methods.flt.flt import FLT
from fedclade.methods.flt.found_groups import GroupSearch
from fedclade.runs.experiment import without_keys
from fedclade.runs.group_search import find_groups
from fedclade_papers.item import PlanTable

Links = NDArray[np.bool_]


def groups_and_links(federation: Federation, method: PlanTable, seed: int = 0) -> tuple[FoundGroups, Links]:
    """FLT's one-shot step: its groups, and the thresholded adjacency (clients, clients) in the order of clients."""
    how = flt_of(method)
    found = find_groups(federation, how.find, seed=seed)
    return found, found.squared < how.gamma**2


def flt_of(method: PlanTable) -> FLT:
    """FLT with these settings."""
    how = method_named(str(method["name"]), without_keys(method, "name"))
    assert isinstance(how, FLT)
    return how


def picture(links: Links, clients: Sequence[ClientId], order: Sequence[ClientId]) -> dict[str, object]:
    """A matrix of a figure, its rows and columns in this order."""
    place = {client: number for number, client in enumerate(clients)}
    rows = [place[client] for client in order]
    return {"matrix": links[np.ix_(rows, rows)].astype(int).tolist(), "order": list(order)}


def label_links(label_by_client: Mapping[ClientId, int], clients: Sequence[ClientId]) -> Links:
    """The matrix of disjoint groups (clients, clients): two clients are linked if they have the same label."""
    labels = np.array([label_by_client[client] for client in clients])
    return np.asarray(np.equal.outer(labels, labels), np.bool_)


def count_links(links: Links, truth: Links) -> tuple[int, int]:
    """How many pairs of one true group are linked, and how many of two groups."""
    pairs = np.triu(links, 1)
    return int((pairs & truth).sum()), int((pairs & ~truth).sum())


def pair_shares(links: Links, truth: Links) -> tuple[float, float]:
    """Of the pairs of one true group the share that is linked, and of the pairs of two groups."""
    pairs = np.triu(np.ones_like(links), 1)
    inside, across = pairs & truth, pairs & ~truth
    return float(links[inside].mean()), float(links[across].mean()) if across.any() else 0.0


def client_points(federation: Federation, method: PlanTable) -> Points:
    """The points that clients send, without an embedding."""
    how = flt_of(method)
    found = find_groups(federation, replace(how, signature=replace(encoder_of(how), umap_dimensions=0)).find)
    assert found.sketches is not None
    return found.sketches


def encoder_of(how: FLT) -> Encoder:
    """The encoder of FLT's signature."""
    assert isinstance(how.signature, Encoder)
    return how.signature


def groups_of(points: Points, how: FLT) -> FoundGroups:
    """The groups that FLT with these settings makes of points."""
    return groups_of_points(points, encoder_of(how), GroupSearch(gamma=how.gamma, groups=how.groups))


def cut_margin(seen: FoundGroups, gamma: float) -> tuple[float, float]:
    """Of the pairs of one found group the share that is linked, and of the pairs of two."""
    return pair_shares(seen.squared < gamma**2, label_links(seen.partition.labels, seen.clients))


def one_cloud_margins(points: Points, how: FLT, draws: int) -> list[float]:
    """By how much more often pairs of one group are linked where clients are one cloud, which can be cut in two too.

    In each draw clients are moved as wholes to places from one normal distribution as wide as they are. The rest is as
    with real clients, including UMAP, which pulls any points apart.
    """
    shares = [cut_margin(groups_of(move_clients(points, draw), how), how.gamma) for draw in range(draws)]
    return [inside - across for inside, across in shares]


def move_clients(points: Points, draw: int) -> Points:
    """Every client as a whole in a place from a normal distribution with the mean and covariance of their middles."""
    centres = points.places.mean(axis=1, dtype=np.float64)
    middle = centres.mean(axis=0)
    spread = (centres - middle) / np.sqrt(max(len(centres) - 1, 1))  # spread.T @ spread is the covariance
    noise = generator(0, "one cloud", draw).standard_normal((len(centres), len(centres)))
    moved = (middle + noise @ spread)[:, None] + (points.places - centres[:, None])
    return points.with_places(moved.astype(np.float32))
