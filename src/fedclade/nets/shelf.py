"""Encoders and attention networks, as files: safetensors with what they are, how they were made, and a checksum.

`fashion-mnist` is shipped: the autoencoder of FLT's table 13, trained on Fashion-MNIST (the paper's Enc2). A user's own
file is named by its path. Nothing in a file is executed, and nothing of it is used that does not fit its kind.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.nets.convae import FORMS, autoencoder, encoder
from fedclade.nets.encoders import EMBEDDED, ENCODERS, NO_WEIGHTS, WEIGHED, encoder_named
from fedclade.nouns import Encoding, InputError, Row
from fedclade.nouns.settings import unknown

SUFFIX = ".safetensors"
FORMAT = "fedclade encoder 1"
SHIPPED = {"fashion-mnist": "fashion-mnist-convae.safetensors"}
LARGEST = 2**28  # bytes of a file
LONGEST = 200  # letters of a word in a recipe
LARGEST_NUMBER = 1e18  # in a recipe

Tensors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Kept:
    """An encoder, or an attention network, as its file has it."""

    kind: str
    weights: Row
    recipe: dict[str, object]
    """How it was made."""

    @property
    def sha256(self) -> str:
        """Of its weights, as little-endian numbers."""
        return hashlib.sha256(self.weights.astype("<f4").tobytes()).hexdigest()


@dataclass(frozen=True)
class Sort:
    """What a file can be of: which kinds there are, and which tensors they have."""

    what: str
    format: str
    kinds: Collection[str]
    shapes: Callable[[str, Tensors], dict[str, tuple[int, ...]]]
    """The tensors that a file of a kind must have, in the order of the weights; sizes that are free as they are."""
    tensors: Callable[[Kept], dict[str, NDArray[np.float32]]]
    """The weights by name, as a file has them."""
    positive: Callable[[str, Row], str]
    """What is not over 0 and must be; empty if all is well."""
    do: str
    """Where to get one."""


def opened(name: str, shape: Sequence[int]) -> Encoding:
    """The encoder of this name, or in this file, for examples of this shape.

    Where examples are no images, an autoencoder gives its place to `public`: tables as they are, texts in bins.
    """
    if name in ENCODERS:
        return Encoding(name, encoder_named(name).width(shape), NO_WEIGHTS, 0)
    kept = taken(name)
    if kept.kind in FORMS and len(shape) < 2:
        return opened("public", shape)
    if kept.kind == "standardised" and len(kept.weights) != 2 * prod(shape):
        raise refused(name, f"{len(kept.weights) // 2} features", f"{prod(shape)}, as the examples have")
    if kept.kind == "embedding" and len(shape) != 1:
        raise refused(name, f"examples of shape {tuple(shape)}", "texts, as numbers of words")
    part = encoder(kept.kind).size if kept.kind in FORMS else len(kept.weights)
    return Encoding(kept.kind, encoder_named(kept.kind).width(shape), kept.weights, part)


def taken(name: str) -> Kept:
    """The shipped encoder of this name, or the one in the file of this name."""
    if name in SHIPPED:
        with as_file(files("fedclade.nets") / "shipped" / SHIPPED[name]) as path:
            return read(path)
    if not name.endswith(SUFFIX):
        raise unknown("the encoder", "encoder", name, (*ENCODERS, *SHIPPED, f"a file *{SUFFIX}"))
    return read(Path(name))


def read(path: Path, sort: Sort | None = None) -> Kept:
    """What is in a file, an encoder unless said; an error unless kind, shapes, numbers and checksum are right."""
    from safetensors import SafetensorError, safe_open

    sort = sort or ENCODER
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as wrong:  # a name may be one that no file can have
        raise refused(path, getattr(wrong, "strerror", None) or str(wrong), "a file that can be read", sort) from None
    if not path.is_file():
        raise refused(path, "a folder" if path.is_dir() else "something else", "a file", sort)
    if size > LARGEST:
        raise refused(path, f"{size} bytes", f"at most {LARGEST}", sort)
    try:
        with safe_open(path, framework="numpy") as file:
            told: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dict
    except (SafetensorError, OSError, ValueError, TypeError) as wrong:
        raise refused(path, f"{type(wrong).__name__}: {wrong}", "safetensors", sort) from None
    kind = told.get("kind", "")
    if told.get("format") != sort.format or kind not in sort.kinds:
        got, need = f'format "{told.get("format")}", kind "{kind}"', f'"{sort.format}", one of {", ".join(sort.kinds)}'
        raise refused(path, got, need, sort)
    kept = Kept(kind, row_of(path, kind, tensors, sort), recipe_in(path, told, sort))
    if told.get("sha256") != kept.sha256:
        raise refused(path, f"weights with checksum {kept.sha256[:12]}...", f"{str(told.get('sha256'))[:12]}...", sort)
    return kept


def write(path: Path, kept: Kept, sort: Sort | None = None) -> None:
    """Put an encoder, unless it is said to be something else, into a file."""
    from safetensors.numpy import save_file

    sort = sort or ENCODER
    recipe = json.dumps(kept.recipe, sort_keys=True)
    told = {"format": sort.format, "kind": kept.kind, "recipe": recipe, "sha256": kept.sha256}
    try:
        save_file(sort.tensors(kept), path, told)
    except OSError as wrong:
        raise refused(path, str(wrong), "a place that can be written to", sort) from None


def shapes_of(kind: str, tensors: Tensors) -> dict[str, tuple[int, ...]]:
    """The tensors that a file of this kind must have, in the order of the weights; sizes that are free as they are."""
    if kind in FORMS:
        return {piece.name: piece.shape for piece in autoencoder(kind).pieces}
    if kind == "standardised":
        features = tensors["mean"].shape[:1] if "mean" in tensors else (0,)
        return {"mean": features, "scale": features}
    return {"vectors": (*(tensors["vectors"].shape[:1] if "vectors" in tensors else (0,)), EMBEDDED)}


def row_of(path: Path, kind: str, tensors: Tensors, sort: Sort) -> Row:
    """The weights in one row; an error unless they are those of this kind."""
    need = sort.shapes(kind, tensors)
    got = {name: tensor.shape for name, tensor in tensors.items()}
    if got != need:
        wrong = sorted(name for name in {*got, *need} if got.get(name) != need.get(name))[0]
        raise refused(path, f'{got.get(wrong)} for "{wrong}"', str(need.get(wrong)), sort)
    row = np.concatenate([np.asarray(tensors[name]).reshape(-1) for name in need])
    if row.dtype != np.float32 or not len(row) or not np.isfinite(row).all():
        raise refused(path, f"{len(row)} numbers, {row.dtype}", "finite float32", sort)
    if positive := sort.positive(kind, row):
        raise refused(path, positive, "over 0", sort)
    return row


def tensors_of(kept: Kept) -> dict[str, NDArray[np.float32]]:
    """The weights by name, as a file has them."""
    if kept.kind in FORMS:
        pieces = autoencoder(kept.kind).pieces
        return {piece.name: kept.weights[piece.start : piece.stop].reshape(piece.shape).copy() for piece in pieces}
    if kept.kind == "standardised":
        mean, scale = kept.weights.reshape(2, -1)
        return {"mean": mean.copy(), "scale": scale.copy()}
    return {"vectors": kept.weights.reshape(-1, EMBEDDED).copy()}


def recipe_in(path: Path, told: Mapping[str, str], sort: Sort) -> dict[str, object]:
    """How the encoder was made, as its file says: words and numbers that can be shown, and nothing else of it."""
    try:
        recipe = json.loads(told.get("recipe", ""))
    except (ValueError, RecursionError):
        recipe = None
    if not isinstance(recipe, dict):
        raise refused(path, "no recipe", "how it was made, as JSON", sort)
    return {printable(name): shown for name, value in recipe.items() if (shown := plain(value)) is not None}


def plain(value: object) -> object:
    """A word or a finite number as it can be shown; None for anything else."""
    if isinstance(value, str):
        return printable(value)
    return value if isinstance(value, int | float) and abs(value) <= LARGEST_NUMBER else None


def printable(text: str) -> str:
    """The text without control characters, and not too long."""
    return "".join(letter for letter in text if letter.isprintable())[:LONGEST]


def not_positive(kind: str, row: Row) -> str:
    """A scale that cannot be divided by."""
    least = float(row[len(row) // 2 :].min()) if kind == "standardised" else 1.0
    return "" if least > 0 else f"a scale of {least:g}"


ENCODER = Sort(
    what="encoder",
    format=FORMAT,
    kinds=tuple(WEIGHED),
    shapes=shapes_of,
    tensors=tensors_of,
    positive=not_positive,
    do="see fedclade encoders list, or make one: fedclade encoders train SOURCE",
)


def refused(where: object, got: str, need: str, sort: Sort = ENCODER) -> InputError:
    """The error of a file that is not one that can be used."""
    return InputError(f"the {sort.what} is not usable", where=str(where), got=got, need=need, do=sort.do)
