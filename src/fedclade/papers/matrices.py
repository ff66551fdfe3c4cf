"""Who is related to whom, as FLT finds it before training: for the pictures of adjacency matrices."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fedclade.data import Federation
from fedclade.methods import method_named
from fedclade.methods.flt import FLT
from fedclade.methods.signature import Encoded, signature_of
from fedclade.nouns import ClientId, Groups, Points, Round, generator
from fedclade.papers.item import Table
from fedclade.relate.discovery import Found as Discovery
from fedclade.relate.points import Relating, related
from fedclade.runs.experiment import rest
from fedclade.runs.groups import find_groups

Links = NDArray[np.bool_]


def discovered(federation: Federation, method: Table, seed: int = 0) -> tuple[Discovery, Links]:
    """FLT's one-shot step: what it found, and the thresholded adjacency (clients, clients) in the order of clients."""
    how = flt_of(method)
    found = find_groups(federation, how.find, seed=seed)
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


def links_in(links: Links, truth: Links) -> tuple[int, int]:
    """How many pairs of one true group are linked, and how many of two groups."""
    pairs = np.triu(links, 1)
    return int((pairs & truth).sum()), int((pairs & ~truth).sum())


def pair_shares(links: Links, truth: Links) -> tuple[float, float]:
    """Of the pairs of one true group the share that is linked, and of the pairs of two groups."""
    pairs = np.triu(np.ones_like(links), 1)
    inside, across = pairs & truth, pairs & ~truth
    return float(links[inside].mean()), float(links[across].mean()) if across.any() else 0.0


def sent(federation: Federation, method: Table) -> Points:
    """The points that clients send, before anything is made of them."""
    found = find_groups(federation, flt_of({**method, "embedding": "none"}).find)
    assert found.sketches is not None
    return found.sketches


def relating(method: Table) -> Relating:
    """What FLT with these settings makes of them."""
    how = signature_of(flt_of(method), Round(0, 0))
    assert isinstance(how, Encoded)
    return how.relating


def cut_margin(seen: Discovery, gamma: float) -> tuple[float, float]:
    """Of the pairs of one found group the share that is linked, and of the pairs of two."""
    return pair_shares(seen.squared < gamma**2, together(seen.partition, seen.clients))


def of_one_cloud(points: Points, how: Relating, draws: int) -> list[float]:
    """By how much pairs of one group are linked more often, where clients are one cloud: it can be cut in two as well.

    Each time clients are moved as wholes to places drawn from one normal distribution as wide as they are; then comes
    all that comes with real clients, UMAP as well, which pulls apart whatever it is given.
    """
    shares = [cut_margin(related(clients_moved(points, draw), how), how.gamma) for draw in range(draws)]
    return [inside - across for inside, across in shares]


def clients_moved(points: Points, draw: int) -> Points:
    """Every client as a whole in a place from a normal distribution with the mean and covariance of their middles."""
    centres = points.places.mean(axis=1, dtype=np.float64)
    middle = centres.mean(axis=0)
    spread = (centres - middle) / np.sqrt(max(len(centres) - 1, 1))  # spread.T @ spread is the covariance
    chance = generator(0, "one cloud", draw).standard_normal((len(centres), len(centres)))
    moved = (middle + chance @ spread)[:, None] + (points.places - centres[:, None])
    return points.moved(moved.astype(np.float32))


def blocks_of(homes: Mapping[ClientId, int], clients: Sequence[ClientId]) -> Links:
    """The same from who has which model."""
    labels = np.array([homes[client] for client in clients])
    return np.asarray(np.equal.outer(labels, labels), np.bool_)
