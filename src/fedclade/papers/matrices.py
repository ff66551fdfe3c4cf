"""Who is related to whom, as FLT finds it before training: for the pictures of adjacency matrices."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Federation
from fedclade.methods import method_named
from fedclade.methods.flt import FLT
from fedclade.nouns import ClientId, Groups, Points, generator
from fedclade.papers.item import Table
from fedclade.relate.discovery import Found as Discovery
from fedclade.relate.points import Relating, related
from fedclade.runs.experiment import rest
from fedclade.runs.groups import find_groups

Links = NDArray[np.bool_]


def discovered(federation: Federation, method: Table, seed: int = 0) -> tuple[Discovery, Links]:
    """FLT's one-shot step: what it found, and the thresholded adjacency (clients, clients) in the order of clients."""
    how = flt_of(method)
    found = find_groups(federation, how, seed=seed)
    return found, found.squared < how.gamma**2


def flt_of(method: Table) -> FLT:
    """FLT with these settings."""
    how = method_named(str(method["name"]), rest(method, "name"))
    assert isinstance(how, FLT)
    return how


def picture(links: Links, clients: Sequence[ClientId], order: Sequence[ClientId]) -> dict[str, object]:
    """A matrix of a figure, its rows and columns in this order."""
    place = {client: number for number, client in enumerate(clients)}
    rows = [place[client] for client in order]
    return {"matrix": links[np.ix_(rows, rows)].astype(int).tolist(), "order": list(order)}


def together(groups: Groups, clients: Sequence[ClientId]) -> Links:
    """The matrix of disjoint groups: blocks of ones."""
    return blocks_of(groups.labels, clients)


def pair_shares(links: Links, truth: Links) -> tuple[float, float]:
    """Of the pairs of one true group the share that is linked, and of the pairs of two groups."""
    pairs = np.triu(np.ones_like(links), 1)
    inside, across = pairs & truth, pairs & ~truth
    return float(links[inside].mean()), float(links[across].mean()) if across.any() else 0.0


def of_one_cloud(points: Points, method: Table, draws: int) -> list[float]:
    """By how much pairs of one group are linked more often, where clients are one cloud: it can be cut in two as well.

    Each time clients are moved as wholes to places that are drawn from one normal distribution as wide as they are.
    """
    flt = flt_of(method)
    how = Relating(distance=flt.distance, cut=flt.cut, gamma=flt.gamma, groups=flt.groups)
    centres = points.places.mean(axis=1)
    around = points.places - centres[:, None]
    margins = []
    for draw in range(draws):
        rng = generator(0, "one cloud", draw)
        drawn = rng.multivariate_normal(centres.mean(axis=0), np.cov(centres.T), len(centres))
        moved = (drawn[:, None] + around).astype(np.float32)
        found = related(Points(points.clients, moved, points.counts), how)
        inside, across = pair_shares(found.squared < flt.gamma**2, together(found.partition, found.clients))
        margins.append(inside - across)
    return margins


def blocks_of(homes: Mapping[ClientId, int], clients: Sequence[ClientId]) -> Links:
    """The same from who has which model."""
    labels = np.array([homes[client] for client in clients])
    return np.asarray(np.equal.outer(labels, labels), np.bool_)
