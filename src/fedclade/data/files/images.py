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

from fedclade.data.files.opening import kind_of, opened
from fedclade.nouns import InputError

FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP"}
MOST_PIXELS = 16_000_000  # of one image
GREY = ("1", "L", "LA")
COLOUR = ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr")
BROKEN = (
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
"""What Pillow's decoders raise for a damaged file."""


@dataclass(frozen=True)
class Head:
    """What an image says of itself before it is decoded."""

    size: tuple[int, int]
    """Width and height."""
    grey: bool


def read_head(path: Path) -> Head:
    """The size of an image, and whether it is grey; nothing is decoded."""
    with image_in(path) as image:
        return Head(image.size, image.mode in GREY)


def read_pixels(path: Path, size: tuple[int, int], *, grey: bool) -> NDArray[np.uint8]:
    """The image as bytes (1, height, width), or (3, height, width) in colour; transparency is dropped."""
    with image_in(path) as image:
        if image.size != size:
            raise InputError("the image has changed", where=str(path), got=str(image.size), need=str(size))
        if image.mode in ("P", "PA"):  # by way of RGBA: Pillow warns of palettes with transparency
            image = image.convert("RGBA")
        pixels = np.asarray(image.convert("L" if grey else "RGB"), np.uint8)
    return pixels[None] if grey else np.ascontiguousarray(pixels.transpose(2, 0, 1))


@contextmanager
def image_in(path: Path) -> Iterator[Image.Image]:
    """An image whose size and colours are usable."""
    with opened(path) as (file, _), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # oddities that Pillow can read
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        head = file.read(8)
        file.seek(0)
        try:
            with Image.open(file, formats=(FORMATS[path.suffix.lower()],)) as image:
                check(image, path)
                yield image
        except InputError:
            raise
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            raise too_many_pixels(path, f"over {Image.MAX_IMAGE_PIXELS}") from None
        except BROKEN as wrong:
            raise InputError(
                "the file is not an image that can be read",
                where=str(path),
                got=kind_of(head) or " ".join(str(wrong).split()) or type(wrong).__name__,
                need=FORMATS[path.suffix.lower()],
            ) from None


def check(image: Image.Image, path: Path) -> None:
    """An error unless the image is small enough, and of 8 bits."""
    if image.width * image.height > MOST_PIXELS:
        raise too_many_pixels(path, f"{image.width} x {image.height}")
    if image.mode not in GREY + COLOUR:
        raise InputError(
            "the image's pixels are not bytes",
            where=str(path),
            got=f"mode {image.mode}",
            need="8 bits, grey or colour",
            do="convert it to 8 bits",
        )


def too_many_pixels(path: Path, got: str) -> InputError:
    """The error for an image that would fill the memory."""
    return InputError("the image has too many pixels", where=str(path), got=got, need=f"at most {MOST_PIXELS}")
