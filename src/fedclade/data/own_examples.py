"""A user's own data in which groups are looked for: all examples, with labels or without, nothing held out.

A table (.csv, .parquet) with a column that names the client; arrays (.npz) with one that does; or a folder with an
entry for each client: a file, a folder of images, or a folder with a folder of images for each class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError, checked_ids
from fedclade.data.columns import FLOAT32_MAX, categorical_array, feature_names, features, is_text, read_categorical
from fedclade.data.examples import check_one_shape
from fedclade.data.files.npz import ARRAY_NAMES, read_arrays
from fedclade.data.files.open_file import check_ending
from fedclade.data.folders import entries_of, from_files, from_images, images_in, list_entries, read_images
from fedclade.data.labels import Categorical, number_labels
from fedclade.data.tables import TABLE_ENDINGS, read_table

InputArray = NDArray[np.float32] | NDArray[np.float64]
ENDINGS = (*TABLE_ENDINGS, ".npz")


@dataclass(frozen=True, eq=False)
class OwnExamples:
    """The examples of each client."""

    name: str
    inputs: Mapping[ClientId, InputArray]
    """(examples, ...): tables of numbers, with all their digits, or images from 0 to 1."""
    labels: Mapping[ClientId, NDArray[np.int64]]
    """(examples,): all 0 where there are no labels."""
    class_names: tuple[str, ...]
    """Empty where there are no labels."""
    features: tuple[str, ...]
    """The names of the columns; empty for images."""

    @property
    def examples(self) -> int:
        return sum(len(labels) for labels in self.labels.values())


def read_own_examples(path: Path, *, client: str = "", label: str = "", without: Sequence[str] = ()) -> OwnExamples:
    """The data of a file or a folder. `label` is a column, or an array; none: there are no labels."""
    if not path.exists():
        need = "a table, an .npz file or a folder with data"
        do = f"paths start from {Path.cwd()}"
        raise InputError("there is no such file or folder", where=str(path), need=need, do=do)
    if path.is_dir():
        if client or without:
            need = "none: every entry of the folder is a client"
            where = "--client" if client else "--without"
            raise InputError("a folder has no such column", where=where, got=repr(client or without[0]), need=need)
        return check_examples(from_entries(path, label))
    if not client:
        need = "a table's client column"
        raise InputError(
            "no column names the client of a row", where=str(path), need=need, do="give it: --client COLUMN"
        )
    check_ending(path, ENDINGS)
    read = from_npz if path.suffix.lower() == ".npz" else from_table
    return check_examples(read(path, client, label, without))


def from_table(path: Path, client: str, label: str, without: Sequence[str]) -> OwnExamples:
    """The examples of a table."""
    table = read_table(path, text=client)
    if client == label:
        raise InputError("client and label are one column", where=str(path), got=repr(client), need="two columns")
    for name, what in ((client, "client"), (label, "label")):
        if name and name in without:
            got = repr(name)
            raise InputError(f"the {what}'s column is left out", where="--without", got=got, need="another column")
    excluded = [name for name in dict.fromkeys((client, label, *without)) if name]
    kept = feature_names(table, excluded, str(path))
    owners = read_categorical(table.column(client), f"{path}, column {client!r}")
    labels = read_categorical(table.column(label), f"{path}, column {label!r}") if label else None
    text = [name for name in kept if is_text(table.column(name).type)]
    try:
        inputs = features(table, kept, str(path), exact=True)
    except InputError as error:
        do = f"write it as numbers, or leave it out: --without {quote(text[0])}" if text else error.do
        raise InputError(error.what, where=error.where, got=error.got, need=error.need, do=do) from None
    return split_by_owner(str(path), owners, inputs, labels, kept)


def from_npz(path: Path, client: str, label: str, without: Sequence[str]) -> OwnExamples:
    """The examples of an .npz file: an array that names the clients, one of inputs, and one of labels."""
    if without:
        raise InputError("arrays have no columns to leave out", where="--without", got=repr(without[0]), need="none")

    named = [client, label] if label else [client]

    def pick(entries: list[str]) -> list[str]:
        there = [entry.removesuffix(".npy") for entry in entries]
        wanted = [next((name for name, _ in ARRAY_NAMES if name in there), ARRAY_NAMES[0][0]), *named]
        for name in wanted:
            if there.count(name) != 1:
                shown = ", ".join(repr(each) for each in there[:10]) or "none"
                raise InputError(f'there is no array "{name}"', where=str(path), got=shown, need=f'an array "{name}"')
        return wanted

    inputs, *arrays = read_arrays(path, pick)
    if inputs.dtype.kind not in "fiub" or inputs.ndim < 2 or 0 in inputs.shape:
        got = f"{inputs.dtype} {inputs.shape}"
        raise InputError("inputs are not numbers in rows", where=str(path), got=got, need="numbers (examples, ...)")
    for name, array in zip(named, arrays, strict=True):
        if array.shape != inputs.shape[:1] or array.dtype.kind not in "iufbU":
            got, need = f"{array.dtype} {array.shape}", f"whole numbers or text ({len(inputs)},)"
            raise InputError(f'array "{name}" does not fit the inputs', where=str(path), got=got, need=need)
    owners, *labels = [categorical_array(array, f"{path}, {name}") for name, array in zip(named, arrays, strict=True)]
    columns = tuple(f"input {number}" for number in range(inputs.shape[1])) if inputs.ndim == 2 else ()
    return split_by_owner(str(path), owners, scale_inputs(inputs), labels[0] if label else None, columns)


def split_by_owner(
    name: str, owners: Categorical, inputs: InputArray, labels: Categorical | None, columns: tuple[str, ...]
) -> OwnExamples:
    """The examples of a table or of arrays, by their owners."""
    codes = np.zeros(len(inputs), np.int64) if labels is None else labels.codes
    held = owners.positions()
    return OwnExamples(
        name,
        {owner: inputs[rows] for owner, rows in held.items()},
        {owner: codes[rows] for owner, rows in held.items()},
        () if labels is None else labels.names,
        columns,
    )


def from_entries(root: Path, label: str) -> OwnExamples:
    """The examples of a folder with an entry for each client."""
    entries, folders = entries_of(root)
    if not folders:
        found, columns = from_files(root, entries, label, exact=True)
    elif label:
        need = "none: a folder of images inside a client's folder is a class"
        raise InputError("images have no label column", where="--label", got=repr(label), need=need)
    elif any(entry.is_dir() for folder in folders for entry in list_entries(root, folder)):
        found, columns = from_images(root, folders), ()
    else:  # client/image: no classes
        images = {folder.name: [("", image) for image in images_in(root, folder)] for folder in folders}
        for client, there in images.items():
            if not there:
                raise InputError(f'client "{client}" has no images', where=str(root), need="images, or class folders")
        found, columns = read_images(root, images), ()
    words = [each for _, each in found.values()]
    codes, names = number_labels(words, str(root))
    return OwnExamples(
        str(root),
        {client: scale_inputs(inputs) for client, (inputs, _) in found.items()},
        dict(zip(found, codes, strict=True)),
        () if names == ("",) else names,
        columns,
    )


def scale_inputs(inputs: NDArray[np.generic]) -> InputArray:
    """Numbers of a table with all digits, those of images as float32; bytes from 0 to 1."""
    if inputs.ndim == 2:
        return inputs.astype(np.float64) / (255 if inputs.dtype == np.uint8 else 1)
    return inputs.astype(np.float32) / np.float32(255 if inputs.dtype == np.uint8 else 1)


def check_examples(found: OwnExamples) -> OwnExamples:
    """The same examples, or an error: names must be usable, numbers finite, and shapes one."""
    checked_ids(found.inputs, where=found.name)
    check_one_shape(found.inputs, found.name)
    for client, inputs in found.inputs.items():
        if not (np.abs(inputs) <= FLOAT32_MAX).all():
            got = "NaN, infinity, or more than float32 holds"
            do = "drop or fill these examples"
            raise InputError(
                "inputs are not finite", where=f'{found.name}, client "{client}"', got=got, need="finite numbers", do=do
            )
    return found
