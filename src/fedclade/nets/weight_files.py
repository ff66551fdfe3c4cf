"""Encoders and attention networks, as files: safetensors with what they are, how they were made, and a checksum.

`fashion-mnist` is shipped: the autoencoder of FLT's table 13, trained on Fashion-MNIST (the paper's Enc2), made by
`fedclade encoders train fashion-mnist --epochs 5`. A user's own file is named by its path. Nothing in a file is
executed, and nothing of it is used that does not fit its kind.
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

from fedclade.core import Encoding, InputError, Row
from fedclade.core.settings import unknown_name_error
from fedclade.nets.convae import FORMS, autoencoder, encoder, encoder_start
from fedclade.nets.encoders import EMBEDDING_WIDTH, ENCODERS, NO_WEIGHTS, WEIGHTED_ENCODERS, encoder_named

SUFFIX = ".safetensors"
FORMAT = "fedclade encoder 1"
SHIPPED = {"fashion-mnist": "fashion-mnist-convae.safetensors"}
MAX_FILE_BYTES = 2**28  # bytes of a file
MAX_WORD_LENGTH = 200  # letters of a word in a recipe
MAX_NUMBER = 1e18  # in a recipe

Tensors = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class WeightFile:
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
class FileKind:
    """What a file can be of: which kinds there are, and which tensors they have."""

    what: str
    format: str
    kinds: Collection[str]
    shipped: Mapping[str, str]
    """By name, the file in `shipped/`."""
    shapes: Callable[[str, Tensors], dict[str, tuple[int, ...]]]
    """The tensors that a file of a kind must have, in the order of the weights; free sizes are as they are."""
    tensors: Callable[[WeightFile], dict[str, NDArray[np.float32]]]
    """The weights by name, as a file has them."""
    check_positive: Callable[[str, Row], str]
    """The number that is not over 0 and must be; empty if there is none."""
    do: str
    """Where to get one."""

    def error(self, where: object, got: str, need: str) -> InputError:
        return InputError(f"the {self.what} is not usable", where=str(where), got=got, need=need, do=self.do)


def encoder_shapes(kind: str, tensors: Tensors) -> dict[str, tuple[int, ...]]:
    if kind in FORMS:
        return {piece.name: piece.shape for piece in autoencoder(kind).pieces}
    if kind == "standardised":
        features = tensors["mean"].shape[:1] if "mean" in tensors else (0,)
        return {"mean": features, "scale": features}
    return {"vectors": (*(tensors["vectors"].shape[:1] if "vectors" in tensors else (0,)), EMBEDDING_WIDTH)}


def encoder_tensors(weight_file: WeightFile) -> dict[str, NDArray[np.float32]]:
    row = weight_file.weights
    if weight_file.kind in FORMS:
        pieces = autoencoder(weight_file.kind).pieces
        return {piece.name: row[piece.start : piece.stop].reshape(piece.shape).copy() for piece in pieces}
    if weight_file.kind == "standardised":
        mean, scale = row.reshape(2, -1)
        return {"mean": mean.copy(), "scale": scale.copy()}
    return {"vectors": row.reshape(-1, EMBEDDING_WIDTH).copy()}


def scale_not_positive(kind: str, row: Row) -> str:
    least = float(row[len(row) // 2 :].min()) if kind == "standardised" else 1.0
    return "" if least > 0 else f"a scale of {least:g}"


ENCODER = FileKind(
    what="encoder",
    format=FORMAT,
    kinds=tuple(WEIGHTED_ENCODERS),
    shipped=SHIPPED,
    shapes=encoder_shapes,
    tensors=encoder_tensors,
    check_positive=scale_not_positive,
    do="see fedclade encoders list, or make one: fedclade encoders train SOURCE",
)


def open_encoder(name: str, shape: Sequence[int]) -> Encoding:
    """The encoder of this name, or in this file, for examples of this shape.

    Where examples are no images, an autoencoder gives its place to `public`: tables as they are, texts in bins.
    """
    if name in ENCODERS:
        return Encoding(name, encoder_named(name).width(shape), NO_WEIGHTS, 0)
    weight_file = load_encoder(name)
    kind, weights = weight_file.kind, weight_file.weights
    if kind in FORMS and len(shape) < 2:
        return open_encoder("public", shape)
    if kind == "standardised" and len(weights) != 2 * prod(shape):
        raise ENCODER.error(name, f"{len(weights) // 2} features", f"{prod(shape)}, as the examples have")
    if kind == "embedding" and len(shape) != 1:
        raise ENCODER.error(name, f"examples of shape {tuple(shape)}", "texts, as numbers of words")
    width = encoder_named(kind).width(shape)
    if kind in FORMS:
        return Encoding(kind, width, weights, encoder(kind).size, encoder_start(kind))
    return Encoding(kind, width, weights, len(weights))


def load_encoder(name: str) -> WeightFile:
    """The shipped encoder of this name, or the one in the file of this name."""
    return load(name, ENCODER, "encoder", ENCODERS)


def load(name: str, file_kind: FileKind, where: str, others: Collection[str] = ()) -> WeightFile:
    """The shipped file of this name, or the file of this path; an error names `others`, which need no file, too."""
    if name in file_kind.shipped:
        with as_file(files("fedclade.nets") / "shipped" / file_kind.shipped[name]) as path:
            return read(path, file_kind)
    if not name.endswith(SUFFIX):
        known = (*others, *file_kind.shipped, f"a file *{SUFFIX}")
        raise unknown_name_error(f"the {file_kind.what}", where, name, known)
    return read(Path(name), file_kind)


def read(path: Path, file_kind: FileKind = ENCODER) -> WeightFile:
    """The content of a file; an error unless kind, shapes, numbers and checksum are right."""
    from safetensors import SafetensorError, safe_open

    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:  # a name may be one that no file can have
        got = getattr(error, "strerror", None) or str(error)
        raise file_kind.error(path, got, "a file that can be read") from None
    if not path.is_file():
        raise file_kind.error(path, "a folder" if path.is_dir() else "something else", "a file")
    if size > MAX_FILE_BYTES:
        raise file_kind.error(path, f"{size} bytes", f"at most {MAX_FILE_BYTES}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata: dict[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # not a dict
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise file_kind.error(path, f"{type(error).__name__}: {error}", "safetensors") from None
    kind = metadata.get("kind", "")
    if metadata.get("format") != file_kind.format or kind not in file_kind.kinds:
        got = f'format "{metadata.get("format")}", kind "{kind}"'
        raise file_kind.error(path, got, f'"{file_kind.format}", one of {", ".join(file_kind.kinds)}')
    weight_file = WeightFile(kind, row_of(path, kind, tensors, file_kind), recipe_in(path, metadata, file_kind))
    if metadata.get("sha256") != weight_file.sha256:
        got = f"weights with checksum {weight_file.sha256[:12]}..."
        raise file_kind.error(path, got, f"{str(metadata.get('sha256'))[:12]}...")
    return weight_file


def write(path: Path, weight_file: WeightFile, file_kind: FileKind = ENCODER) -> None:
    from safetensors.numpy import save_file

    recipe = json.dumps(weight_file.recipe, sort_keys=True)
    metadata = {"format": file_kind.format, "kind": weight_file.kind, "recipe": recipe, "sha256": weight_file.sha256}
    try:
        save_file(file_kind.tensors(weight_file), path, metadata)
    except OSError as error:
        raise file_kind.error(path, str(error), "a place that can be written to") from None


def row_of(path: Path, kind: str, tensors: Tensors, file_kind: FileKind) -> Row:
    """The weights in one row; an error unless they are those of this kind."""
    need = file_kind.shapes(kind, tensors)
    got = {name: tensor.shape for name, tensor in tensors.items()}
    if got != need:
        name = sorted(name for name in {*got, *need} if got.get(name) != need.get(name))[0]
        raise file_kind.error(path, f'{got.get(name)} for "{name}"', str(need.get(name)))
    row = np.concatenate([np.asarray(tensors[name]).reshape(-1) for name in need])
    if row.dtype != np.float32 or not len(row) or not np.isfinite(row).all():
        raise file_kind.error(path, f"{len(row)} numbers, {row.dtype}", "finite float32")
    if not_positive := file_kind.check_positive(kind, row):
        raise file_kind.error(path, not_positive, "over 0")
    return row


def recipe_in(path: Path, metadata: Mapping[str, str], file_kind: FileKind) -> dict[str, object]:
    """How the encoder was made, as its file says: words and numbers that can be shown, and nothing else of it."""
    try:
        recipe = json.loads(metadata.get("recipe", ""))
    except (ValueError, RecursionError):
        recipe = None
    if not isinstance(recipe, dict):
        raise file_kind.error(path, "no recipe", "how it was made, as JSON")
    return {printable(name): shown for name, value in recipe.items() if (shown := printable_value(value)) is not None}


def printable_value(value: object) -> object:
    """A word or a finite number as it can be shown; None for anything else."""
    if isinstance(value, str):
        return printable(value)
    return value if isinstance(value, int | float) and abs(value) <= MAX_NUMBER else None


def printable(text: str) -> str:
    """The text without control characters, and not too long."""
    return "".join(letter for letter in text if letter.isprintable())[:MAX_WORD_LENGTH]
