"""The entries of a user's folder: one for each client, and in a client's folder its classes or its images."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fedclade.core import InputError

SYSTEM_FILES = ("thumbs.db", "ehthumbs.db", "desktop.ini")
MAX_KINDS = 10  # that an error names


def entries_of(root: Path) -> tuple[Sequence[Path], Sequence[Path]]:
    """The entries of a folder, one for each client, and the folders among them: all of them or none."""
    entries = list_entries(root, root)
    folders = [entry for entry in entries if entry.is_dir()]
    if folders and len(folders) < len(entries):
        got = describe_kinds(len(folders), [entry for entry in entries if not entry.is_dir()])
        need = "a folder for each client, or a file for each"
        do = "give one table, or sort them"
        raise InputError("the folder holds different things", where=str(root), got=got, need=need, do=do)
    return entries, folders


def describe_kinds(folders: int, files: Sequence[Path]) -> str:
    """How many folders there are, and how many files of each ending, the most usual first: `2 folders, 1 .csv file`."""
    kinds = Counter(file.suffix.lower() for file in files)
    parts = [f"{folders} folder{'s' * (folders > 1)}"]
    for ending, count in kinds.most_common(MAX_KINDS):
        noun = "files" if count > 1 else "file"
        parts.append(f"{count} {ending} {noun}" if ending else f"{count} {noun} without an ending")
    if (more := len(kinds) - MAX_KINDS) > 0:
        parts.append(f"files with {more} other ending{'s' * (more > 1)}")
    return ", ".join(parts)


def is_hidden(name: str) -> bool:
    """Whether a file is none of the user's: hidden, or what Windows puts into folders."""
    return name.startswith(".") or name.lower() in SYSTEM_FILES


def list_entries(root: Path, folder: Path) -> list[Path]:
    """The entries of a folder, sorted by name; hidden files are left out, and links that leave the root are refused."""
    try:
        inside = root.resolve(strict=True)
        entries = sorted(entry for entry in folder.iterdir() if not is_hidden(entry.name))
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
