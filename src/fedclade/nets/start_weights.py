"""Weights that training starts from: a `state_dict`, given or in a file, as a row of a net.

Nothing in a file is executed: torch reads tensors alone (`weights_only`). What a file unpacks to is bounded first, and
a tensor is copied only after its shape is found to be the net's.
"""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors
import safetensors.numpy
import torch
from torch import Tensor, nn

from fedclade.core import InputError, Row
from fedclade.nets.net import Net, Piece

WHERE = "run.start_from"
TORCH_ENDINGS = (".pt", ".pth")
SAFETENSORS_ENDING = ".safetensors"
STATE_KEYS = ("state_dict", "model_state_dict")  # of files that hold more than the weights
MAX_FILE_BYTES = 2**31  # bytes of a file, also of what it unpacks to
MAX_SHOWN = 5  # tensors that an error names


@dataclass(frozen=True, eq=False)
class StartWeights:
    """Tensors by name, and where they come from."""

    tensors: Mapping[str, Tensor]
    origin: str
    """In words, for notes and errors."""

    def row(self, net: Net) -> Row:
        """The row of a net with these weights; an error that names the tensors that do not fit."""
        module_names = set(net.initial_module(0).state_dict())  # also counters, and tensors that are there twice
        wrong = [misfit(piece, self.tensors.get(piece.name)) for piece in net.pieces]
        known = module_names | {piece.name for piece in net.pieces}
        wrong += [f"{name} is not of this net" for name in self.tensors if name not in known]
        if found := [each for each in wrong if each]:
            more = f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
            do = "start from weights of the same net, with the same settings and inputs"
            got, need = "; ".join(found[:MAX_SHOWN]) + more, ", ".join(map(str, net.pieces[:MAX_SHOWN]))
            need += ", ..." if len(net.pieces) > MAX_SHOWN else ""
            raise InputError(f"the weights do not fit net {net.name}", where=self.where, got=got, need=need, do=do)
        row: Row = np.concatenate([floats(self.tensors[piece.name]) for piece in net.pieces])
        if not np.isfinite(row).all():
            got = f"{int((~np.isfinite(row)).sum())} numbers that are not finite"
            raise InputError("the weights are not usable", where=self.where, got=got, need="finite numbers")
        return row

    @property
    def where(self) -> str:
        return f"{WHERE}, {self.origin}"


def misfit(piece: Piece, tensor: Tensor | None) -> str:
    """How a tensor is not the one of a net; empty if it is."""
    if tensor is None:
        return f"{piece.name} is missing"
    if tuple(tensor.shape) != piece.shape:
        return f"{piece.name} is {shape_text(tuple(tensor.shape))}, not {shape_text(piece.shape)}"
    return "" if tensor.is_floating_point() else f"{piece.name} is {tensor.dtype}, not floating point"


def shape_text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "one number"


def floats(tensor: Tensor) -> Row:
    flat: Row = tensor.detach().to("cpu", torch.float32).reshape(-1).numpy()
    return flat


def weights_of(given: Mapping[str, object] | nn.Module) -> StartWeights:
    """The weights of a module or a `state_dict` that was given in Python."""
    if isinstance(given, nn.Module):
        return StartWeights(given.state_dict(), "a module")
    return StartWeights(named_tensors(given, "a state_dict"), "a state_dict")


def named_tensors(found: Mapping[str, object], origin: str) -> dict[str, Tensor]:
    """Tensors by name; an error if something else is among them."""
    named: dict[str, Tensor] = {}
    for name, value in found.items():
        try:
            tensor = value if isinstance(value, Tensor) else torch.from_numpy(np.asarray(value))
        except TypeError:  # an array of objects or of text
            tensor = None
        if not isinstance(name, str) or tensor is None:
            got = f"{type(value).__name__} as {name!r}"
            raise InputError("this is no state_dict", where=f"{WHERE}, {origin}", got=got, need="tensors by name")
        named[name] = tensor
    return named


def read_torch_file(path: Path) -> StartWeights:
    """The weights that `torch.save` wrote: a `state_dict`, or a mapping that has one."""
    check_size(path)
    need = "a state_dict that torch.save wrote"
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise unusable(path, str(error), need) from None
    if unpacked > MAX_FILE_BYTES:
        raise unusable(path, f"{unpacked:,} bytes when unpacked", f"at most {MAX_FILE_BYTES:,}")
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what its readers raise has no class in common; nothing of ours runs inside
        raise unusable(path, f"{type(error).__name__}: {' '.join(str(error).split())[:150]}", need) from None
    for key in STATE_KEYS:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
    if not isinstance(found, Mapping):
        raise unusable(path, type(found).__name__, need)
    return StartWeights(named_tensors(found, str(path)), str(path))


def read_safetensors_file(path: Path) -> StartWeights:
    """The weights in a file of safetensors."""
    check_size(path)
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            return StartWeights({name: file.get_tensor(name) for name in file.keys()}, str(path))  # noqa: SIM118  # not a dict
    except (safetensors.SafetensorError, OSError, ValueError, TypeError) as error:
        raise unusable(path, f"{type(error).__name__}: {error}", "safetensors") from None


def check_size(path: Path) -> None:
    """An error unless this is a file that is not too large."""
    try:
        size = path.stat().st_size if path.is_file() else -1
    except OSError:  # a name that cannot be one
        size = -1
    if size < 0:
        do = f"paths start from {Path.cwd()}"
        raise InputError("there is no such file", where=WHERE, got=repr(str(path)), need="a file of weights", do=do)
    if size > MAX_FILE_BYTES:
        raise unusable(path, f"{size:,} bytes", f"at most {MAX_FILE_BYTES:,}")


def unusable(path: Path, got: str, need: str) -> InputError:
    return InputError("the weights cannot be read", where=f"{WHERE}, {path}", got=got, need=need)


def encode_start(row: Row, net: Net) -> bytes:
    """A row as safetensors, each tensor by its name: what a run keeps of where it started."""
    parts = {piece.name: row[piece.start : piece.stop].reshape(piece.shape) for piece in net.pieces}
    return safetensors.numpy.save({name: np.ascontiguousarray(part) for name, part in parts.items()})


def decode_start(content: bytes, net: Net, origin: str) -> Row:
    """The row in what `encode_start` gave."""
    arrays = safetensors.numpy.load(content)
    return StartWeights({name: torch.from_numpy(array) for name, array in arrays.items()}, origin).row(net)
