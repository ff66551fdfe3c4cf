"""Packed files: bounds on what they expand to, archives that lead elsewhere, broken ones."""

import gzip
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from data.sources.making import cut, tar_bytes
from fedclade.data.sources.bounded_reading import json_object, read_bounded, read_text, tar_members
from refusals import check_refused

PACKERS: dict[str, Callable[[bytes], bytes]] = {"a.gz": gzip.compress, "a.xz": lzma.compress, "a.csv": bytes}


@pytest.mark.parametrize("name", PACKERS)
def test_up_to_the_bound_and_not_beyond(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[name](b"a" * 1000))
    assert read_bounded(path, 1000) == b"a" * 1000
    error = check_refused("too large", read_bounded, path, 999)
    assert str(path) in str(error)


@pytest.mark.parametrize("name", ["a.gz", "a.xz"])
def test_bombs_and_broken_files(tmp_path: Path, name: str) -> None:
    """A bomb is not unpacked; cut and foreign files are named."""
    path = tmp_path / name
    path.write_bytes(PACKERS[name](b"\0" * 50_000_000))
    check_refused("too large", read_bounded, path, 100_000)
    path.write_bytes(PACKERS[name](bytes(range(256)) * 100))
    cut(path)
    check_refused("cannot be read", read_bounded, path, 100_000)
    path.write_bytes(b"<html>not found</html>")
    check_refused("cannot be read", read_bounded, path, 100_000)


def test_xz_asks_for_little_memory_and_text_and_json_are_checked(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"a", filters=filters))
    check_refused("cannot be read", read_bounded, tmp_path / "a.xz", 100)
    path = tmp_path / "a.txt"
    path.write_bytes("grün".encode("latin-1"))
    check_refused("cannot be read", read_text, path, 100)
    assert json_object(b'{"a": 1}', "f") == {"a": 1}
    for content in (b"[1]", b"{", b"[" * 100_000):
        check_refused(", f:", json_object, content, "f")


def test_only_plain_members_that_stay_inside_are_given() -> None:
    odd = tarfile.TarInfo("folder")
    odd.type = tarfile.DIRTYPE
    found = {name: bytes(inside) for name, inside in tar_members(tar_bytes({"a/b": b"1", "c": b""}, odd), Path("t"))}
    assert found == {"a/b": b"1", "c": b""}
    for name in ("/etc/passwd", "../a", "a/../../b", "a\\..\\b"):
        check_refused("leads out of the archive, t", list, tar_members(tar_bytes({name: b"x"}), Path("t")))
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE):
        odd = tarfile.TarInfo("a")
        odd.type, odd.linkname = kind, "b"
        check_refused("not a plain file, t", list, tar_members(tar_bytes({}, odd), Path("t")))


def test_a_cut_tar_and_a_lying_one() -> None:
    lying = tarfile.TarInfo("a")
    lying.size = 1 << 40
    for content in (tar_bytes({"a": b"x" * 5000})[:2000], b"no tar" * 200, lying.tobuf() + b"\0" * 1024):
        check_refused("cannot be read, t", list, tar_members(content, Path("t")))
