"""A user's folder, with a folder of images or a file of examples for each client, as a federation."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fedclade.data.arrays import from_named
from fedclade.data.columns import feature_names, features, named
from fedclade.data.federation import Federation
from fedclade.data.files.images import FORMATS, read_head, read_pixels
from fedclade.data.files.npz import read_npz
from fedclade.data.files.opening import check_unpacked
from fedclade.data.labels import Named, numbered
from fedclade.data.tables import TABLES, read_table
from fedclade.nouns import ClientId, InputError

FILES = (".npz", *TABLES)
Found = dict[ClientId, tuple[NDArray[np.generic], Named]]
Read = Callable[[pa.Table, Sequence[str], str], NDArray[np.generic]]
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
    numbers, names = numbered([labels for _, labels in found.values()], str(root))
    arrays = {client: (inputs, codes) for (client, (inputs, _)), codes in zip(found.items(), numbers, strict=True)}
    return from_named(arrays, names, test=test, seed=seed, name=str(root))


def entries_of(root: Path) -> tuple[Sequence[Path], Sequence[Path]]:
    """What a folder has, an entry for each client, and the folders among them: all of them or none."""
    entries = listed(root, root)
    folders = [entry for entry in entries if entry.is_dir()]
    if folders and len(folders) < len(entries):
        stray = next(entry for entry in entries if not entry.is_dir())
        raise InputError(
            "folders and files stand side by side",
            where=str(root),
            got=f"{stray.name!r} beside {folders[0].name!r}",
            need="a folder for each client, or a file for each",
        )
    return entries, folders


def from_images(root: Path, folders: Sequence[Path]) -> Found:
    """What is in client/class/image."""
    found: dict[ClientId, list[tuple[str, Path]]] = {}
    for folder in folders:
        images = [(each.name, image) for each in classes_in(root, folder) for image in images_in(root, each)]
        if not images:
            raise InputError(
                f'client "{folder.name}" has no images',
                where=str(folder),
                need="class folders with images",
                do="give it images or leave it out",
            )
        found[folder.name] = images
    return pictures_of(root, found)


def pictures_of(root: Path, found: Mapping[ClientId, Sequence[tuple[str, Path]]]) -> Found:
    """Every client's images, each with its class, read: all of one size, grey if all are."""
    paths = [path for images in found.values() for _, path in images]
    heads = [read_head(path) for path in paths]
    for path, head in zip(paths, heads, strict=True):
        if head.size != heads[0].size:
            raise InputError(
                "images differ in size",
                where=str(root),
                got=f"{shown(heads[0].size)} in {paths[0]}, {shown(head.size)} in {path}",
                need="one size",
                do="resize them",
            )
    size, grey = heads[0].size, all(head.grey for head in heads)
    pixels = len(paths) * size[0] * size[1] * (1 if grey else 3)
    check_unpacked(root, pixels, sum(path.stat().st_size for path in paths))
    return {
        client: (np.stack([read_pixels(path, size, grey=grey) for _, path in images]), coded(images))
        for client, images in found.items()
    }


def coded(images: Sequence[tuple[str, Path]]) -> Named:
    """The class folders of one client's images as labels."""
    names = tuple(sorted({name for name, _ in images}))
    return Named(names, np.array([names.index(name) for name, _ in images], np.int64))


def classes_in(root: Path, folder: Path) -> list[Path]:
    """The class folders of a client."""
    entries = listed(root, folder)
    for entry in entries:
        if not entry.is_dir():
            raise InputError("a file stands where class folders should be", where=str(entry), need="client/class/image")
    return entries


def images_in(root: Path, folder: Path) -> list[Path]:
    """The images of a class folder."""
    entries = listed(root, folder)
    for entry in entries:
        if entry.is_dir():
            raise InputError("a folder stands where images should be", where=str(entry), need="client/class/image")
        check_ending(entry, tuple(FORMATS))
    return entries


def from_files(root: Path, files: Sequence[Path], label: str, read: Read = features) -> tuple[Found, tuple[str, ...]]:
    """What is in client.npz, client.csv, client.parquet, and what the columns are called; no label: one of no name."""
    owners: dict[ClientId, Path] = {}
    for file in files:
        check_ending(file, FILES)
        if file.stem in owners:
            raise InputError(
                f'client "{file.stem}" is there twice',
                where=str(root),
                got=f"{owners[file.stem].name!r} and {file.name!r}",
                need="one file for each client",
            )
        owners[file.stem] = file
    found: Found = {}
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
            raise InputError(
                "clients' columns differ",
                where=str(file),
                got=f"{'no ' if name in columns else ''}column {name!r}",
                need="the same columns in every file",
            )
        labels = named(table.column(label), f"{file}, column {label!r}") if label else unlabelled(table.num_rows)
        found[client] = (read(table, columns, str(file)), labels)
    return found, columns


def unlabelled(examples: int) -> Named:
    """The label of examples that have none: one without a name."""
    return Named(("",), np.zeros(examples, np.int64))


def from_npz(file: Path) -> tuple[NDArray[np.generic], Named]:
    """The inputs and labels of one client."""
    inputs, labels = read_npz(file)
    if labels.ndim != 1 or labels.dtype.kind not in "iufbU" or len(labels) == 0:
        raise InputError(
            "labels are not usable",
            where=f"{file}, labels",
            got=f"{labels.dtype} {labels.shape}",
            need="whole numbers or text (examples,)",
        )
    native = labels.astype(labels.dtype.newbyteorder("="))
    return inputs, named(pa.chunked_array([pa.array(native)]), f"{file}, labels")


def listed(root: Path, folder: Path) -> list[Path]:
    """What a folder holds, sorted by name; hidden files are left out, and links that leave the root are refused."""
    try:
        inside = root.resolve(strict=True)
        entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
        for entry in entries:
            if not entry.name.isprintable():
                raise InputError("a name is not usable", where=str(folder), got=repr(entry.name), need="plain text")
            if entry.is_symlink() and not entry.resolve(strict=True).is_relative_to(inside):
                raise InputError(
                    "a link leaves the folder", where=str(entry), got=str(entry.resolve()), need=f"within {root}"
                )
    except (OSError, RuntimeError) as wrong:  # a loop of links is a RuntimeError
        got = wrong.strerror or str(wrong) if isinstance(wrong, OSError) else str(wrong)
        raise InputError("the folder cannot be read", where=str(folder), got=got, need="a readable folder") from None
    if not entries and folder == root:
        raise InputError("the folder is empty", where=str(root), need="a folder or a file for each client")
    return entries


def check_ending(file: Path, known: tuple[str, ...]) -> None:
    """An error unless the file's ending is one of the known ones."""
    if file.suffix.lower() not in known:
        raise InputError(
            "the ending is not known",
            where=str(file),
            got=f'"{file.suffix}"',
            need=", ".join(known),
            do="convert the file, or move it out of the folder",
        )


def shown(size: tuple[int, int]) -> str:
    """Width x height."""
    return f"{size[0]} x {size[1]}"
