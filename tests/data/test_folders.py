"""A user's folders: images or a file for each client, numbered alike everywhere, and every mistake with its file."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image

from fedclade.data import from_arrays, from_folder
from refusals import check_refused

INPUTS: NDArray[np.float64] = np.arange(24.0).reshape(8, 3)
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
    (tmp_path / "east" / "bird").mkdir()
    assert from_folder(tmp_path).fingerprint == before


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("notes.txt", "folders and files stand side by side"),
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


def test_images_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """None; one only; one class everywhere; two sizes; 16 bits."""
    drawn(tmp_path)
    (tmp_path / "north" / "cat").mkdir(parents=True)
    check_refused('client "north" has no images', from_folder, tmp_path)
    draw(tmp_path / "north" / "cat" / "0.png", 1)
    check_refused(r'too few examples, .*client "north": got 1', from_folder, tmp_path)
    draw(tmp_path / "alone" / "north" / "cat" / "0.png", 1)
    draw(tmp_path / "alone" / "north" / "cat" / "1.png", 1)
    check_refused(r"there is only one class, .*got 'cat' everywhere", from_folder, tmp_path / "alone")
    draw(tmp_path / "alone" / "west" / "dog" / "wide.png", 1, size=(6, 4))
    said = r"5 x 4 in .*north/cat/0.png, 6 x 4 in .*west/dog/wide.png.*do: resize them"
    check_refused(said, from_folder, tmp_path / "alone")
    Image.fromarray(np.full((4, 5), 40_000, np.uint16)).save(tmp_path / "alone" / "west" / "dog" / "wide.png")
    said = r"pixels are not bytes, .*wide.png: .* do: convert it to 8 bits"
    check_refused(said, from_folder, tmp_path / "alone")


def test_a_folder_must_be_there_and_hold_something(tmp_path: Path) -> None:
    check_refused("the folder is empty", from_folder, tmp_path)
    check_refused(r"the folder cannot be read, .*No such file", from_folder, tmp_path / "nothing")
    (tmp_path / "a.csv").write_text("x")
    check_refused(r"the folder cannot be read, .*Not a directory", from_folder, tmp_path / "a.csv")


def saved(root: Path) -> Path:
    """A client in each kind of file: the same features, classes worn, leak and none."""
    table = pa.table({"a": INPUTS[:, 0], "label": CLASSES, "b": INPUTS[:, 1], "c": INPUTS[:, 2]})
    pq.write_table(table, root / "east.parquet")
    np.savez(root / "north.npz", inputs=INPUTS, labels=CLASSES)
    np.savez_compressed(root / "south.npz", x=INPUTS, y=np.array(CLASSES))
    rows = [f"{c},{a},{b},{name}" for (a, b, c), name in zip(INPUTS, CLASSES, strict=True)]
    (root / "west.csv").write_text("\n".join(["c,a,b,label", *rows]) + "\n")  # the same columns in another order
    return root


def test_files_of_any_kind_give_the_same_clients(tmp_path: Path) -> None:
    federation = from_folder(saved(tmp_path), test=0.25, seed=3)
    names = ("leak", "none", "worn")
    arrays = dict.fromkeys(("east", "north", "south", "west"), (INPUTS, [names.index(name) for name in CLASSES]))
    assert federation.class_names == names
    assert federation.fingerprint == from_arrays(arrays, test=0.25, seed=3).fingerprint


def test_classes_are_numbered_over_all_clients(tmp_path: Path) -> None:
    """Neither client has all three; one writes numbers, the other numbers with a point."""
    (tmp_path / "a.csv").write_text("x,y\n1,5\n2,10\n")
    (tmp_path / "b.csv").write_text("x,y\n1,7.0\n2,10.0\n")
    federation = from_folder(tmp_path, label="y")
    assert federation.class_names == ("5", "7", "10")
    assert sorted([*federation["b"].train.labels, *federation["b"].test.labels]) == [1, 2]
    (tmp_path / "images").mkdir()
    np.savez(tmp_path / "images" / "a.npz", x=np.full((4, 1, 2, 2), 51, np.uint8), y=[0, 1, 0, 1])
    assert from_folder(tmp_path / "images")["a"].train.inputs.max() == np.float32(0.2), "bytes are scaled"


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("east.csv", "a,b,c,label\n1,2,3,x\n", 'client "east" is there twice, .*east.csv.* and .*east.parquet'),
        ("late.csv", "a,b,label\n1,2,x\n", "clients' columns differ, .*late.csv: got no column 'c'"),
        ("late.csv", "a,b,c,d,label\n1,2,3,4,x\n", "clients' columns differ, .*late.csv: got column 'd'"),
        ("late.csv", "a,b,c,labels\n1,2,3,x\n", r'there is no column "label", .*did you mean "labels"\?'),
        ("late.csv", "a,b,c,label\n1,2,3,x\n1,2\n", "a line is broken, .*late.csv, line 3"),
        ("late.txt", "a,b,c,label\n", r"the ending is not known, .*late.txt: got \"\.txt\", need \.npz, \.csv"),
        ("late\x1b.csv", "a", r"a name is not usable, .*'late\\x1b\.csv'"),
        (" late.csv", "a,b,c,label\n1,2,3,x\n1,2,3,x\n", "a client's id is not a usable name"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, text: str, what: str) -> None:
    (saved(tmp_path) / name).write_text(text)
    check_refused(what, from_folder, tmp_path)


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"inputs": INPUTS}, "need inputs and labels, or x and y"),
        ({"inputs": INPUTS, "labels": CLASSES, "x": INPUTS, "y": CLASSES}, "need inputs and labels, or x and y"),
        ({"data": INPUTS}, "got 'data', need inputs and labels"),
        ({}, "got none, need inputs and labels|the file is not npz"),
        ({"x": INPUTS, "y": CLASSES[:5]}, "labels do not fit the inputs"),
        ({"x": INPUTS, "y": [CLASSES]}, r"labels are not usable, .*\(1, 8\)"),
        ({"x": INPUTS, "y": np.arange(8) / 2}, "a value is not a whole number, .*late.npz, labels: got 0.5"),
        ({"x": INPUTS, "y": np.arange(8) * 1j}, "labels are not usable, .*complex128"),
        ({"x": INPUTS[:0], "y": CLASSES[:0]}, r"labels are not usable, .*\(0,\)"),
        ({"x": INPUTS + np.inf, "y": CLASSES}, 'inputs are not finite, .*client "late"'),
        ({"x": INPUTS.astype(str), "y": CLASSES}, 'inputs are not numbers in rows, .*client "late"'),
        ({"x": INPUTS[:, :2], "y": CLASSES}, r'differ in shape, .*\(3,\) in client "east" and \(2,\) in client "late"'),
        ({"x": INPUTS.astype(np.uint8), "y": CLASSES}, "clients' inputs differ in kind"),
    ],
)
def test_bad_arrays_are_named(tmp_path: Path, arrays: dict[str, NDArray[np.generic]], what: str) -> None:
    np.savez(saved(tmp_path) / "late.npz", **arrays)  # type: ignore[arg-type]  # numpy's stub takes them for allow_pickle
    check_refused(what, from_folder, tmp_path)
