"""ABC's attention between clients, from their drifts (Assadi, Ahn and Esmailzadeh, 2023): the forward pass, in numpy.

A trained network (`fedclade attention train`) is one row of numbers here: an encoder (linear layers, each followed by
ReLU) makes every drift short, and scaled dot-product attention with several heads gives how much each client attends to
each. Its decoder is only needed in training, and is not part of the row.

The paper's score of a client is "the sum of rows" of the weights. Rows of a softmax sum to 1, so it must mean columns:
the share of all attention that a client gets, 1 on average.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError, Row, Rows, generator
from fedclade.methods.abc.drifts import DIGITS

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix  # takes a quarter of a second, in every process at a site

HIDDEN, HEADS = (512, 128, 32), 4  # as in `fedclade.nets.attention_files`, which is not below this room
WIDTH = HIDDEN[-1] // HEADS  # numbers of a query or a key (d_k)
MAX_UNPROJECTED = 20_000  # numbers of a drift that the first layer reads as they are; longer ones are projected
PROJECTED_WIDTH = 1024  # numbers that they become, unless the network says otherwise
PLACES = 4  # where each number of a drift goes, in a projection
BLOCK = 2**16  # numbers of a drift that are projected at once

AttentionArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Attention:
    """A network up to its attention: layers as (weights (outputs, inputs), biases (outputs,))."""

    encoder: tuple[tuple[AttentionArray, AttentionArray], ...]
    query: tuple[AttentionArray, AttentionArray]
    key: tuple[AttentionArray, AttentionArray]

    @property
    def inputs(self) -> int:
        """How many numbers of a drift it reads."""
        return int(self.encoder[0][0].shape[1])


def shapes(inputs: int) -> tuple[tuple[int, int], ...]:
    """(outputs, inputs) of each layer in the order of the row, where a layer's biases follow its weights."""
    encoder = [(outputs, given) for given, outputs in pairwise((inputs, *HIDDEN))]
    return (*encoder, (HIDDEN[-1], HIDDEN[-1]), (HIDDEN[-1], HIDDEN[-1]))


def size(inputs: int) -> int:
    """Numbers in the row of a network that reads this many."""
    return sum(outputs * (given + 1) for outputs, given in shapes(inputs))


def inputs_of(row: Row) -> int:
    """How many numbers the network of this row reads; an error if no network has this size."""
    inputs, rest = divmod(len(row) - size(0), HIDDEN[0])
    if inputs < 1 or rest:
        got, need = f"{len(row)} numbers", f"{size(0)} and {HIDDEN[0]} for each number that it reads"
        message = "these are not the weights of an attention network"
        raise InputError(message, where="abc.attention", got=got, need=need)
    return inputs


@lru_cache(maxsize=2)
def unpack_network(content: bytes) -> Attention:
    """The layers of a row of little-endian float32, in double precision."""
    row = np.frombuffer(content, "<f4")
    layers: list[tuple[AttentionArray, AttentionArray]] = []
    start = 0
    for outputs, given in shapes(inputs_of(row)):
        stop = start + outputs * given
        weights = row[start:stop].reshape(outputs, given).astype(np.float64)
        layers.append((weights, row[stop : stop + outputs].astype(np.float64)))
        start = stop + outputs
    return Attention(tuple(layers[:-2]), layers[-2], layers[-1])


def weights(network: Row, drifts: Rows) -> AttentionArray:
    """(clients, clients): how much each client (row) attends to each (column); the mean over the heads."""
    layers = unpack_network(np.ascontiguousarray(network, "<f4").tobytes())
    hidden = prepare_drifts(drifts, layers.inputs, rms_length(drifts))
    for layer in layers.encoder:
        hidden = np.maximum(apply_layer(layer, hidden), 0)
    found = np.zeros((len(drifts), len(drifts)))
    queries, keys = apply_layer(layers.query, hidden), apply_layer(layers.key, hidden)
    for head in range(HEADS):
        part = slice(head * WIDTH, (head + 1) * WIDTH)
        found += softmax(queries[:, part] @ keys[:, part].T / np.sqrt(WIDTH)) / HEADS
    return found


def scores(network: Row, drifts: Rows) -> AttentionArray:
    """(clients,): the share of all attention that each client gets, 1 on average."""
    found: AttentionArray = np.round(weights(network, drifts).sum(axis=0), DIGITS)
    return found


def apply_layer(layer: tuple[AttentionArray, AttentionArray], values: AttentionArray) -> AttentionArray:
    """A linear layer."""
    found: AttentionArray = values @ layer[0].T + layer[1]
    return found


def softmax(logits: AttentionArray) -> AttentionArray:
    """Each row as shares that sum to 1."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    found: AttentionArray = raised / raised.sum(axis=1, keepdims=True)
    return found


def prepare_drifts(drifts: Rows, inputs: int, length: float) -> AttentionArray:
    """(clients, inputs): drifts as a network reads them: over this length, and projected if there are more numbers."""
    scaled = drifts.astype(np.float64) / length
    if drifts.shape[1] == inputs:
        return scaled
    if drifts.shape[1] < inputs:
        got, do = f"drifts of {drifts.shape[1]} numbers", "train one on a run with the same net"
        message = "the network does not fit the drifts"
        raise InputError(message, where="abc.attention", got=got, need=f"{inputs} or more", do=do)
    return project(scaled, inputs)


def rms_length(drifts: Rows) -> float:
    """The root of the mean squared length of the drifts of a round; 1 if all are zero."""
    return float(np.sqrt((drifts.astype(np.float64) ** 2).sum(axis=1).mean())) or 1.0


def project(rows: AttentionArray, width: int) -> AttentionArray:
    """(rows, width): a fixed sparse random projection, which keeps lengths and angles (Kane and Nelson, 2014).

    Every number goes to 4 places with random signs, over 2. Only a few megabytes of it exist at a time.
    """
    found = np.zeros((len(rows), width))
    for start, block in projection(rows.shape[1], width):
        found += rows[:, start : start + block.shape[0]] @ block
    return found


def projection(length: int, width: int) -> "Iterator[tuple[int, csr_matrix]]":
    """The projection in blocks of rows: where each begins, and (rows, width). It is the same in every run."""
    from scipy.sparse import csr_matrix

    for number, start in enumerate(range(0, length, BLOCK)):
        rows = min(BLOCK, length - start)
        rng = generator("attention", "projection", number)
        places = rng.integers(0, width, (BLOCK, PLACES))[:rows]
        signs = rng.choice(np.array([-1.0, 1.0]), (BLOCK, PLACES))[:rows] / np.sqrt(PLACES)
        begins = np.arange(0, rows * PLACES + 1, PLACES)
        yield start, csr_matrix((signs.reshape(-1), places.reshape(-1), begins), shape=(rows, width))
