"""One client's model as a file: safetensors, with the names of the net's tensors if the run has recorded them."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from fedclade.core import InputError, Row
from fedclade.dashboard.safe_reading import content, mark_of
from fedclade.store.files import ENVIRONMENT_FILE, MODEL_FILES, MODELS_FOLDER
from fedclade.store.json_values import as_list, as_object
from fedclade.store.run_folder import RunFolder


def has_models(run: Path) -> bool:
    """Whether the final models are there, as plain files in a plain folder."""
    folder = run / MODELS_FOLDER
    return not folder.is_symlink() and all(mark_of(folder / name) is not None for name in MODEL_FILES)


def model_of(run: Path, client: str) -> bytes:
    """This client's final model. Damaged, if the models are not as they were written."""
    if not has_models(run):
        raise InputError("there is no final model yet", where=run.name, need="a finished run")
    row = RunFolder(run).models().row_of(client)
    known = as_object(content(run / ENVIRONMENT_FILE)).get("tensors")
    tensors = dict(split_row(row, as_list(known))) or {"row": row}
    names = {"client": client, "run": run.name}  # a folder's name need not be text
    return safetensors.numpy.save(
        tensors, {key: name.encode("utf-8", "replace").decode() for key, name in names.items()}
    )


def split_row(row: Row, known: list[object]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """The row as the tensors that the run has recorded, `name 6x1x5x5` each; nothing if they do not fit."""
    shapes: dict[str, tuple[int, ...]] = {}
    for each in known:
        name, _, sides = str(each).rpartition(" ")
        if not name or not re.fullmatch(r"(\d{1,9}(x\d{1,9}){0,9})?", sides):
            return
        shapes[name] = tuple(int(side) for side in sides.split("x")) if sides else ()
    if len(shapes) != len(known) or sum(math.prod(shape) for shape in shapes.values()) != len(row):
        return
    start = 0
    for name, shape in shapes.items():
        stop = start + math.prod(shape)
        yield name, np.ascontiguousarray(row[start:stop].reshape(shape))
        start = stop
