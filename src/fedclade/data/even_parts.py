"""Test parts of many clients in which every class has its share.

Each client is split alone, as sites must be, with the shares of its classes rounded up or down by chance. A class of
which most clients have an example or two may so get a tenth more or less of all test examples than it should.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, generator
from fedclade.data.federation import ClientData

EVEN_ENOUGH = 0.05  # by how much of what it should have a class may have more or less test examples
MAX_CELLS = 10**7  # of the table of clients by classes
ROUNDING = 1e-9
Counts = NDArray[np.int64]
"""(clients, classes)"""


def even_out(data: Mapping[ClientId, ClientData], seed: int) -> dict[ClientId, ClientData]:
    """The same clients, with examples exchanged where a class has too much or too little of all test parts.

    Where it is off by more than EVEN_ENOUGH, clients in random order are tested on one of its examples more or less,
    and on one of another class less or more: within the rounding of a client's own shares, and with as many test
    examples as before. Numbers and flags stay as they are.
    """
    if not data or any(part.labels.dtype != np.int64 for held in data.values() for part in (held.train, held.test)):
        return dict(data)
    classes = 1 + max(int(part.labels.max()) for held in data.values() for part in (held.train, held.test))
    if classes * len(data) > MAX_CELLS:
        return dict(data)
    clients = sorted(data)
    learned = np.array([np.bincount(data[client].train.labels, minlength=classes) for client in clients])
    tested = np.array([np.bincount(data[client].test.labels, minlength=classes) for client in clients])
    evened, wanted = dict(data), even_counts(learned, tested, seed)
    for row in np.flatnonzero((wanted != tested).any(axis=1)):
        client = clients[row]
        evened[client] = exchange(data[client], wanted[row] - tested[row], (seed, "even out", client))
    return evened


def even_counts(learned: Counts, tested: Counts, seed: int) -> Counts:
    """How many test examples of each class each client has in the end."""
    examples = learned + tested
    exact = examples * (tested.sum(axis=1) / examples.sum(axis=1))[:, None]
    fair = examples.sum(axis=0) * (tested.sum() / examples.sum())
    surplus = tested.sum(axis=0) - fair
    wanted = tested.copy()
    uneven = np.flatnonzero(np.abs(surplus) > np.maximum(1.0, EVEN_ENOUGH * fair))
    for label in uneven[np.argsort(fair[uneven], kind="stable")]:  # the rarest first
        sign = 1 if surplus[label] > 0 else -1
        with_too_much = np.flatnonzero(sign * (wanted - exact)[:, label] > ROUNDING)
        for row in generator(seed, "even out", int(label)).permutation(with_too_much):
            if abs(surplus[label]) <= 0.5:
                break
            others = np.flatnonzero(sign * (exact - wanted)[row] > ROUNDING)
            if len(others) == 0:
                continue
            other = others[np.argmin(sign * surplus[others])]
            if sign * (surplus[label] - surplus[other]) <= 1:
                continue
            for each, more in ((label, -sign), (other, sign)):
                wanted[row, each] += more
                surplus[each] += more
    return wanted


def exchange(held: ClientData, more: NDArray[np.int64], key: tuple[int | str, ...]) -> ClientData:
    """The same examples, with so many of each class more in the test part, or less."""
    rng = generator(*key)
    learned, tested = held.train.index, held.test.index
    for label in np.flatnonzero(more):
        giver = held.train if more[label] > 0 else held.test
        moved = rng.choice(giver.index[giver.labels == label], abs(int(more[label])), replace=False)
        learned, tested = (
            (np.setdiff1d(learned, moved), np.union1d(tested, moved))
            if more[label] > 0
            else (np.union1d(learned, moved), np.setdiff1d(tested, moved))
        )
    return ClientData(replace(held.train, index=learned), replace(held.test, index=tested))
