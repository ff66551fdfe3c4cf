"""A folder of images for each client, with a folder for each class or without: as arrays of one form."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, InputError
from fedclade.data.entries import list_entries
from fedclade.data.files.images import FORMATS, MAX_SIDE, ImageHeader, read_header, read_pixels
from fedclade.data.files.open_file import check_ending, check_size, check_unpacked
from fedclade.data.labels import Categorical

MAX_LISTED = 10  # problems that one error names
LabelledArrays = dict[ClientId, tuple[NDArray[np.generic], Categorical]]
"""Each client's inputs, and its labels as they were written."""


@dataclass(frozen=True)
class ImageForm:
    """The form in which images become inputs: all of one size, and all grey or all in colour."""

    size: tuple[int, int]
    """Width and height."""
    channels: int
    """1 if all images are grey; else 3: red, green and blue."""

    def read(self, path: Path) -> NDArray[np.uint8]:
        """An image in this form, (channels, height, width), whatever its size and its colours are."""
        check_ending(path, tuple(FORMATS))
        return read_pixels(path, self.size, grey=self.channels == 1)

    def to_json(self) -> dict[str, object]:
        """The form as plain data: `{"size": [width, height], "channels": 3}`."""
        return {"size": list(self.size), "channels": self.channels}

    @classmethod
    def from_json(cls, value: object, *, where: str = "") -> Self:
        """The form that `to_json` wrote; `where` is the place that an error names."""
        match value:
            case {"size": [int(width), int(height)], "channels": 1 | 3 as channels, **others} if not others:
                whole = not any(isinstance(number, bool | float) for number in (width, height, channels))
                if whole and min(width, height) >= 1 and width * height <= MAX_SIDE**2:
                    return cls((width, height), channels)
        need = '{"size": [width, height], "channels": 1 or 3}'
        raise InputError("the form of the images is damaged", where=where, got=repr(value)[:100], need=need)


def from_images(
    root: Path, folders: Sequence[Path], *, resize: tuple[int, int] | None = None
) -> tuple[LabelledArrays, ImageForm]:
    """The arrays of folders client/class/image, and their form: see `read_images`."""
    found: dict[ClientId, list[tuple[str, Path]]] = {}
    problems: list[InputError] = []
    for folder in folders:
        before = len(problems)
        images: list[tuple[str, Path]] = []
        with collect_errors(problems):
            for entry in list_entries(root, folder):
                with collect_errors(problems):
                    images += [(entry.name, image) for image in images_of_class(root, entry)]
        if images:
            found[folder.name] = images
        elif len(problems) == before:
            what, need = f'client "{folder.name}" has no images', "class folders with images"
            do = "give it images or leave it out"
            problems.append(InputError(what, where=str(folder), need=need, do=do))
    return read_images(root, found, resize=resize, problems=problems)


def images_of_class(root: Path, folder: Path) -> list[Path]:
    """The entries of a class folder."""
    if not folder.is_dir():
        what = "a file stands where class folders should be"
        raise InputError(what, where=str(folder), need="client/class/image")
    return list_entries(root, folder)


def read_images(
    root: Path,
    found: Mapping[ClientId, Sequence[tuple[str, Path]]],
    *,
    resize: tuple[int, int] | None = None,
    problems: Sequence[InputError] = (),
) -> tuple[LabelledArrays, ImageForm]:
    """Every client's images, each with its class, read: grey if all of them are, else in colour; and their form.

    `resize`: the width and height that each image is brought to, whatever the ratio of its sides; without it they must
    be of one size. One error names all entries that cannot be used, and the `problems` that are known before.
    """
    if resize is not None:
        check_resize(resize)
    failed = list(problems)
    heads: dict[Path, ImageHeader] = {}
    for path in (path for images in found.values() for _, path in images):
        with collect_errors(failed):
            heads[path] = read_image_header(path)
    sizes = Counter(head.size for head in heads.values())
    if len(sizes) > 1 and resize is None:
        differ = sizes_differ_error(root, heads, sizes)
        if not failed:  # said at once: to decode all images may take minutes
            raise differ
        failed.insert(0, differ)
    if failed:  # also name those that have a header and are damaged behind it
        for path, head in heads.items():
            with collect_errors(failed):
                read_pixels(path, head.size, grey=head.grey)
        raise one_error(root, failed)
    form = ImageForm(resize or next(iter(sizes)), 1 if all(head.grey for head in heads.values()) else 3)
    check_memory(root, heads, form, resized=resize is not None)
    arrays: LabelledArrays = {}
    for client, images in found.items():
        pixels: list[NDArray[np.uint8]] = []
        for _, path in images:
            with collect_errors(failed):
                pixels.append(form.read(path))
        if not failed:
            arrays[client] = (np.stack(pixels), class_labels(images))
    if failed:
        raise one_error(root, failed)
    return arrays, form


def class_labels(images: Sequence[tuple[str, Path]]) -> Categorical:
    """The class folders of one client's images as labels."""
    names = tuple(sorted({name for name, _ in images}))
    return Categorical(names, np.array([names.index(name) for name, _ in images], np.int64))


def read_image_header(path: Path) -> ImageHeader:
    """The size of an image and whether it is grey, or an error if the entry is not an image."""
    if path.is_dir():
        raise InputError("a folder stands where images should be", where=str(path), need="client/class/image")
    check_ending(path, tuple(FORMATS))
    return read_header(path)


def check_resize(size: tuple[int, int]) -> None:
    """An error unless images can be brought to this width and height."""
    if not all(1 <= side <= MAX_SIDE for side in size):
        got, need = "{} x {}".format(*size), f"width and height, each from 1 to {MAX_SIDE}"
        raise InputError("images cannot be resized to this size", where="resize", got=got, need=need)


def check_memory(root: Path, heads: Mapping[Path, ImageHeader], form: ImageForm, *, resized: bool) -> None:
    """An error if the arrays would fill the memory: by their size, or, if nobody chose it, by that of the files too."""
    size = len(heads) * form.size[0] * form.size[1] * form.channels
    if resized:
        check_size(root, size)
    else:
        check_unpacked(root, size, sum(path.stat().st_size for path in heads))


def sizes_differ_error(root: Path, heads: Mapping[Path, ImageHeader], sizes: Counter[tuple[int, int]]) -> InputError:
    """The error for images of several sizes: how many, the most usual, another with its file, and what to do."""
    (usual, count), *_ = sizes.most_common(1)
    odd, head = next((path, head) for path, head in heads.items() if head.size != usual)
    got = f"{len(sizes)} sizes: most often {usual[0]} x {usual[1]} ({count} of {len(heads)} images)"
    got += f", but {head.size[0]} x {head.size[1]} in {odd}"
    width, height = (max(1, side * MAX_SIDE // max(MAX_SIDE, *usual)) for side in usual)
    do = f"bring them to one size: resize = [{width}, {height}] in [data], or --resize {width}x{height}"
    return InputError("images differ in size", where=str(root), got=got, need="one size", do=do)


@contextmanager
def collect_errors(errors: list[InputError]) -> Iterator[None]:
    """Append the error instead of raising it: a copy, since an error that was raised holds the image in its frames."""
    try:
        yield
    except InputError as error:
        errors.append(InputError(error.what, where=error.where, got=error.got, need=error.need, do=error.do))


def one_error(root: Path, problems: Sequence[InputError]) -> InputError:
    """The only problem, or one error that lists them, the first with their places."""
    if len(problems) == 1:
        return problems[0]
    parts = []
    for problem in problems[:MAX_LISTED]:
        of_all, place = Path(problem.where) == root, Path(problem.where).relative_to(root)
        parts.append(f"{problem.what} ({problem.got})" if of_all else f"{place}: {problem.what}")
    if (more := len(problems) - MAX_LISTED) > 0:
        parts.append(f"and {more} more")
    need = f"only images that can be read: {', '.join(FORMATS)}"
    advice = ["repair these or leave them out", *(each.do for each in problems if Path(each.where) == root)]
    what = f"{len(problems)} problems with the images"
    return InputError(what, where=str(root), got="; ".join(parts), need=need, do="; ".join(advice))
