"""ABC's networks as files: the layers that lead to their attention, and nothing else of them.

Both kinds are shipped. `attention+` is for any net. A network of the kind `attention` is tied to a net of clients: the
shipped one to the default net, `mlp`, on `digits`; for others users train their own. It was made by
`fedclade attention train digits --net mlp --examples 100 --reference 200 --project 128 --seed 7`: drifts of 15,010
numbers are projected to 128, because a first layer that reads all of them has 31 MB.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fedclade.core import Row
from fedclade.nets.weight_files import FileKind, Tensors, WeightFile, load

HIDDEN, HEADS = (512, 128, 32), 4  # of the paper's network: widths of its encoder, and heads of its attention
SHORT = HIDDEN[-1]
LAYERS = (*(f"encoder.{number}" for number in range(len(HIDDEN))), "query", "key")

Shapes = dict[str, tuple[int, ...]]


def shapes_for(inputs: int) -> Shapes:
    """The tensors of a network that reads so many numbers, in the order of its row."""
    found: Shapes = {}
    widths = (*pairwise((inputs, *HIDDEN)), (SHORT, SHORT), (SHORT, SHORT))
    for layer, (reads, outputs) in zip(LAYERS, widths, strict=True):
        found |= {f"{layer}.weight": (outputs, reads), f"{layer}.bias": (outputs,)}
    return found


def attention_shapes(kind: str, tensors: Tensors) -> Shapes:
    if kind == "attention+":
        return {"temperature": (1,)}
    first = tensors["encoder.0.weight"].shape if "encoder.0.weight" in tensors else ()
    return shapes_for(first[1] if len(first) == 2 else 1)


def attention_tensors(weight_file: WeightFile) -> dict[str, NDArray[np.float32]]:
    if weight_file.kind == "attention+":
        return {"temperature": weight_file.weights.copy()}
    rest = sum(int(np.prod(shape)) for shape in shapes_for(0).values())
    shapes = shapes_for((len(weight_file.weights) - rest) // HIDDEN[0])
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes.values()])
    pieces = np.split(weight_file.weights, ends[:-1])
    return {name: piece.reshape(shape).copy() for (name, shape), piece in zip(shapes.items(), pieces, strict=True)}


def temperature_not_positive(kind: str, row: Row) -> str:
    return f"a temperature of {row[0]:g}" if kind == "attention+" and row[0] <= 0 else ""


ATTENTION = FileKind(
    what="attention network",
    format="fedclade attention 1",
    kinds=("attention", "attention+"),
    shipped={"attention": "digits-attention.safetensors", "attention+": "mnist-attention-plus.safetensors"},
    shapes=attention_shapes,
    tensors=attention_tensors,
    check_positive=temperature_not_positive,
    do="make one: fedclade attention train SOURCE",
)


def open_attention(name: str, kind: str = "") -> WeightFile:
    """The shipped network of this name, or the one in the file of this name; of this kind, if one is named."""
    weight_file = load(name, ATTENTION, "network")
    if kind and weight_file.kind != kind:
        raise ATTENTION.error(name, f'a network of the kind "{weight_file.kind}"', f'"{kind}"')
    return weight_file
