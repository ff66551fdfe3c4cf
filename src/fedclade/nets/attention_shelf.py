"""ABC's networks as files: what is used of them, which is the layers that lead to their attention.

`attention+` is shipped. A network of the kind `attention` is tied to a net of clients, and is one's own to train.
"""

from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.nets.attention import HIDDEN
from fedclade.nets.shelf import SUFFIX, Kept, Sort, Tensors, read, refused
from fedclade.nouns import Row
from fedclade.nouns.settings import unknown

KINDS = ("attention", "attention+")
SHIPPED = {"attention+": "mnist-attention-plus.safetensors"}
LAYERS = (*(f"encoder.{number}" for number in range(len(HIDDEN))), "query", "key")

Shapes = dict[str, tuple[int, ...]]


def shapes_for(inputs: int) -> Shapes:
    """The tensors of a network that reads so many numbers, in the order of its row."""
    short = HIDDEN[-1]
    found: Shapes = {}
    for layer, (reads, outputs) in zip(
        LAYERS, (*pairwise((inputs, *HIDDEN)), (short, short), (short, short)), strict=True
    ):
        found |= {f"{layer}.weight": (outputs, reads), f"{layer}.bias": (outputs,)}
    return found


def shapes_of(kind: str, tensors: Tensors) -> Shapes:
    """The tensors of a file of this kind; how many numbers a network reads is as it is."""
    if kind == "attention+":
        return {"temperature": (1,)}
    first = tensors["encoder.0.weight"].shape if "encoder.0.weight" in tensors else ()
    return shapes_for(first[1] if len(first) == 2 else 1)


def tensors_of(kept: Kept) -> dict[str, NDArray[np.float32]]:
    """The weights by name."""
    if kept.kind == "attention+":
        return {"temperature": kept.weights.copy()}
    rest = sum(int(np.prod(shape)) for shape in shapes_for(0).values())
    shapes = shapes_for((len(kept.weights) - rest) // HIDDEN[0])
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    pieces = np.split(kept.weights, ends[:-1])
    return {name: piece.reshape(shape).copy() for (name, shape), piece in zip(shapes.items(), pieces, strict=True)}


def not_positive(kind: str, row: Row) -> str:
    """A temperature at which nobody is told from anybody."""
    return f"a temperature of {row[0]:g}" if kind == "attention+" and row[0] <= 0 else ""


ATTENTION = Sort(
    what="attention network",
    format="fedclade attention 1",
    kinds=KINDS,
    shapes=shapes_of,
    tensors=tensors_of,
    positive=not_positive,
    do="make one: fedclade attention train SOURCE",
)


def attending(name: str, kind: str = "") -> Kept:
    """The shipped network of this name, or the one in the file of this name; of this kind, if one is named."""
    if name in SHIPPED:
        with as_file(files("fedclade.nets") / "shipped" / SHIPPED[name]) as path:
            kept = read(path, ATTENTION)
    elif name.endswith(SUFFIX):
        kept = read(Path(name), ATTENTION)
    else:
        raise unknown("the attention network", "network", name, (*SHIPPED, f"a file *{SUFFIX}"))
    if kind and kept.kind != kind:
        raise refused(name, f'a network of the kind "{kept.kind}"', f'"{kind}"', ATTENTION)
    return kept
