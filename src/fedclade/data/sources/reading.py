"""Files that others wrote, read with a bound on what they expand to; a broken one is named in the error."""

import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedclade.nouns import InputError

BROKEN = (
    OSError,  # also gzip.BadGzipFile, and Pillow on what is not a picture
    EOFError,
    ValueError,  # also json, npy headers and text that is not UTF-8
    OverflowError,
    SyntaxError,  # Pillow
    RuntimeError,  # zipfile on passwords and unknown methods, json on what is too deep
    struct.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
DICTIONARY = 128 << 20  # bytes: what xz may ask for; xz -9 asks for 65 MiB


@contextmanager
def reading(where: Path | str) -> Iterator[None]:
    """What a broken file raises while it is read becomes an error that names it."""
    try:
        yield
    except InputError:
        raise
    except BROKEN as wrong:
        why = " ".join(str(wrong).split())[:200] or type(wrong).__name__
        raise InputError(
            "the file cannot be read", where=str(where), got=why, need="the whole file", do="put it there anew"
        ) from None


def expanded(path: Path, most: int) -> bytes:
    """What is in the file, unpacked if it is .gz or .xz, and an error if that is more than so many bytes."""
    with reading(path), path.open("rb") as file:
        if path.suffix == ".gz":
            content = gzip.GzipFile(fileobj=file).read(most + 1)
        elif path.suffix == ".xz":
            content = unpacked_xz(file.read(most + 1), most)
        else:
            content = file.read(most + 1)
    if len(content) > most:
        raise too_large(path, f"over {most:,} bytes", f"at most {most:,} bytes")
    return content


def unpacked_xz(packed: bytes, most: int) -> bytes:
    """What xz packed, cut after so many bytes and one."""
    machine = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=DICTIONARY)
    content = machine.decompress(packed, max_length=most + 1)
    if not machine.eof and len(content) <= most:
        raise EOFError("cut short")
    return content


def text(path: Path, most: int) -> str:
    """The same, as UTF-8."""
    content = expanded(path, most)
    with reading(path):
        return content.decode()


def json_object(content: str | bytes, where: Path | str) -> dict[str, object]:
    """The JSON object that the content is."""
    with reading(where):
        found = json.loads(content)
    if not isinstance(found, dict):
        raise InputError("the file is not a JSON object", where=str(where), got=type(found).__name__)
    return found


def tar_members(content: bytes, where: Path) -> Iterator[tuple[str, memoryview]]:
    """The plain files in an unpacked tar: name and content, nothing copied and nothing put on a disk."""
    view = memoryview(content)
    with reading(where), tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
        for member in tar:
            if member.name.startswith("/") or "\\" in member.name or ".." in member.name.split("/"):
                raise InputError("a member leads out of the archive", where=str(where), got=repr(member.name))
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise InputError("a member is not a plain file", where=str(where), got=repr(member.name))
            inside = view[member.offset_data : member.offset_data + member.size]
            if len(inside) != member.size:
                raise EOFError(f"{member.name} is cut short")
            yield member.name, inside


def too_large(where: Path | str, got: str, need: str) -> InputError:
    """The error for a file that would expand to more than its kind can have."""
    return InputError("the file is too large", where=str(where), got=got, need=need)
