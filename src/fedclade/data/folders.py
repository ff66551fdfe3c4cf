"""A user's folder, with a folder of images or a file of examples for each client, as a federation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fedclade.core import ClientId, InputError
from fedclade.core.preparation import NO_NAME
from fedclade.core.problems import file_problem, problems_error
from fedclade.data.entries import entries_of, list_entries
from fedclade.data.federation import Federation
from fedclade.data.files.npz import read_npz
from fedclade.data.image_folders import ImageForm, LabelledArrays, from_images, read_images
from fedclade.data.npz_tables import input_columns, named_federation, native, read_npz_client
from fedclade.data.table_names import MAX_SHOWN, Found, with_own_names
from fedclade.data.tables import TABLE_ENDINGS, concat_tables, read_table, table_federation
from fedclade.data.targets import label_columns

if TYPE_CHECKING:
    from fedclade.data.own import OwnData

FILE_ENDINGS = (".npz", *TABLE_ENDINGS)
CLIENT_COLUMN = "client"  # of a table that is made of several files


def read_folder(root: Path, own: "OwnData", seed: int) -> Federation:
    """The federation of a folder with an entry for each client.

    Either every client has a folder with a folder of images for each class, `client/class/*.png` (jpg, jpeg, webp,
    bmp), or with images and no classes; or every client has a file: `client.npz` (arrays `inputs` and `labels`, or `x`
    and `y`), or a table (`client.csv`, `client.parquet`) with the same columns everywhere. Hidden files are left out.
    """
    entries, folders = entries_of(root)
    if folders:
        arrays, form = read_image_folders(root, folders, (own.resize[0], own.resize[-1]) if own.resize else None)
        labelled = any(labels.names != ("",) for _, labels in arrays.values())
        label = own.label or "label" if labelled else ""  # class folders are labels, whatever else is said
        made = named_federation(arrays, replace(own, label=label), seed, str(root))
        return replace(made, image_form=form)
    check_no_resize(own, root)
    owners = files_by_client(root, entries)
    if all(file.suffix.lower() == ".npz" for file in owners.values()):
        arrays = {client: read_npz_client(file) for client, file in owners.items()}
        if any(inputs.ndim > 2 for inputs, _ in arrays.values()):
            return named_federation(arrays, own, seed, str(root))
    found = Found()
    tables = client_tables(owners, own, found)
    if not tables:
        raise problems_error(found.problems, str(root))
    client = CLIENT_COLUMN
    while any(client in table.column_names for table in tables.values()):
        client = f"_{client}"
    whole = join_tables(tables, client, own, root, found)
    return table_federation(whole, replace(own, client=client), seed=seed, name=str(root), found=found)


def read_image_folders(
    root: Path, folders: Sequence[Path], resize: tuple[int, int] | None
) -> tuple[LabelledArrays, ImageForm]:
    """The arrays of client/class/image, or of client/image, where there are no classes."""
    if any(entry.is_dir() for folder in folders for entry in list_entries(root, folder)):
        return from_images(root, folders, resize=resize)
    images = {folder.name: [("", image) for image in list_entries(root, folder)] for folder in folders}
    for client, there in images.items():
        if not there:
            raise InputError(f'client "{client}" has no images', where=str(root), need="images, or class folders")
    return read_images(root, images, resize=resize)


def files_by_client(root: Path, files: Sequence[Path]) -> dict[ClientId, Path]:
    """Each client's file; its name is the client's, without the ending."""
    if strange := [file for file in files if not file.name.lower().endswith(FILE_ENDINGS)]:
        got = ", ".join(file.name for file in strange[:MAX_SHOWN]) + (", ..." if len(strange) > MAX_SHOWN else "")
        need, do = ", ".join(FILE_ENDINGS), "convert these files, or leave them out"
        raise InputError("the folder holds other files", where=str(root), got=got, need=need, do=do)
    owners: dict[ClientId, Path] = {}
    for file in files:
        ending = next(ending for ending in sorted(FILE_ENDINGS, key=len)[::-1] if file.name.lower().endswith(ending))
        client = file.name[: -len(ending)]
        if client in owners:
            got = f"{owners[client].name!r} and {file.name!r}"
            need = "one file for each client"
            raise InputError(f'client "{client}" is there twice', where=str(root), got=got, need=need)
        owners[client] = file
    return owners


def client_tables(owners: Mapping[ClientId, Path], own: "OwnData", found: Found) -> dict[ClientId, pa.Table]:
    """The tables of all clients whose file can be used; what is wrong with the others is found out all the same."""
    tables: dict[ClientId, pa.Table] = {}
    for client, file in owners.items():
        try:
            tables[client] = client_table(file, own)
        except InputError as error:
            found.problems.append(file_problem(error, file.name))
    return tables


def client_table(file: Path, own: "OwnData") -> pa.Table:
    """The table of one client."""
    if file.suffix.lower() != ".npz":
        found = Found()
        table = with_own_names(read_table(file), found)
        if found.problems:
            raise problems_error(found.problems, str(file))
        return table
    inputs, labels = read_npz(file)
    read_npz_client(file)  # its checks
    if inputs.ndim != 2:
        need = "rows of numbers, as in the other clients' files"
        raise InputError("inputs are no rows", where=str(file), got=f"shape {inputs.shape}", need=need)
    return pa.table({**input_columns(inputs), **({own.label: native(labels)} if own.label else {})})


def join_tables(tables: Mapping[ClientId, pa.Table], client: str, own: "OwnData", root: Path, found: Found) -> pa.Table:
    """The tables of all clients as one, with a column that names the client.

    A column that is left out need not be in every file. Where others differ, the rest is looked at all the same.
    """
    names = list(dict.fromkeys(name for table in tables.values() for name in table.column_names))
    everywhere = [name for name in names if all(name in table.column_names for table in tables.values())]
    names = [
        name
        for name in names
        if name in everywhere or name in own.keep or name in own.without or not NO_NAME.fullmatch(name)
    ]
    used = {name for name in names if name not in own.without}
    if own.only:
        used &= {*own.only, *label_columns(own.label, names), own.split}
    usual = Counter(frozenset(used.intersection(table.column_names)) for table in tables.values()).most_common(1)[0][0]
    odd: list[str] = []
    for name, table in tables.items():
        there = used.intersection(table.column_names)
        differing = [f"no column {each!r}" for each in sorted(usual - there)]
        differing += [f"column {each!r}" for each in sorted(there - usual)]
        if differing:
            odd.append(f"{name}: {', '.join(differing[:MAX_SHOWN])}")
    if odd:
        got = "; ".join(odd[:MAX_SHOWN]) + ("; ..." if len(odd) > MAX_SHOWN else "")
        need, do = "the same columns in every file", "leave out those that differ: --without COLUMN"
        error = InputError("clients' columns differ", where=str(root), got=got, need=need, do=do)
        found.problems.append(file_problem(error))
        if used.intersection({*label_columns(own.label, names), own.split}).difference(everywhere):
            raise problems_error(found.problems, str(root))
        names = [name for name in names if name in everywhere or name not in used]
    joined: list[pa.Table] = []
    for name, table in tables.items():
        columns = [table.column(each) if each in table.column_names else pa.nulls(len(table)) for each in names]
        joined.append(pa.table([*columns, pa.array(np.full(len(table), name), pa.string())], [*names, client]))
    return concat_tables(joined)


def check_no_resize(own: "OwnData", path: Path) -> None:
    """An error if a table is to be resized."""
    if own.resize:
        got = f"resize = {[*own.resize]}"
        raise InputError("only images can be resized", where=str(path), got=got, need="a folder of images")
