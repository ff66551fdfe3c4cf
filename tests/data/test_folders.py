"""A user's folders: images or a file for each client, numbered alike everywhere, and every mistake with its file."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image

from fedclade.data import Federation, from_arrays, from_folder
from refusals import check_refused

INPUTS: NDArray[np.float64] = np.arange(24.0).reshape(8, 3) + 0.5
CLASSES = ["worn", "leak", "none", "leak", "worn", "none", "none", "leak"]


def draw(path: Path, shade: int, *, mode: str = "L", size: tuple[int, int] = (5, 4)) -> None:
    """An image of one shade, 5 wide and 4 high."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, shade).convert(mode).save(path)


def shades(*each: int) -> NDArray[np.uint8]:
    """Images (1, 4, 5) of these shades."""
    return np.stack([np.full((1, 4, 5), shade, np.uint8) for shade in each])


def drawn(root: Path) -> Path:
    """Two clients with the classes cat and dog; east has no dog."""
    for number in range(3):
        draw(root / "east" / "cat" / f"{number}.png", number)
        draw(root / "west" / "cat" / f"{number}.png", 10 + number)
        draw(root / "west" / "dog" / f"{number}.png", 20 + number)
    return root


def test_images_in_class_folders_of_clients(tmp_path: Path) -> None:
    federation = from_folder(drawn(tmp_path))
    assert federation.clients == ("east", "west")
    assert (federation.shape, federation.class_names) == ((1, 4, 5), ("cat", "dog"))
    west = federation["west"]
    found = {
        (int(label), round(float(image[0, 0, 0]) * 255))
        for part in (west.train, west.test)
        for image, label in zip(part.inputs, part.labels, strict=True)
    }
    assert found == {(0, 10), (0, 11), (0, 12), (1, 20), (1, 21), (1, 22)}
    images = {"east": (shades(0, 1, 2), [0] * 3), "west": (shades(10, 11, 12, 20, 21, 22), [0, 0, 0, 1, 1, 1])}
    assert federation.fingerprint == from_arrays(images).fingerprint


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_one_image_in_colour_makes_all_of_them_colour(tmp_path: Path, mode: str) -> None:
    drawn(tmp_path)
    draw(tmp_path / "west" / "dog" / "colour.png", 200, mode=mode)
    federation = from_folder(tmp_path)
    assert federation.shape == (3, 4, 5)
    for part in (federation["east"].train, federation["east"].test):
        assert {round(float(value) * 255) for value in part.inputs.ravel()} <= {0, 1, 2}


def test_colours_are_channels_in_the_order_red_green_blue(tmp_path: Path) -> None:
    for number in range(2):
        for name, colour in (("a", (255, 0, 51)), ("b", (0, 255, 0))):
            (tmp_path / "one" / name).mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (3, 2), colour).save(tmp_path / "one" / name / f"{number}.bmp")
    held = from_folder(tmp_path)["one"]
    for part in (held.train, held.test):
        for image, label in zip(part.inputs, part.labels, strict=True):
            assert np.allclose(image[:, 0, 0], [[1, 0, 0.2], [0, 1, 0]][label])


def test_every_known_ending_is_read_and_classes_are_sorted(tmp_path: Path) -> None:
    for ending in ("png", "PNG", "jpg", "JPEG", "webp", "bmp"):
        draw(tmp_path / "one" / "a" / f"image.{ending}", 9)
        draw(tmp_path / "one" / "b" / f"image.{ending}", 9)
    held = from_folder(tmp_path)["one"]
    assert len(held.train) + len(held.test) == 12
    for name in ("10", "9", "2"):  # class folders that are numbers are sorted as numbers
        draw(tmp_path / "more" / "one" / name / "a.png", 1)
    assert from_folder(tmp_path / "more").class_names == ("2", "9", "10")


def test_hidden_files_and_empty_class_folders_are_left_out(tmp_path: Path) -> None:
    before = from_folder(drawn(tmp_path)).fingerprint
    for folder in (tmp_path, tmp_path / "east", tmp_path / "east" / "cat"):
        (folder / ".DS_Store").write_bytes(b"junk")
        (folder / ".git").mkdir()
        (folder / "Thumbs.db").write_bytes(b"what Windows leaves")
        (folder / "desktop.ini").write_text("x")
    (tmp_path / "east" / "bird").mkdir()
    assert from_folder(tmp_path).fingerprint == before


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("west/readme.md", "a file stands where class folders should be"),
        ("west/cat/notes.txt", "the ending is not known"),
        ("west/cat/deep/1.png", "a folder stands where images should be"),
        ("west/1.png", "a file stands where class folders should be"),
    ],
)
def test_strays_are_named(tmp_path: Path, path: str, what: str) -> None:
    drawn(tmp_path)
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_bytes(b"?")
    error = check_refused(what, from_folder, tmp_path)
    assert path.split("/")[-1] in str(error) or "deep" in str(error)


def test_a_folder_of_different_things_names_them_all(tmp_path: Path) -> None:
    """Two clients' folders, two tables (one of them in capitals), a text, an image and a file without an ending."""
    drawn(tmp_path)
    for name in ("a.csv", "b.CSV", "notes.txt", "photo.png", "readme"):
        (tmp_path / name).write_bytes(b"?")
    error = check_refused("the folder holds different things", from_folder, tmp_path)
    assert error.where == str(tmp_path)
    assert error.got == "2 folders, 2 .csv files, 1 .txt file, 1 .png file, 1 file without an ending"
    assert error.need == "a folder for each client, or a file for each"
    assert error.do == "give one table, or sort them"
    for number in range(9):  # 13 endings
        (tmp_path / f"odd.{number}").write_bytes(b"?")
    error = check_refused("the folder holds different things", from_folder, tmp_path)
    assert error.got.startswith("2 folders, 2 .csv files, 1 ")
    assert error.got.endswith(", files with 3 other endings")


def test_images_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """None; one only; one class everywhere; two sizes; 16 bits."""
    drawn(tmp_path)
    (tmp_path / "north" / "cat").mkdir(parents=True)
    check_refused('client "north" has no images', from_folder, tmp_path)
    draw(tmp_path / "north" / "cat" / "0.png", 1)
    federation = from_folder(tmp_path)
    assert federation.clients == ("east", "west")
    assert federation.notes == ("1 clients with fewer than 2 examples set aside: north",)
    draw(tmp_path / "alone" / "north" / "cat" / "0.png", 1)
    draw(tmp_path / "alone" / "north" / "cat" / "1.png", 1)
    check_refused(r"there is only one class, .*got 'cat' everywhere", from_folder, tmp_path / "alone")
    draw(tmp_path / "alone" / "west" / "dog" / "wide.png", 1, size=(6, 4))
    said = (
        r"images differ in size, .*most often 5 x 4 \(2 of 3 images\), but 6 x 4 in .*west/dog/wide.png, need one size"
    )
    check_refused(said, from_folder, tmp_path / "alone")
    Image.fromarray(np.full((4, 5), 40_000, np.uint16)).save(tmp_path / "alone" / "west" / "dog" / "wide.png")
    said = r"pixels are not bytes, .*wide.png: .* do: convert it to 8 bits"
    check_refused(said, from_folder, tmp_path / "alone")


def test_a_folder_must_be_there_and_hold_something(tmp_path: Path) -> None:
    check_refused("the folder is empty", from_folder, tmp_path)
    check_refused("this is not a folder", from_folder, tmp_path / "nothing")
    (tmp_path / "a.csv").write_text("x")
    check_refused("this is not a folder", from_folder, tmp_path / "a.csv")


def test_classes_of_images_may_be_given(tmp_path: Path) -> None:
    drawn(tmp_path)
    federation = from_folder(tmp_path, classes=["dog", "bird", "cat"])
    assert (federation.class_names, federation.classes) == (("dog", "bird", "cat"), 3)
    assert {*federation["east"].train.labels, *federation["east"].test.labels} == {2}
    check_refused("there are labels that are no class, .*got 'dog'", from_folder, tmp_path, classes=["cat", "bird"])
    check_refused("images and arrays have no columns, .*'later'", from_folder, tmp_path, split="later")
    check_refused("images and arrays have no columns, .*without", from_folder, tmp_path, without=["x"])


def test_images_without_class_folders_have_no_labels(tmp_path: Path) -> None:
    for client in "ab":
        for number in range(2):
            draw(tmp_path / client / f"{number}.png", 7)
    federation = from_folder(tmp_path)
    assert (federation.classes, federation.class_names) == (1, ())
    (tmp_path / "c").mkdir()
    check_refused('client "c" has no images', from_folder, tmp_path)


def save(root: Path) -> Path:
    """A client in each kind of file: the same rows, in columns of another order."""
    table = {"a": INPUTS[:, 0], "label": CLASSES, "b": INPUTS[:, 1], "c": INPUTS[:, 2]}
    pq.write_table(pa.table(table), root / "east.parquet")
    rows = [f"{c};{a};{b};{name}".replace(".", ",") for (a, b, c), name in zip(INPUTS, CLASSES, strict=True)]
    text = "\n".join(["c;a;b;label", *rows]) + "\n"
    (root / "west.csv").write_text(text)
    (root / "south.CSV.gz").write_bytes(gzip.compress(text.encode()))
    (root / "north.tsv").write_text(text.replace(";", "\t"))
    return root


def contents(federation: Federation) -> list[list[object]]:
    """The examples of every client, as they are trained and tested on."""
    parts = [part for held in federation.data.values() for part in (held.train, held.test)]
    return [[part.inputs.tolist(), part.labels.tolist()] for part in parts]


def test_files_of_any_kind_give_the_same_clients(tmp_path: Path) -> None:
    federation = from_folder(save(tmp_path), test=0.25, seed=3, prepare="none")
    assert federation.class_names == ("leak", "none", "worn")
    clients = ("east", "north", "south", "west")
    assert contents(federation) == contents(from_arrays(dict.fromkeys(clients, (INPUTS, CLASSES)), test=0.25, seed=3))


def test_arrays_in_files(tmp_path: Path) -> None:
    """Flat ones are a table without names; others stay as they are, and bytes are scaled."""
    np.savez(tmp_path / "north.npz", inputs=INPUTS, labels=CLASSES)
    np.savez_compressed(tmp_path / "south.npz", x=INPUTS, y=np.array(CLASSES))
    federation = from_folder(tmp_path, prepare="none")
    assert contents(federation) == contents(from_arrays(dict.fromkeys(["north", "south"], (INPUTS, CLASSES))))
    assert federation.preparation is not None
    assert federation.preparation.names == ("input 0", "input 1", "input 2")
    (tmp_path / "images").mkdir()
    np.savez(tmp_path / "images" / "a.npz", x=np.full((4, 1, 2, 2), 51, np.uint8), y=[0, 1, 0, 1])
    assert from_folder(tmp_path / "images")["a"].train.inputs.max() == np.float32(0.2)


def test_classes_are_numbered_over_all_clients(tmp_path: Path) -> None:
    """Neither client has all three; in one file they are whole numbers, in the other text."""
    (tmp_path / "a.csv").write_text("x,y\n1.5,5\n2.5,10\n")
    pq.write_table(pa.table({"x": [1, 2], "y": [7.0, 10.0]}), tmp_path / "b.parquet")
    federation = from_folder(tmp_path, label="y")
    assert federation.class_names == ("5", "7", "10")
    assert sorted([*federation["b"].train.labels, *federation["b"].test.labels]) == [1, 2]


def test_columns_that_differ_may_be_left_out(tmp_path: Path) -> None:
    """A column `client` is one like any other."""
    (tmp_path / "a.csv").write_text("x,label,client\n1.5,p,4\n2.5,q,5\n3.5,q,5\n")
    (tmp_path / "b.csv").write_text("x,label,client,z,,\n1.5,p,3,1,,\n2.5,q,4,1,,\n3.5,p,3,1,,\n")
    (tmp_path / "c.csv").write_text("x,label\n1.5,p\n2.5,q\n3.5,q\n")
    error = check_refused("clients' columns differ", from_folder, tmp_path, without=[""])
    assert error.got == "b: column 'z'; c: no column 'client'"
    options: list[dict[str, Any]] = [{"without": ["client", "z", ""]}, {"only": ["x"]}]
    for each in options:
        assert from_folder(tmp_path, **each).shape == (1,)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("east.csv", "a,b,c,label\n1,2,3,x\n", 'client "east" is there twice, .*east.csv.* and .*east.parquet'),
        ("late.csv", "a,b,label\n1,2,x\n", "clients' columns differ, .*got late: no column 'c', need"),
        ("late.csv", "a,b,c,labels\n1,2,3,x\n", "columns differ, .*got late: no column 'label', column 'labels', need"),
        ("late.csv", "a,b,b,label\n1,2,3,x\n", "column 'b' is there 2 times, .*late.csv"),
        ("late.csv", "a,b,c,label\n1,2,3,x\n1,2\n", "a line is broken, .*late.csv, line 3"),
        ("late.txt", "a,b,c,label\n", r"the folder holds other files, .*got late\.txt, need \.npz, \.csv"),
        ("late\x1b.csv", "a", r"a name is not usable, .*'late\\x1b\.csv'"),
        (" late.csv", "a,b,c,label\n1,2,3,x\n1,2,3,x\n", "holds ' late', which is no usable name"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str, what: str) -> None:
    (save(tmp_path) / name).write_text(text)
    check_refused(what, from_folder, tmp_path)


def test_all_that_is_wrong_with_a_folder_of_files_is_one_error(tmp_path: Path) -> None:
    rows = [(f"{number}.5", f"the quick fox jumps over {number}", "pq"[number % 2]) for number in range(40)]
    good = "".join(f"{x},{text},{label}\n" for x, text, label in rows)
    for name in ("a", "c", "f"):
        (tmp_path / f"{name}.csv").write_text(f"x,words,label\n{good}")
    (tmp_path / "b.csv").write_text("x,x,label\n1,2,p\n")
    (tmp_path / "d.csv").write_text("x,words,label\n1\n")
    (tmp_path / "e.csv").write_text(f"y,words,label\n{good}")
    error = check_refused("there are 4 problems", from_folder, tmp_path)
    for said in (
        *("b.csv: column 'x' is there 2 times", "d.csv: a line is broken", "'words' holds free text"),
        "clients' columns differ (got e: no column 'x', column 'y')",
    ):
        assert said in error.got


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"inputs": INPUTS}, "need inputs and labels, or x and y"),
        ({"inputs": INPUTS, "labels": CLASSES, "x": INPUTS, "y": CLASSES}, "need inputs and labels, or x and y"),
        ({"data": INPUTS}, "got 'data', need inputs and labels"),
        ({}, "got none, need inputs and labels|the file is not npz"),
        ({"x": INPUTS, "y": CLASSES[:5]}, r"labels are not usable, .*late.npz, labels: got <U4 \(5,\), need .* \(8,\)"),
        ({"x": INPUTS, "y": [CLASSES]}, r"labels are not usable, .*\(1, 8\)"),
        ({"x": INPUTS, "y": np.arange(8) * 1j}, "labels are not usable, .*complex128"),
        ({"x": INPUTS[:0], "y": CLASSES[:0]}, r"inputs are not numbers in rows, .*late.npz: .*\(0, 3\)"),
        ({"x": INPUTS + np.inf, "y": CLASSES}, "3 columns cannot be used, .*'input 0' is infinite in row"),
        ({"x": INPUTS.astype(str), "y": CLASSES}, "inputs are not numbers in rows, .*late.npz"),
        ({"x": INPUTS[:, :2], "y": CLASSES}, "columns differ, .*got late: no column 'input 2', need"),
        ({"x": INPUTS[:, None], "y": CLASSES}, r"inputs differ in shape, .*\(3,\) in client \"east\" and \(1, 3\)"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, arrays: dict[str, NDArray[np.generic]], what: str) -> None:
    for client in ("east", "west"):
        np.savez(tmp_path / f"{client}.npz", x=INPUTS, y=CLASSES)
    np.savez(tmp_path / "late.npz", **arrays)  # type: ignore[arg-type]  # numpy's stub takes them for allow_pickle
    check_refused(what, from_folder, tmp_path)
