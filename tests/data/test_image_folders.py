"""A folder of images of any size and colour: brought to one form, and every mistake in it named at once."""

from math import pi, sin
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from fedclade.core import InputError
from fedclade.data import from_folder
from fedclade.data.image_folders import ImageForm, LabelledArrays, from_images, read_images
from refusals import check_refused


def save(path: Path, pixels: NDArray[np.uint8]) -> Path:
    """An image file of bytes (height, width) or (height, width, 3)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def shade(path: Path, value: int, *, width: int = 4, height: int = 2) -> Path:
    """A grey image of one shade."""
    return save(path, np.full((height, width), value, np.uint8))


def damage(path: Path) -> Path:
    """Cut an image file short behind its header, so that its size can still be read."""
    pixels = np.random.default_rng(0).integers(0, 256, (40, 40), np.uint8)
    content = save(path, pixels).read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return path


def read(root: Path, resize: tuple[int, int] | None = None) -> tuple[LabelledArrays, ImageForm]:
    return from_images(root, sorted(root.iterdir()), resize=resize)


def lanczos(x: float) -> float:
    """The kernel with three lobes: sinc(x) sinc(x / 3)."""
    return 3 * sin(pi * x) * sin(pi * x / 3) / (pi * x) ** 2


def test_a_side_that_is_too_long_is_averaged(tmp_path: Path) -> None:
    """Halves of 100 and 200, 4 wide and 2 high, as 2 x 1.

    Seen in the smaller image's pixels, the centres of the four columns lie 0.25 left, and 0.25, 0.75 and 1.25 right, of
    the left result's centre: so far does 200 reach into the left result, and 100 as much into the right one.
    """
    save(tmp_path / "a" / "x" / "0.png", np.array([[100, 100, 200, 200]] * 2, np.uint8))
    near, far = 2 * lanczos(0.25), lanczos(0.75) + lanczos(1.25)
    left = 100 + 100 * far / (near + far)
    assert 107 < left < 107.3
    arrays, form = read(tmp_path, (2, 1))
    assert form == ImageForm((2, 1), channels=1)
    assert arrays["a"][0].tolist() == [[[[107, 193]]]]  # (examples, channels, height, width)


def test_a_side_that_is_too_short_is_interpolated(tmp_path: Path) -> None:
    """From 0 to 100 over two pixels, whose centres are at 1/2 and 3/2: those of four are at 1/4, 3/4, 5/4 and 7/4."""
    save(tmp_path / "a" / "x" / "0.png", np.array([[0, 100]], np.uint8))
    wide = [0, 25, 75, 100]
    assert read(tmp_path, (4, 1))[0]["a"][0].tolist() == [[[wide]]]
    assert read(tmp_path, (4, 3))[0]["a"][0].tolist() == [[[wide] * 3]]


def test_one_side_may_grow_while_the_other_shrinks(tmp_path: Path) -> None:
    """Rows that are all alike stay so, and columns are interpolated; one that is 100,000 high is no trouble."""
    save(tmp_path / "a" / "x" / "0.png", np.array([[0, 100]] * 6, np.uint8))
    save(tmp_path / "a" / "x" / "1.png", np.full((100_000, 1), 77, np.uint8))
    arrays, _ = read(tmp_path, (4, 2))
    assert arrays["a"][0].tolist() == [[[[0, 25, 75, 100]] * 2], [[[77] * 4] * 2]]


def test_an_image_of_the_size_is_left_as_it_is(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    save(tmp_path / "a" / "x" / "0.png", pixels)
    for resize in (None, (7, 5)):
        arrays, form = read(tmp_path, resize)
        assert form == ImageForm((7, 5), channels=3)
        assert np.array_equal(arrays["a"][0][0], pixels.transpose(2, 0, 1))


def test_grey_and_colour_of_different_sizes_become_colour_of_one(tmp_path: Path) -> None:
    """Images of one colour stay of it at any size."""
    shade(tmp_path / "a" / "x" / "0.png", 9, width=3, height=5)
    save(tmp_path / "b" / "y" / "0.png", np.full((2, 8, 3), (250, 0, 40), np.uint8))
    save(tmp_path / "b" / "x" / "0.bmp", np.full((4, 4), 200, np.uint8))
    arrays, form = read(tmp_path, (4, 3))
    assert form == ImageForm((4, 3), channels=3)
    inputs, labels = arrays["b"]
    assert inputs.dtype == np.uint8
    assert (arrays["a"][0].shape, inputs.shape) == ((1, 3, 3, 4), (2, 3, 3, 4))
    assert (arrays["a"][0] == 9).all()
    assert (inputs[0] == 200).all()
    assert (inputs[1] == np.array([250, 0, 40]).reshape(3, 1, 1)).all()
    assert (labels.names, labels.codes.tolist()) == (("x", "y"), [0, 1])


def test_the_form_reads_any_image(tmp_path: Path) -> None:
    """Pure red as grey is 0.299 of 255 by definition, which is 76; grey in colour is the same in each channel."""
    red = save(tmp_path / "red.png", np.full((3, 3, 3), (255, 0, 0), np.uint8))
    assert (ImageForm((2, 4), channels=1).read(red) == np.full((1, 4, 2), 76)).all()
    grey = shade(tmp_path / "grey.JPG", 120, width=1, height=1)
    found = ImageForm((3, 2), channels=3).read(grey)
    assert found.dtype == np.uint8
    assert found.shape == (3, 2, 3)
    assert (found == 120).all()
    (tmp_path / "notes.txt").write_text("?")
    check_refused("the ending is not known", ImageForm((3, 2), channels=3).read, tmp_path / "notes.txt")
    check_refused("there is no such file", ImageForm((3, 2), channels=3).read, tmp_path / "none.png")


def test_the_form_survives_being_written() -> None:
    form = ImageForm((28, 32), channels=1)
    assert form.to_json() == {"size": [28, 32], "channels": 1}
    assert ImageForm.from_json(form.to_json()) == form


@pytest.mark.parametrize(
    "value",
    [
        None,
        [28, 32],
        {},
        {"size": [28, 32]},
        {"size": [28, 32], "channels": 2},
        {"size": [28, 32], "channels": True},
        {"size": [28, 32], "channels": 1.0},
        {"size": [28, 32], "channels": "1"},
        {"size": [28, 32], "channels": 1, "more": 1},
        {"size": [28], "channels": 1},
        {"size": "28", "channels": 1},
        {"size": [28, 32.0], "channels": 1},
        {"size": [28, True], "channels": 1},
        {"size": [28, 0], "channels": 1},
        {"size": [-28, -32], "channels": 1},
        {"size": [2**13, 2**12], "channels": 1},
    ],
)
def test_a_damaged_form_is_refused(value: object) -> None:
    error = check_refused(
        "the form of the images is damaged, model.json", ImageForm.from_json, value, where="model.json"
    )
    assert error.got == repr(value)


@pytest.mark.parametrize("resize", [(0, 5), (5, 0), (-1, 5), (4097, 5), (5, 4097)])
def test_a_size_beyond_the_limits_is_refused(tmp_path: Path, resize: tuple[int, int]) -> None:
    shade(tmp_path / "a" / "x" / "0.png", 1)
    said = f"cannot be resized to this size, resize: got {resize[0]} x {resize[1]}, need .* each from 1 to 4096"
    check_refused(said, read, tmp_path, resize)
    assert read(tmp_path, (4096, 1))[0]["a"][0].shape == (1, 1, 1, 4096)


def test_too_many_pixels_after_resizing_are_refused_unread(tmp_path: Path) -> None:
    """257 grey images of 2^24 pixels are over 4 GiB, as 86 in colour would be."""
    first = shade(tmp_path / "0.png", 1, width=1, height=1)
    images = [("x", first)]
    for number in range(1, 257):
        (tmp_path / f"{number}.png").hardlink_to(first)
        images.append(("x", tmp_path / f"{number}.png"))
    check_refused(
        r"the data are too large, .*got 4311744512 bytes", read_images, tmp_path, {"a": images}, resize=(4096, 4096)
    )


def test_different_sizes_are_counted_and_the_most_usual_is_advised(tmp_path: Path) -> None:
    """3 x 5 once, 4 x 2 twice, 9 x 9 once."""
    shade(tmp_path / "a" / "x" / "0.png", 1, width=3, height=5)
    shade(tmp_path / "a" / "x" / "1.png", 1)
    shade(tmp_path / "b" / "x" / "0.png", 1)
    shade(tmp_path / "b" / "x" / "1.png", 1, width=9, height=9)
    error = check_refused("images differ in size", read, tmp_path)
    assert error.where == str(tmp_path)
    odd = tmp_path / "a" / "x" / "0.png"
    assert error.got == f"3 sizes: most often 4 x 2 (2 of 4 images), but 3 x 5 in {odd}"
    assert error.do == "bring them to one size: resize = [4, 2] in [data], or --resize 4x2"
    assert read(tmp_path, (4, 2))[0]["b"][0].shape == (2, 1, 2, 4)


def test_the_advised_size_can_be_used(tmp_path: Path) -> None:
    """8192 x 1000 is over the limit of 4096 for a side: half of it."""
    shade(tmp_path / "a" / "x" / "0.png", 1, width=8192, height=1000)
    shade(tmp_path / "a" / "x" / "1.png", 1)
    error = check_refused(r"most often 8192 x 1000 \(1 of 2 images\)", read, tmp_path)
    assert "resize = [4096, 500] in" in error.do


def test_one_error_names_every_problem(tmp_path: Path) -> None:
    """A file among classes, a folder and a text among images, no image at all, bad bytes, and a cut short one."""
    shade(tmp_path / "a" / "x" / "0.png", 1, width=40, height=40)
    (tmp_path / "a" / "notes.txt").write_text("?")
    shade(tmp_path / "a" / "x" / "deep" / "0.png", 1)
    (tmp_path / "b" / "x").mkdir(parents=True)
    (tmp_path / "c" / "x").mkdir(parents=True)
    (tmp_path / "c" / "x" / "0.png").write_text("not an image")
    (tmp_path / "c" / "x" / "1.tiff").write_text("?")
    damage(tmp_path / "c" / "y" / "0.png")
    shade(tmp_path / "d" / "x" / "0.png", 1, width=4001, height=4000)
    error = check_refused("7 problems with the images", from_folder, tmp_path)
    assert error.where == str(tmp_path)
    assert error.got.split("; ") == [
        "a/notes.txt: a file stands where class folders should be",
        'b: client "b" has no images',
        "a/x/deep: a folder stands where images should be",
        "c/x/0.png: the file is not an image that can be read",
        "c/x/1.tiff: the ending is not known",
        "d/x/0.png: the image has too many pixels",
        "c/y/0.png: the file is not an image that can be read",
    ]
    assert error.do == "repair these or leave them out"


def test_different_sizes_stand_beside_other_problems(tmp_path: Path) -> None:
    shade(tmp_path / "a" / "x" / "0.png", 1)
    damage(tmp_path / "a" / "x" / "1.png")
    (tmp_path / "a" / "x" / "notes.txt").write_text("?")
    shade(tmp_path / "b" / "x" / "0.png", 1)
    error = check_refused("3 problems with the images", read, tmp_path)
    sizes, *others = error.got.split("; ")
    assert sizes.startswith("images differ in size (2 sizes: most often 4 x 2 (2 of 3 images)")
    assert others == [
        "a/x/notes.txt: the ending is not known",
        "a/x/1.png: the file is not an image that can be read",
    ]
    assert error.do.endswith("leave them out; bring them to one size: resize = [4, 2] in [data], or --resize 4x2")
    error = check_refused("2 problems with the images", read, tmp_path, (4, 2))
    assert error.got.split("; ") == others


def test_only_the_first_problems_are_listed(tmp_path: Path) -> None:
    for number in range(13):
        damage(tmp_path / "a" / "x" / f"{number:02}.png")
    error = check_refused("13 problems with the images", read, tmp_path)
    *listed, rest = error.got.split("; ")
    assert listed == [f"a/x/{number:02}.png: the file is not an image that can be read" for number in range(10)]
    assert rest == "and 3 more"


def test_a_single_problem_is_said_in_full(tmp_path: Path) -> None:
    shade(tmp_path / "a" / "x" / "0.png", 1, width=40, height=40)
    bad = damage(tmp_path / "a" / "x" / "1.png")
    with pytest.raises(InputError, match="the file is not an image that can be read, ") as caught:
        read(tmp_path)
    assert (caught.value.where, caught.value.need) == (str(bad), "PNG")


def test_problems_of_images_without_classes_are_listed_too(tmp_path: Path) -> None:
    """Client/image, in which groups are looked for: two clients with a problem each."""
    shade(tmp_path / "a" / "0.png", 1)
    (tmp_path / "a" / "notes.txt").write_text("?")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "0.png").write_text("?")
    error = check_refused("2 problems with the images", from_folder, tmp_path)
    assert error.got.split("; ") == [
        "a/notes.txt: the ending is not known",
        "b/0.png: the file is not an image that can be read",
    ]
