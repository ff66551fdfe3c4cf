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

from fedclade.core import InputError

READ_ERRORS = (
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
MAX_XZ_MEMORY = 128 << 20  # bytes: what xz may ask for; xz -9 asks for 65 MiB


@contextmanager
def report_broken_file(where: Path | str) -> Iterator[None]:
    """Turn what a broken file raises into an error that names the file."""
    try:
        yield
    except InputError:
        raise
    except READ_ERRORS as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        do = "put it there anew"
        raise InputError("the file cannot be read", where=str(where), got=why, need="the whole file", do=do) from None


def read_bounded(path: Path, max_bytes: int) -> bytes:
    """The content of a file, unpacked if it is .gz or .xz; an error if that is more than so many bytes."""
    with report_broken_file(path), path.open("rb") as file:
        if path.suffix == ".gz":
            content = gzip.GzipFile(fileobj=file).read(max_bytes + 1)
        elif path.suffix == ".xz":
            content = unpack_xz(file.read(max_bytes + 1), max_bytes)
        else:
            content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise too_large_error(path, f"over {max_bytes:,} bytes", f"at most {max_bytes:,} bytes")
    return content


def unpack_xz(packed: bytes, max_bytes: int) -> bytes:
    """The content of an xz stream, cut after one byte more than allowed."""
    machine = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY)
    content = machine.decompress(packed, max_length=max_bytes + 1)
    if not machine.eof and len(content) <= max_bytes:
        raise EOFError("cut short")
    return content


def read_text(path: Path, max_bytes: int) -> str:
    """The same, as UTF-8."""
    content = read_bounded(path, max_bytes)
    with report_broken_file(path):
        return content.decode()


def json_object(content: str | bytes, where: Path | str) -> dict[str, object]:
    """The JSON object that the content is."""
    with report_broken_file(where):
        found = json.loads(content)
    if not isinstance(found, dict):
        raise InputError("the file is not a JSON object", where=str(where), got=type(found).__name__)
    return found


def tar_members(content: bytes, where: Path) -> Iterator[tuple[str, memoryview]]:
    """The plain files in an unpacked tar: name and content, nothing copied and nothing put on a disk."""
    view = memoryview(content)
    with report_broken_file(where), tarfile.open(fileobj=io.BytesIO(content), mode="r:") as tar:
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


def too_large_error(where: Path | str, got: str, need: str) -> InputError:
    """The error for a file that would expand to more than its kind can have."""
    return InputError("the file is too large", where=str(where), got=got, need=need)
