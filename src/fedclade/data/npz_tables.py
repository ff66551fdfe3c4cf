"""Arrays in .npz files, with an array that names the clients, or one file for each client: flat ones become tables."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.arrays import from_named_classes
from fedclade.data.federation import Federation
from fedclade.data.files.npz import ARRAY_NAMES, read_arrays, read_npz
from fedclade.data.labels import Categorical, number_labels
from fedclade.data.raw_table import encode_texts, read_column, text_column
from fedclade.data.tables import COLUMN_SETTINGS, RANDOM, table_federation

if TYPE_CHECKING:
    from fedclade.data.own import OwnData

ARRAY_TASKS = ("auto", "classification", "reconstruction")


def read_npz_file(path: Path, own: "OwnData", seed: int) -> Federation:
    """The federation of one file: an array of inputs, one that names the clients, and one of labels."""
    named = [own.client, own.label] if own.label else [own.client]

    def pick(entries: list[str]) -> list[str]:
        there = [entry.removesuffix(".npy") for entry in entries]
        wanted = [next((name for name, _ in ARRAY_NAMES if name in there), ARRAY_NAMES[0][0]), *named]
        if missing := [name for name in wanted if there.count(name) != 1]:
            got = ", ".join(repr(each) for each in there[:10]) or "none"
            need = "arrays " + ", ".join(map(repr, wanted))
            what = f"there is no array {', '.join(map(repr, missing))}"
            raise InputError(what, where=str(path), got=got, need=need)
        return wanted

    inputs, *arrays = read_arrays(path, pick)
    check_inputs(inputs, path)
    for name, array in zip(named, arrays, strict=True):
        if array.shape != inputs.shape[:1] or array.dtype.kind not in "iufbU":
            got, need = f"{array.dtype} {array.shape}", f"whole numbers or text ({len(inputs)},)"
            raise InputError(f'array "{name}" does not fit the inputs', where=str(path), got=got, need=need)
    if inputs.ndim == 2:
        table = {**input_columns(inputs), **{name: native(array) for name, array in zip(named, arrays, strict=True)}}
        return table_federation(pa.table(table), own, seed=seed, name=str(path))
    owners = array_names(arrays[0], f"{path}, {own.client}")
    labels = array_names(arrays[1], f"{path}, {own.label}") if own.label else no_labels(len(inputs))
    held = owners.positions()
    found = {owner: (inputs[rows], Categorical(labels.names, labels.codes[rows])) for owner, rows in held.items()}
    return named_federation(found, own, seed, str(path))


def read_npz_client(file: Path) -> tuple[NDArray[np.generic], Categorical]:
    """The inputs and labels of one client."""
    inputs, labels = read_npz(file)
    check_inputs(inputs, file)
    if labels.shape != inputs.shape[:1] or labels.dtype.kind not in "iufbU":
        got = f"{labels.dtype} {labels.shape}"
        need = f"whole numbers or text ({len(inputs)},)"
        raise InputError("labels are not usable", where=f"{file}, labels", got=got, need=need)
    return inputs, array_names(labels, f"{file}, labels")


def named_federation(
    found: dict[str, tuple[NDArray[np.generic], Categorical]], own: "OwnData", seed: int, name: str
) -> Federation:
    """The federation of each client's arrays and labels by name; clients with too few examples are set aside."""
    check_settings_of_arrays(own, name)
    small = sorted(client for client, (inputs, _) in found.items() if len(inputs) < own.min_rows)
    kept = {client: found[client] for client in sorted(set(found).difference(small))}
    if not kept:
        got = f"{len(found)} clients, none with {own.min_rows} examples"
        raise InputError("there are too few examples", where=name, got=got, need=f"{own.min_rows} of a client")
    labels = [each for _, each in kept.values()]
    if own.classes and own.label:
        numbers, names = number_known_labels(labels, own.classes, name)
    else:
        numbers, names = number_labels(labels, name)
    arrays = {client: (inputs, codes) for (client, (inputs, _)), codes in zip(kept.items(), numbers, strict=True)}
    notes = (f"{len(small)} clients with fewer than {own.min_rows} examples set aside: {', '.join(small[:10])}",)
    made = from_named_classes(
        arrays, names, test=own.test, seed=seed, name=name, labelled=bool(own.label), notes=notes if small else ()
    )
    return replace(made, task=replace(made.task, kind="reconstruction")) if own.task == "reconstruction" else made


def check_settings_of_arrays(own: "OwnData", name: str) -> None:
    """An error if columns are chosen where there are none."""
    defaults = {**dict.fromkeys(COLUMN_SETTINGS, ()), "split": RANDOM}
    if wrong := [setting for setting, default in defaults.items() if getattr(own, setting) != default]:
        got = ", ".join(f"{setting} = {getattr(own, setting)!r}" for setting in wrong)
        raise InputError(
            "images and arrays have no columns", where=name, got=got, need="these settings for tables only"
        )
    if own.task not in ARRAY_TASKS:
        got, need = f"task = {own.task!r}", "classification or reconstruction"
        do = "from Python: fc.data.from_arrays takes other labels"
        raise InputError("images and arrays of files have no such labels", where=name, got=got, need=need, do=do)


def number_known_labels(
    found: Sequence[Categorical], classes: tuple[str, ...], where: str
) -> tuple[list[NDArray[np.int64]], tuple[str, ...]]:
    """The labels of each part as their places among the classes."""
    used = {part.names[code] for part in found for code in np.unique(part.codes)}
    if strange := sorted(used.difference(classes)):
        got = ", ".join(map(repr, strange[:10]))
        raise InputError("there are labels that are no class", where=where, got=got, need="classes with all of them")
    places = {name: place for place, name in enumerate(classes)}
    return [np.array([places.get(name, 0) for name in part.names], np.int64)[part.codes] for part in found], classes


def check_inputs(inputs: NDArray[np.generic], path: Path) -> None:
    """An error unless these are numbers in rows."""
    if inputs.dtype.kind not in "fiub" or inputs.ndim < 2 or 0 in inputs.shape:
        got = f"{inputs.dtype} {inputs.shape}"
        raise InputError("inputs are not numbers in rows", where=str(path), got=got, need="numbers (examples, ...)")


def input_columns(inputs: NDArray[np.generic]) -> dict[str, NDArray[np.generic]]:
    """The columns of flat inputs, each with a name."""
    return {f"input {number}": native(inputs[:, number]) for number in range(inputs.shape[1])}


def native(array: NDArray[np.generic]) -> NDArray[np.generic]:
    """An array in this machine's byte order: arrow knows no other."""
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))


def array_names(values: NDArray[np.generic], where: str) -> Categorical:
    """An array of text, whole numbers or truth values, as names."""
    column = pa.chunked_array([pa.array(native(values))])
    found = encode_texts(column) if values.dtype.kind == "U" else text_column(read_column(column, text=True))
    if found.empty.any():
        row = int(np.argmax(found.empty)) + 1
        raise InputError("a name is empty", where=f"{where}, row {row}", need="text or whole numbers")
    return Categorical(found.texts, found.codes())


def no_labels(count: int) -> Categorical:
    """One label without a name."""
    return Categorical(("",), np.zeros(count, np.int64))
