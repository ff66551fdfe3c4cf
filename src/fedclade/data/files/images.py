"""Images: PNG, JPEG, WebP, BMP, as bytes of grey or of red, green and blue."""

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from fedclade.core import InputError
from fedclade.data.files.open_file import kind_of, open_checked

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP"}
MAX_PIXELS = 16_000_000  # of one image
MAX_SIDE = 4096  # pixels, of a size that images are brought to
REDUCING_GAP = 64.0  # a side that is longer by more is averaged in blocks first: a filter takes 48 bytes a pixel
GREY = ("1", "L", "LA")
COLOUR = ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr")
DECODE_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    IndexError,
    TypeError,
    OverflowError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)
"""The errors of Pillow's decoders for a damaged file."""


@dataclass(frozen=True)
class ImageHeader:
    """The properties of an image that are known before it is decoded."""

    size: tuple[int, int]
    """Width and height."""
    grey: bool


def read_header(path: Path) -> ImageHeader:
    """The size of an image, and whether it is grey; nothing is decoded."""
    with open_image(path) as image:
        return ImageHeader(image.size, image.mode in GREY)


def read_pixels(path: Path, size: tuple[int, int], *, grey: bool) -> NDArray[np.uint8]:
    """The image, brought to this width and height, as bytes (1, height, width), or (3, height, width) in colour.

    Transparency is dropped.
    """
    with open_image(path) as image:
        if image.mode in ("P", "PA"):  # by way of RGBA: Pillow warns of palettes with transparency
            image = image.convert("RGBA")
        pixels = np.asarray(resize_image(image.convert("L" if grey else "RGB"), size), np.uint8)
    return pixels[None] if grey else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def resize_image(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """The image with this width and height, whatever the ratio of its sides; the same where it has them.

    A side that is too long goes through Lanczos' filter, which averages, and then one that is too short is interpolated
    linearly: in this order nothing in between is larger than the image or the result.
    """
    smaller = (min(image.width, size[0]), min(image.height, size[1]))
    shrunk = image.resize(smaller, Image.Resampling.LANCZOS, reducing_gap=REDUCING_GAP)
    return shrunk.resize(size, Image.Resampling.BILINEAR)


@contextmanager
def open_image(path: Path) -> Iterator[Image.Image]:
    """An image of a size and colours that can be used."""
    with open_checked(path) as (file, _), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # oddities that Pillow can read
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        head = file.read(8)
        file.seek(0)
        try:
            with Image.open(file, formats=(FORMATS[path.suffix.lower()],)) as image:
                check_image(image, path)
                yield image
        except InputError:
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise too_many_pixels_error(path, f"over {Image.MAX_IMAGE_PIXELS}") from None
        except DECODE_ERRORS as error:
            got = kind_of(head) or " ".join(str(error).split()) or type(error).__name__
            need = FORMATS[path.suffix.lower()]
            raise InputError("the file is not an image that can be read", where=str(path), got=got, need=need) from None


def check_image(image: Image.Image, path: Path) -> None:
    """An error unless the image is small enough, and of 8 bits."""
    if image.width * image.height > MAX_PIXELS:
        raise too_many_pixels_error(path, f"{image.width} x {image.height}")
    if image.mode not in GREY + COLOUR:
        got = f"mode {image.mode}"
        need = "8 bits, grey or colour"
        raise InputError(
            "the image's pixels are not bytes", where=str(path), got=got, need=need, do="convert it to 8 bits"
        )


def too_many_pixels_error(path: Path, got: str) -> InputError:
    """The error for an image that would fill the memory."""
    return InputError("the image has too many pixels", where=str(path), got=got, need=f"at most {MAX_PIXELS}")
