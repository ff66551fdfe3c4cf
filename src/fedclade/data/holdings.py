"""A user's own data to be looked at: everybody's examples, with labels or without, nothing held out.

A table (.csv, .parquet) with a column that names the client; arrays (.npz) with one that does; or a folder with an
entry for each client: a file, a folder of images, or a folder with a folder of images for each class.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fedclade.data.columns import LARGEST, exact, feature_names, is_text, named
from fedclade.data.files.npz import NAMES, read_arrays
from fedclade.data.folders import check_ending, entries_of, from_files, from_images, images_in, listed, pictures_of
from fedclade.data.labels import Named, numbered
from fedclade.data.tables import TABLES, read_table
from fedclade.nouns import ClientId, InputError, checked_ids

Floats = NDArray[np.float32] | NDArray[np.float64]
ENDINGS = (*TABLES, ".npz")


@dataclass(frozen=True, eq=False)
class Holdings:
    """What each client has."""

    name: str
    inputs: Mapping[ClientId, Floats]
    """(examples, ...): tables of numbers, with all their digits, or images from 0 to 1."""
    labels: Mapping[ClientId, NDArray[np.int64]]
    """(examples,): all 0 where there are no labels."""
    class_names: tuple[str, ...]
    """Empty where there are no labels."""
    features: tuple[str, ...]
    """What the columns are called; empty for images."""

    @property
    def examples(self) -> int:
        return sum(len(labels) for labels in self.labels.values())


def holdings(path: Path, *, client: str = "", label: str = "", without: Sequence[str] = ()) -> Holdings:
    """The data of a file or a folder. `label` is a column, or an array; none: there are no labels."""
    if not path.exists():
        raise InputError(
            "there is no such file or folder",
            where=str(path),
            need="a table, an .npz file or a folder with data",
            do=f"paths start from {Path.cwd()}",
        )
    if path.is_dir():
        if client or without:
            raise InputError(
                "a folder has no such column",
                where="--client" if client else "--without",
                got=repr(client or without[0]),
                need="none: every entry of the folder is a client",
            )
        return checked(from_entries(path, label))
    if not client:
        raise InputError(
            "nothing says whose a row is",
            where=str(path),
            need="the column that names the client",
            do="give it: --client COLUMN",
        )
    check_ending(path, ENDINGS)
    return checked(
        in_arrays(path, client, label, without)
        if path.suffix.lower() == ".npz"
        else in_table(path, client, label, without)
    )


def in_table(path: Path, client: str, label: str, without: Sequence[str]) -> Holdings:
    """What a table has, column by column."""
    table = read_table(path, text=client)
    if client == label:
        raise InputError("client and label are one column", where=str(path), got=repr(client), need="two columns")
    for name, what in ((client, "client"), (label, "label")):
        if name and name in without:
            raise InputError(
                f"the {what}'s column is left out", where="--without", got=repr(name), need="another column"
            )
    apart = [name for name in dict.fromkeys((client, label, *without)) if name]
    kept = feature_names(table, apart, str(path))
    owners = named(table.column(client), f"{path}, column {client!r}")
    labels = named(table.column(label), f"{path}, column {label!r}") if label else None
    text = [name for name in kept if is_text(table.column(name).type)]
    try:
        inputs = exact(table, kept, str(path))
    except InputError as wrong:
        do = f"write it as numbers, or leave it out: --without {quote(text[0])}" if text else wrong.do
        raise InputError(wrong.what, where=wrong.where, got=wrong.got, need=wrong.need, do=do) from None
    return by_owner(str(path), owners, inputs, labels, kept)


def in_arrays(path: Path, client: str, label: str, without: Sequence[str]) -> Holdings:
    """What an .npz file has: an array that names the clients, one of inputs, and one of labels."""
    if without:
        raise InputError("arrays have no columns to leave out", where="--without", got=repr(without[0]), need="none")

    def pick(entries: list[str]) -> list[str]:
        there = [entry.removesuffix(".npy") for entry in entries]
        inputs = next((name for name, _ in NAMES if name in there), NAMES[0][0])
        for name in (inputs, client, *([label] if label else [])):
            if there.count(name) != 1:
                shown = ", ".join(repr(each) for each in there[:10]) or "none"
                raise InputError(f'there is no array "{name}"', where=str(path), got=shown, need=f'an array "{name}"')
        return [inputs, client, *([label] if label else [])]

    arrays = read_arrays(path, pick)
    inputs, words = arrays[0], arrays[1:]
    if inputs.dtype.kind not in "fiub" or inputs.ndim < 2 or 0 in inputs.shape:
        got = f"{inputs.dtype} {inputs.shape}"
        raise InputError("inputs are not numbers in rows", where=str(path), got=got, need="numbers (examples, ...)")
    for name, array in zip((client, label), words, strict=False):
        if array.shape != inputs.shape[:1] or array.dtype.kind not in "iufbU":
            raise InputError(
                f'array "{name}" does not fit the inputs',
                where=str(path),
                got=f"{array.dtype} {array.shape}",
                need=f"whole numbers or text ({len(inputs)},)",
            )
    texts = [
        named(pa.chunked_array([pa.array(array.astype(array.dtype.newbyteorder("=")))]), f"{path}, {name}")
        for name, array in zip((client, label), words, strict=False)
    ]
    columns = tuple(f"input {number}" for number in range(inputs.shape[1])) if inputs.ndim == 2 else ()
    return by_owner(str(path), texts[0], scaled(inputs), texts[1] if label else None, columns)


def by_owner(name: str, owners: Named, inputs: Floats, labels: Named | None, columns: tuple[str, ...]) -> Holdings:
    """Rows put with their owners."""
    order = np.argsort(owners.codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(owners.codes, minlength=len(owners.names)))[:-1])
    codes = np.zeros(len(inputs), np.int64) if labels is None else labels.codes
    held = dict(zip(owners.names, parts, strict=True))
    return Holdings(
        name,
        {owner: inputs[rows] for owner, rows in held.items()},
        {owner: codes[rows] for owner, rows in held.items()},
        () if labels is None else labels.names,
        columns,
    )


def from_entries(root: Path, label: str) -> Holdings:
    """What a folder has: an entry for each client."""
    entries, folders = entries_of(root)
    if not folders:
        found, columns = from_files(root, entries, label, exact)
    elif label:
        raise InputError(
            "images have no label column",
            where="--label",
            got=repr(label),
            need="none: a folder of images inside a client's folder is a class",
        )
    elif any(entry.is_dir() for folder in folders for entry in listed(root, folder)):
        found, columns = from_images(root, folders), ()
    else:  # client/image: no classes
        images = {folder.name: [("", image) for image in images_in(root, folder)] for folder in folders}
        for client, there in images.items():
            if not there:
                raise InputError(f'client "{client}" has no images', where=str(root), need="images, or class folders")
        found, columns = pictures_of(root, images), ()
    words = [each for _, each in found.values()]
    codes, names = numbered(words, str(root))
    return Holdings(
        str(root),
        {client: scaled(inputs) for client, (inputs, _) in found.items()},
        dict(zip(found, codes, strict=True)),
        () if names == ("",) else names,
        columns,
    )


def scaled(inputs: NDArray[np.generic]) -> Floats:
    """Numbers of a table with all digits, those of images as float32; bytes from 0 to 1."""
    if inputs.ndim == 2:
        return inputs.astype(np.float64) / (255 if inputs.dtype == np.uint8 else 1)
    return inputs.astype(np.float32) / np.float32(255 if inputs.dtype == np.uint8 else 1)


def checked(found: Holdings) -> Holdings:
    """The same, if it can be looked at: usable names, one shape, finite numbers."""
    checked_ids(found.inputs, where=found.name)
    shapes = {inputs.shape[1:]: client for client, inputs in found.inputs.items()}
    if len(shapes) > 1:
        got = " and ".join(f'{shape} in client "{client}"' for shape, client in list(shapes.items())[:2])
        raise InputError("clients' inputs differ in shape", where=found.name, got=got, need="one shape")
    for client, inputs in found.inputs.items():
        if not (np.abs(inputs) <= LARGEST).all():
            raise InputError(
                "inputs are not finite",
                where=f'{found.name}, client "{client}"',
                got="NaN, infinity, or more than float32 holds",
                need="finite numbers",
                do="drop or fill these examples",
            )
    return found
