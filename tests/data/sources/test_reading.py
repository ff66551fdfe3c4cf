"""Packed files: bounds on what they expand to, archives that lead elsewhere, broken ones."""

import gzip
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from data.sources.making import cut, tar_bytes
from fedclade.data.sources.reading import expanded, json_object, tar_members, text
from fedclade.nouns import InputError

PACKERS: dict[str, Callable[[bytes], bytes]] = {"a.gz": gzip.compress, "a.xz": lzma.compress, "a.csv": bytes}


@pytest.mark.parametrize("name", PACKERS)
def test_up_to_the_bound_and_not_beyond(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[name](b"a" * 1000))
    assert expanded(path, 1000) == b"a" * 1000
    with pytest.raises(InputError, match="too large") as caught:
        expanded(path, 999)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["a.gz", "a.xz"])
def test_a_bomb_is_not_unpacked(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[name](b"\0" * 50_000_000))
    with pytest.raises(InputError, match="too large"):
        expanded(path, 100_000)


@pytest.mark.parametrize("name", ["a.gz", "a.xz"])
def test_cut_and_foreign_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[name](bytes(range(256)) * 100))
    cut(path)
    with pytest.raises(InputError, match="cannot be read"):
        expanded(path, 100_000)
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(InputError, match="cannot be read"):
        expanded(path, 100_000)


def test_xz_may_not_ask_for_much_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    path.write_bytes(lzma.compress(b"a", filters=filters))
    with pytest.raises(InputError, match="cannot be read"):
        expanded(path, 100)


def test_text_and_json(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("grün".encode("latin-1"))
    with pytest.raises(InputError, match="cannot be read"):
        text(path, 100)
    assert json_object(b'{"a": 1}', "f") == {"a": 1}
    for wrong in (b"[1]", b"{", b"[" * 100_000):
        with pytest.raises(InputError, match=", f:"):
            json_object(wrong, "f")


def test_plain_members_are_given() -> None:
    odd = tarfile.TarInfo("folder")
    odd.type = tarfile.DIRTYPE
    found = {name: bytes(inside) for name, inside in tar_members(tar_bytes({"a/b": b"1", "c": b""}, odd), Path("t"))}
    assert found == {"a/b": b"1", "c": b""}


@pytest.mark.parametrize("name", ["/etc/passwd", "../a", "a/../../b", "a\\..\\b"])
def test_members_that_lead_out_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="leads out of the archive, t"):
        list(tar_members(tar_bytes({name: b"x"}), Path("t")))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_members_that_are_no_files_are_refused(kind: bytes) -> None:
    odd = tarfile.TarInfo("a")
    odd.type, odd.linkname = kind, "b"
    with pytest.raises(InputError, match="not a plain file, t"):
        list(tar_members(tar_bytes({}, odd), Path("t")))


def test_a_cut_tar_and_a_lying_one() -> None:
    whole = tar_bytes({"a": b"x" * 5000})
    with pytest.raises(InputError, match="cannot be read, t"):
        list(tar_members(whole[:2000], Path("t")))
    with pytest.raises(InputError, match="cannot be read, t"):
        list(tar_members(b"no tar" * 200, Path("t")))
    lying = tarfile.TarInfo("a")
    lying.size = 1 << 40
    with pytest.raises(InputError, match="cannot be read, t"):
        list(tar_members(lying.tobuf() + b"\0" * 1024, Path("t")))
