"""A user's folder, with a folder of images or a file of examples for each client, as a federation."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.data.arrays import from_named_classes
from fedclade.data.columns import categorical_array, feature_names, features, read_categorical
from fedclade.data.federation import Federation
from fedclade.data.files.images import FORMATS, read_header, read_pixels
from fedclade.data.files.npz import read_npz
from fedclade.data.files.open_file import check_ending, check_unpacked
from fedclade.data.labels import Categorical, number_labels
from fedclade.data.tables import TABLE_ENDINGS, read_table

FILE_ENDINGS = (".npz", *TABLE_ENDINGS)
LabelledArrays = dict[ClientId, tuple[NDArray[np.generic], Categorical]]
"""Each client's inputs, and its labels as they were written."""


def from_folder(path: str | PathLike[str], *, test: float = 0.2, seed: int = 0, label: str = "label") -> Federation:
    """A federation from a folder; a share of each client's examples is held out for testing.

    Either every client has a folder with a folder of images for each class, `client/class/*.png` (jpg, jpeg, webp,
    bmp): all of one size, read as grey if all are grey, else as colour; transparency is dropped and a camera's note on
    how to turn an image is not followed. Or every client has a file, `client.npz` (arrays `inputs` and `labels`, or `x`
    and `y`), `client.csv` or `client.parquet` (a column `label`, numbers in all others, which are not rescaled).

    Classes are the labels that occur with any client, numbered in sorted order: see `federation.class_names`. Hidden
    files are left out.
    """
    root = Path(path)
    entries, folders = entries_of(root)
    found = from_images(root, folders) if folders else from_files(root, entries, label)[0]
    numbers, names = number_labels([labels for _, labels in found.values()], str(root))
    arrays = {client: (inputs, codes) for (client, (inputs, _)), codes in zip(found.items(), numbers, strict=True)}
    return from_named_classes(arrays, names, test=test, seed=seed, name=str(root))


def entries_of(root: Path) -> tuple[Sequence[Path], Sequence[Path]]:
    """The entries of a folder, one for each client, and the folders among them: all of them or none."""
    entries = list_entries(root, root)
    folders = [entry for entry in entries if entry.is_dir()]
    if folders and len(folders) < len(entries):
        stray = next(entry for entry in entries if not entry.is_dir())
        got = f"{stray.name!r} beside {folders[0].name!r}"
        need = "a folder for each client, or a file for each"
        raise InputError("folders and files stand side by side", where=str(root), got=got, need=need)
    return entries, folders


def from_images(root: Path, folders: Sequence[Path]) -> LabelledArrays:
    """The arrays of folders client/class/image."""
    found: dict[ClientId, list[tuple[str, Path]]] = {}
    for folder in folders:
        classes = list_entries(root, folder)
        for entry in classes:
            if not entry.is_dir():
                what = "a file stands where class folders should be"
                raise InputError(what, where=str(entry), need="client/class/image")
        images = [(each.name, image) for each in classes for image in images_in(root, each)]
        if not images:
            need = "class folders with images"
            do = "give it images or leave it out"
            raise InputError(f'client "{folder.name}" has no images', where=str(folder), need=need, do=do)
        found[folder.name] = images
    return read_images(root, found)


def read_images(root: Path, found: Mapping[ClientId, Sequence[tuple[str, Path]]]) -> LabelledArrays:
    """Every client's images, each with its class, read: all of one size, grey if all are."""
    paths = [path for images in found.values() for _, path in images]
    heads = [read_header(path) for path in paths]
    for path, head in zip(paths, heads, strict=True):
        if head.size != heads[0].size:
            got = "{} x {} in {}, {} x {} in {}".format(*heads[0].size, paths[0], *head.size, path)
            raise InputError("images differ in size", where=str(root), got=got, need="one size", do="resize them")
    size, grey = heads[0].size, all(head.grey for head in heads)
    pixels = len(paths) * size[0] * size[1] * (1 if grey else 3)
    check_unpacked(root, pixels, sum(path.stat().st_size for path in paths))
    return {
        client: (np.stack([read_pixels(path, size, grey=grey) for _, path in images]), class_labels(images))
        for client, images in found.items()
    }


def class_labels(images: Sequence[tuple[str, Path]]) -> Categorical:
    """The class folders of one client's images as labels."""
    names = tuple(sorted({name for name, _ in images}))
    return Categorical(names, np.array([names.index(name) for name, _ in images], np.int64))


def images_in(root: Path, folder: Path) -> list[Path]:
    """The images of a class folder."""
    entries = list_entries(root, folder)
    for entry in entries:
        if entry.is_dir():
            raise InputError("a folder stands where images should be", where=str(entry), need="client/class/image")
        check_ending(entry, tuple(FORMATS))
    return entries


def from_files(
    root: Path, files: Sequence[Path], label: str, *, exact: bool = False
) -> tuple[LabelledArrays, tuple[str, ...]]:
    """The arrays of client.npz, .csv or .parquet, and the names of the columns; no label: one without a name."""
    owners: dict[ClientId, Path] = {}
    for file in files:
        check_ending(file, FILE_ENDINGS)
        if file.stem in owners:
            got = f"{owners[file.stem].name!r} and {file.name!r}"
            need = "one file for each client"
            raise InputError(f'client "{file.stem}" is there twice', where=str(root), got=got, need=need)
        owners[file.stem] = file
    found: LabelledArrays = {}
    columns: tuple[str, ...] = ()
    for client, file in owners.items():
        if file.suffix.lower() == ".npz":
            found[client] = from_npz(file)
            continue
        table = read_table(file)
        here = feature_names(table, (label,) if label else (), str(file))
        columns = columns or here
        if odd := set(columns) ^ set(here):
            name = min(odd)
            got = f"{'no ' if name in columns else ''}column {name!r}"
            raise InputError("clients' columns differ", where=str(file), got=got, need="the same columns in every file")
        labels = Categorical(("",), np.zeros(table.num_rows, np.int64))  # one without a name
        if label:
            labels = read_categorical(table.column(label), f"{file}, column {label!r}")
        found[client] = (features(table, columns, str(file), exact=exact), labels)
    return found, columns


def from_npz(file: Path) -> tuple[NDArray[np.generic], Categorical]:
    """The inputs and labels of one client."""
    inputs, labels = read_npz(file)
    if labels.ndim != 1 or labels.dtype.kind not in "iufbU" or len(labels) == 0:
        got = f"{labels.dtype} {labels.shape}"
        need = "whole numbers or text (examples,)"
        raise InputError("labels are not usable", where=f"{file}, labels", got=got, need=need)
    return inputs, categorical_array(labels, f"{file}, labels")


def list_entries(root: Path, folder: Path) -> list[Path]:
    """The entries of a folder, sorted by name; hidden files are left out, and links that leave the root are refused."""
    try:
        inside = root.resolve(strict=True)
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        for entry in entries:
            if not entry.name.isprintable():
                raise InputError("a name is not usable", where=str(folder), got=repr(entry.name), need="plain text")
            if entry.is_symlink() and not entry.resolve(strict=True).is_relative_to(inside):
                got = str(entry.resolve())
                raise InputError("a link leaves the folder", where=str(entry), got=got, need=f"within {root}")
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError
        got = error.strerror or str(error) if isinstance(error, OSError) else str(error)
        raise InputError("the folder cannot be read", where=str(folder), got=got, need="a readable folder") from None
    if not entries and folder == root:
        raise InputError("the folder is empty", where=str(root), need="a folder or a file for each client")
    return entries
