"""ABC's attention between clients, from their drifts (Assadi, Ahn and Esmailzadeh, 2023): the forward pass, in numpy.

A network of `fedclade.nets.attention` is one row of numbers here: an encoder (linear layers, each followed by ReLU)
makes every drift short, and scaled dot-product attention with several heads says how much each client attends to each.
Its decoder has done its work when training ends, and is not part of the row.

The paper's score of a client is "the sum of rows" of the weights. Rows of a softmax sum to 1, so it must mean columns:
a client's share of everybody's attention, 1 on average.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import InputError, Row, Rows, generator
from fedclade.relate.drifts import DIGITS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # a quarter of a second, of every process at a site

HIDDEN, HEADS = (512, 128, 32), 4  # as in `fedclade.nets.attention`, which is not below this room
WIDTH = HIDDEN[-1] // HEADS  # numbers of a query or a key (d_k)
LONGEST = 20_000  # numbers of a drift that the first layer reads as they are; longer ones are projected
PROJECTED = 1024  # numbers that they become, unless the network says otherwise
PLACES = 4  # where each number of a drift goes, in a projection
BLOCK = 2**16  # numbers of a drift that are projected at once

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attention:
    """A network as far as its weights: layers as (weights (outputs, inputs), biases (outputs,))."""

    encoder: tuple[tuple[Floats, Floats], ...]
    query: tuple[Floats, Floats]
    key: tuple[Floats, Floats]

    @property
    def inputs(self) -> int:
        """How many numbers of a drift it reads."""
        return int(self.encoder[0][0].shape[1])


def shapes(inputs: int) -> tuple[tuple[int, int], ...]:
    """(outputs, inputs) of each layer in the order of the row, where a layer's biases follow its weights."""
    encoder = [(outputs, given) for given, outputs in pairwise((inputs, *HIDDEN))]
    return (*encoder, (HIDDEN[-1], HIDDEN[-1]), (HIDDEN[-1], HIDDEN[-1]))


def size(inputs: int) -> int:
    """Numbers in the row of a network that reads so many."""
    return sum(outputs * (given + 1) for outputs, given in shapes(inputs))


def inputs_of(row: Row) -> int:
    """How many numbers the network of this row reads; an error if there is none of this size."""
    inputs, rest = divmod(len(row) - size(0), HIDDEN[0])
    if inputs < 1 or rest:
        raise InputError(
            "these are not the weights of an attention network",
            where="relate.attention",
            got=f"{len(row)} numbers",
            need=f"{size(0)} and {HIDDEN[0]} for each number that it reads",
        )
    return inputs


@lru_cache(maxsize=2)
def unpacked(content: bytes) -> Attention:
    """The layers of a row of little-endian float32, in double precision."""
    row = np.frombuffer(content, "<f4")
    layers: list[tuple[Floats, Floats]] = []
    start = 0
    for outputs, given in shapes(inputs_of(row)):
        stop = start + outputs * given
        weights = row[start:stop].reshape(outputs, given).astype(np.float64)
        layers.append((weights, row[stop : stop + outputs].astype(np.float64)))
        start = stop + outputs
    return Attention(tuple(layers[:-2]), layers[-2], layers[-1])


def weights(network: Row, drifts: Rows) -> Floats:
    """(clients, clients): how much each client (row) attends to each (column); the mean over the heads."""
    layers = unpacked(np.ascontiguousarray(network, "<f4").tobytes())
    hidden = taken(drifts, layers.inputs, rms_length(drifts))
    for layer in layers.encoder:
        hidden = np.maximum(through(layer, hidden), 0)
    found = np.zeros((len(drifts), len(drifts)))
    queries, keys = through(layers.query, hidden), through(layers.key, hidden)
    for head in range(HEADS):
        part = slice(head * WIDTH, (head + 1) * WIDTH)
        found += softmax(queries[:, part] @ keys[:, part].T / np.sqrt(WIDTH)) / HEADS
    return found


def scores(network: Row, drifts: Rows) -> Floats:
    """(clients,): each client's share of everybody's attention, 1 on average."""
    found: Floats = np.round(weights(network, drifts).sum(axis=0), DIGITS)
    return found


def through(layer: tuple[Floats, Floats], values: Floats) -> Floats:
    """A linear layer."""
    found: Floats = values @ layer[0].T + layer[1]
    return found


def softmax(logits: Floats) -> Floats:
    """Each row as shares."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: Floats = raised / raised.sum(axis=1, keepdims=True)
    return found


def taken(drifts: Rows, inputs: int, length: float) -> Floats:
    """(clients, inputs): drifts as a network reads them: over this length, and projected if there are more numbers."""
    scaled = drifts.astype(np.float64) / length
    if drifts.shape[1] == inputs:
        return scaled
    if drifts.shape[1] < inputs:
        raise InputError(
            "the network does not fit the drifts",
            where="relate.attention",
            got=f"drifts of {drifts.shape[1]} numbers",
            need=f"{inputs} or more",
            do="train one on a run with the same net",
        )
    return projected(scaled, inputs)


def rms_length(drifts: Rows) -> float:
    """The root of the mean squared length of a round's drifts; 1 if nobody moved."""
    return float(np.sqrt((drifts.astype(np.float64) ** 2).sum(axis=1).mean())) or 1.0


def projected(rows: Floats, width: int) -> Floats:
    """(rows, width): a fixed sparse random projection, which keeps lengths and angles (Kane and Nelson, 2014).

    Every number goes to 4 places with random signs, over 2. Nothing of it is kept but a few megabytes at a time.
    """
    found = np.zeros((len(rows), width))
    for start, block in projection(rows.shape[1], width):
        found += rows[:, start : start + block.shape[0]] @ block
    return found


def projection(length: int, width: int) -> "Iterator[tuple[int, csr_matrix]]":
    """The projection in blocks of rows: where each begins, and (rows, width). The same for everybody."""
    from scipy.sparse import csr_matrix

    for number, start in enumerate(range(0, length, BLOCK)):
        rows = min(BLOCK, length - start)
        chance = generator("attention", "projection", number)
        places = chance.integers(0, width, (BLOCK, PLACES))[:rows]
        signs = chance.choice(np.array([-1.0, 1.0]), (BLOCK, PLACES))[:rows] / np.sqrt(PLACES)
        begins = np.arange(0, rows * PLACES + 1, PLACES)
        yield start, csr_matrix((signs.reshape(-1), places.reshape(-1), begins), shape=(rows, width))
