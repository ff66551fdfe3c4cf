"""Files that want to do harm: refused with the error contract, before they cost memory, and nothing in them runs."""

import io
import os
import pickle
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy
from PIL import Image

from data.memory import memory_below
from fedclade.core import InputError
from fedclade.data import Federation, from_file, from_folder
from refusals import check_refused

CANARY = Path(tempfile.gettempdir()) / f"fedclade-canary-{os.getpid()}"


class Harm:
    """Whoever unpickles this makes the canary's file."""

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return (Path.touch, (CANARY,))


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    CANARY.unlink(missing_ok=True)
    yield
    assert not CANARY.exists()


def test_the_canary_sings() -> None:
    """The pickles below would do harm to a reader that loads them."""
    pickle.loads(pickle.dumps(Harm()))  # noqa: S301  # our own
    assert CANARY.exists()
    CANARY.unlink()


def png(width: int, height: int) -> bytes:
    """The head of a grey PNG of this size, with next to nothing in it."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")


def npz(packing: int = zipfile.ZIP_DEFLATED, **entries: bytes) -> bytes:
    """A zip archive with these arrays' bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def array(values: object, **header: object) -> bytes:
    """The bytes of an array in numpy's format, with a header that may lie."""
    file = io.BytesIO()
    made = np.asarray(values)
    npy.write_array_header_1_0(file, {**npy.header_data_from_array_1_0(made), **header})
    return file.getvalue() + made.tobytes()


def read(path: Path) -> Federation:
    """A table by itself; an npz file, or an image in client/class, from its folder."""
    if path.suffix in (".csv", ".parquet"):
        return from_file(path, client="site")
    return from_folder(path.parents[0 if path.suffix == ".npz" else 2])


def refused(path: Path, content: bytes) -> str:
    """What the error says of a file with this content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in caught.value.where
    return str(caught.value)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npz", "one/cat/a.png", "one/cat/a.jpg", "one/cat/a.webp"])
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_a_pickle_under_another_name_is_refused(tmp_path: Path, name: str, protocol: int) -> None:
    said = refused(tmp_path / "in" / name, pickle.dumps(Harm(), protocol=protocol))
    assert "pickle" in said or protocol == 0, "the first format has no mark"


def test_an_object_array_is_refused(tmp_path: Path) -> None:
    """numpy saves it as a pickle; a header may also hide one in a field."""
    file = io.BytesIO()
    np.savez(file, inputs=np.array([[Harm()], [Harm()]], object), labels=np.arange(2))
    assert "the array holds Python objects" in refused(tmp_path / "a.npz", file.getvalue())
    tricky = array([1.0, 2.0], descr=[("a", "O")], shape=(2,))
    assert "the array holds Python objects" in refused(tmp_path / "b" / "a.npz", npz(x=tricky, y=array([0, 1])))
    plain = npz(x=pickle.dumps(Harm()), y=array([0, 1]))
    assert "the file is not npz" in refused(tmp_path / "c" / "a.npz", plain)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (npz(x=array(np.zeros(2), shape=(3 * 10**9,)), y=array([0, 1])), "not as large as it says"),
        (npz(x=array(np.zeros(2), shape=(-1, -2)), y=array([0, 1])), "not as large as it says"),
        (npz(x=array(np.zeros(4), shape=(2, 1)), y=array([0, 1])), "not as large as it says"),
        (npz(x=b"\x93NUMPY\x03\x00" + b"\0" * 80, y=array([0, 1])), "the array's format is not known"),
        (npz(x=b"", y=array([0, 1])), "the file is not npz"),
        (npz(zipfile.ZIP_LZMA, x=array(np.zeros((2, 1))), y=array([0, 1])), "the file is not npz"),
        (npz(x=array(np.zeros((2, 1))), y=array([0, 1]))[:-30], "the file is not npz"),
        (b"PK\x03\x04", "the file is not npz"),
        (array(np.zeros(2)), "a single .npy array"),
        (b"\x1f\x8b" + b"\0" * 20, "a gzip file"),
        (b"?", "something else"),
        (b"", "the file is empty"),
    ],
)
def test_a_broken_npz_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    assert said in refused(tmp_path / "a.npz", content)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_array_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("x", "y", "x"):
            archive.writestr(f"{name}.npy", array([[0.0], [1.0]]))
    assert "need inputs and labels, or x and y" in refused(tmp_path / "a.npz", file.getvalue())


def test_bombs_are_refused_before_they_go_off(tmp_path: Path) -> None:
    zeros = npz(x=array(np.zeros((9 * 2**20, 1))), y=array([0, 1]))  # 72 MiB in 72 KiB
    assert len(zeros) < 10**5
    with memory_below(8 * 2**20):
        assert "unpacks to suspiciously much" in refused(tmp_path / "a.npz", zeros)
        for number, (width, height) in enumerate(((4001, 4000), (10_000, 10_000), (50_000, 50_000), (2**31 - 1, 9))):
            said = refused(tmp_path / str(number) / "one" / "cat" / "a.png", png(width, height))
            assert "too many pixels" in said


def test_too_large_files_and_pipes_are_refused_unread(tmp_path: Path) -> None:
    """Five sparse GiB."""
    for name in ("a.csv", "a.parquet", "b/a.npz", "c/one/cat/a.png"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.truncate(5 * 2**30)
        check_refused("the data are too large", read, path)
    os.mkfifo(tmp_path / "a.csv")
    check_refused("this is not a file", from_file, tmp_path / "a.csv", client="site")


@pytest.mark.slow
def test_a_parquet_of_endless_repeats_is_refused_unread(tmp_path: Path) -> None:
    """Repeats are next to free in parquet: 2^24 rows of 33 columns, over 4 GiB as numbers, in a file of 1 MB."""
    rows = pa.table({f"column {number}": pa.nulls(2**24) for number in range(33)})
    pq.write_table(rows, tmp_path / "a.parquet", row_group_size=2**24)
    assert (tmp_path / "a.parquet").stat().st_size < 10**6
    check_refused("the data are too large", from_file, tmp_path / "a.parquet", client="site")


def test_a_parquet_that_points_beyond_its_dictionary_is_refused(tmp_path: Path) -> None:
    """Without compression a column's page ends in its positions: four of one bit each, in a byte."""
    file = io.BytesIO()
    pq.write_table(pa.table({"site": ["a", "b"] * 4, "x": range(8)}), file, compression="none", use_dictionary=["site"])
    content = file.getvalue()
    place = content.index(b"\x01\x03\xaa")  # 1 bit wide; 8 packed; 0, 1, 0, 1, ... from the lowest
    wider = content[:place] + b"\x01\x10\x07" + content[place + 3 :]  # 8 times position 7
    assert "the file is not parquet" in refused(tmp_path / "a.parquet", wider)


@pytest.mark.parametrize("before", [b"", b"site,x,label\n"])
def test_an_endless_line_is_not_held_in_memory(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.write(before)
        for _ in range(128):
            file.write(b"1" * 2**20)
    with memory_below(64 * 2**20):
        check_refused(f"a line is too long, .*line {1 + bool(before)}", from_file, path, client="site")


def test_links_may_not_leave_the_folder(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside / "one" / "cat", inside / "one" / "dog"):
        folder.mkdir(parents=True)
        Image.new("L", (2, 2)).save(folder / "0.png")
    (inside / "one" / "cat" / "1.png").symlink_to(inside / "one" / "dog" / "0.png")
    (tmp_path / "also").symlink_to(inside)
    assert from_folder(tmp_path / "also").clients == ("one",), "links within are good, and so is one to the folder"
    for place, target in (("one/cat/2.png", outside / "0.png"), ("one/bird", outside), ("two", outside)):
        (inside / place).symlink_to(target)
        check_refused(f"a link leaves the folder, .*{place}", from_folder, inside)
        (inside / place).unlink()
    for place, target in (("one/cat/3.png", inside / "one/cat/3.png"), ("three", tmp_path / "nowhere")):
        (inside / place).symlink_to(target)
        check_refused("the folder cannot be read", from_folder, inside)
        (inside / place).unlink()


def test_what_may_not_be_read_is_said() -> None:
    """As another user, where the tests run as root: nothing is forbidden to that one."""
    with tempfile.TemporaryDirectory() as open_to_all:
        os.chmod(open_to_all, 0o755)
        file, folder = Path(open_to_all) / "a.csv", Path(open_to_all) / "in"
        file.write_text("site,x,label\n")
        folder.mkdir()
        file.chmod(0)
        folder.chmod(0)
        root = os.geteuid() == 0
        try:
            if root:
                os.seteuid(65534)
            check_refused(r"the file cannot be read, .*a\.csv: got Permission denied", from_file, file, client="site")
            check_refused(r"the folder cannot be read, .*in: got Permission denied", from_folder, folder)
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)


def good(ending: str) -> bytes:
    """A small good file of this kind."""
    file = io.BytesIO()
    match ending:
        case "csv":
            return b"site,x,label\n" + b"".join(b"a,%d.5,b\nc,%d.5,d\n" % (n, n) for n in range(5))
        case "parquet":
            columns = {
                "site": ["a", "c"] * 5,
                "x": [1.5, 2.5, 3.5, 4.5, 5.5] * 2,
                "label": ["b", "c", "c", "b", "b"] * 2,
            }
            pq.write_table(pa.table(columns), file)
        case "npz":
            return npz(x=array(np.arange(8).reshape(4, 2) ** 2 / 3), y=array([0, 1, 0, 1]))
        case _:
            rng = np.random.default_rng(0)
            Image.fromarray(rng.integers(0, 255, (6, 6), np.uint8)).save(file, {"jpg": "jpeg"}.get(ending, ending))
    return file.getvalue()


def read_beside_good(root: Path, ending: str, content: bytes) -> Federation:
    """A file with this content; npz and images with a good one beside it."""
    image = ending not in ("csv", "parquet", "npz")
    path, beside = (root / name for name in (("one/cat/0", "one/dog/0") if image else ("one", "two")))
    for place, held in ((path, content), (beside, good(ending))):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_suffix(f".{ending}").write_bytes(held)
    return read(path.with_suffix(f".{ending}"))


ENDINGS = ["csv", "parquet", "npz", "png", "jpg", "webp", "bmp"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_whole_file_is_read(tmp_path: Path, ending: str) -> None:
    assert read_beside_good(tmp_path, ending, good(ending)).classes == 2


@pytest.mark.parametrize("ending", ENDINGS)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4), st.floats(0.5, 1.5))
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_read_or_refused(ending: str, changes: list[tuple[float, int]], cut: float) -> None:
    """Some bytes changed, perhaps cut short: a federation or our error, nothing else."""
    content = bytearray(good(ending))
    for place, value in changes:
        content[int(place * (len(content) - 1))] = value
    content = content[: int(cut * len(content))]
    with tempfile.TemporaryDirectory() as root:
        try:
            made = read_beside_good(Path(root), ending, bytes(content))
        except InputError as error:
            assert len(str(error)) < 1000  # noqa: PT017  # it may also be good
        else:
            assert made.classes >= 2


def test_a_long_text_that_many_rows_share_is_held_once(tmp_path: Path) -> None:
    """1 MiB in each of 10,000 rows would be 10 GiB."""
    rows = np.arange(10_000)
    note = pa.DictionaryArray.from_arrays(rows % 2, ["x" * 2**20, "y"])
    columns = {"site": rows % 2, "x": rows / 7, "label": rows // 2 % 2, "note": note}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with memory_below(2**26):
        assert len(from_file(tmp_path / "a.parquet", client="site", without=["note"])) == 2
