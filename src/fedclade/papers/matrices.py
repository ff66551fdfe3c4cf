"""Who is related to whom, as FLT finds it before training: for the pictures of adjacency matrices."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Federation
from fedclade.methods import method_named
from fedclade.methods.flt import FLT
from fedclade.nouns import ClientId, Groups
from fedclade.papers.item import Table
from fedclade.relate.discovery import Found as Discovery
from fedclade.runs.experiment import rest
from fedclade.runs.groups import find_groups

Links = NDArray[np.bool_]


def discovered(federation: Federation, method: Table, seed: int = 0) -> tuple[Discovery, Links]:
    """FLT's one-shot step: what it found, and the thresholded adjacency (clients, clients) in the order of clients."""
    how = method_named(str(method["name"]), rest(method, "name"))
    assert isinstance(how, FLT)
    found = find_groups(federation, how, seed=seed)
    return found, found.squared < how.gamma**2


def picture(links: Links, clients: Sequence[ClientId], order: Sequence[ClientId]) -> dict[str, object]:
    """A matrix of a figure, its rows and columns in this order."""
    place = {client: number for number, client in enumerate(clients)}
    rows = [place[client] for client in order]
    return {"matrix": links[np.ix_(rows, rows)].astype(int).tolist(), "order": list(order)}


def together(groups: Groups, clients: Sequence[ClientId]) -> Links:
    """The matrix of disjoint groups: blocks of ones."""
    labels = np.array([groups.labels[client] for client in clients])
    return np.asarray(np.equal.outer(labels, labels), np.bool_)


def pair_shares(links: Links, truth: Links) -> tuple[float, float]:
    """Of the pairs of one true group the share that is linked, and of the pairs of two groups."""
    pairs = np.triu(np.ones_like(links), 1)
    inside, across = pairs & truth, pairs & ~truth
    return float(links[inside].mean()), float(links[across].mean()) if across.any() else 0.0


def blocks_of(homes: Mapping[ClientId, int], clients: Sequence[ClientId]) -> Links:
    """The same from who has which model."""
    labels = np.array([homes[client] for client in clients])
    return np.asarray(np.equal.outer(labels, labels), np.bool_)
