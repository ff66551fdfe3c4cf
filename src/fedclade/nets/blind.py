"""Blind training (CFL, section IV-B): what clients send is moved by a transform that the server does not know.

A model travels as how far it is from the initial one, with its numbers in a secret order and with secret signs. Means,
norms and angles are the same in any such order, so the server can average and compare. It must never see a known model
in the secret order, which would reveal the order: therefore differences travel, and never models.

This is obfuscation, not encryption: with the secret, which every client has, everything can be read.
"""

import os

import numpy as np

from fedclade.core import InputError, Row, Rows, generator
from fedclade.nets.net import Net

SECRET_VARIABLE = "FEDCLADE_SECRET"  # the name of the variable of the environment, on clients only


def secret() -> str:
    """What the clients share, from their environment."""
    found = os.environ.get(SECRET_VARIABLE, "")
    if not found:
        need = f"the same text in {SECRET_VARIABLE} on every client, and not on the server"
        do = f"export {SECRET_VARIABLE}=..."
        raise InputError("clients have no common secret", where="local.blind", need=need, do=do)
    return found


class Blind:
    """The transform of one run: an orthonormal map of what a model has moved by."""

    def __init__(self, net: Net, seed: int, shared_secret: str) -> None:
        self._first = net.initial_row(seed)
        rng = generator("blind", shared_secret, seed, net.size)
        self._order = rng.permutation(net.size)
        self._signs = rng.choice(np.array([-1, 1], np.float32), size=net.size)

    def hide(self, row: Row) -> Row:
        """A model as the server sees it."""
        moved: Row = (row - self._first)[self._order] * self._signs
        return moved

    def reveal(self, rows: Rows) -> Rows:
        """Models as they are, (models, parameters), from what the server has."""
        plain = np.empty_like(rows)
        plain[:, self._order] = rows * self._signs
        plain += self._first
        return plain
