"""Pictures: exact pixels, and sizes refused before they are decoded."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from data.sources.making import picture
from fedclade.data.sources.pictures import pixels
from refusals import check_refused

NOISE = np.random.default_rng(0).integers(0, 256, (32, 64, 3), np.uint8)


def test_pixels_come_back_exactly_in_three_channels(tmp_path: Path) -> None:
    path = tmp_path / "a.webp"
    path.write_bytes(picture(NOISE, "WEBP"))
    assert np.array_equal(pixels(path, "WEBP", (32, 64), path), NOISE)
    grey = picture(np.full((64, 64), 100, np.uint8), "JPEG")
    assert np.array_equal(pixels(grey, "JPEG", (64, 64), "f"), np.full((64, 64, 3), 100))


def test_wrong_sizes_and_kinds() -> None:
    jpeg, webp, png = (picture(NOISE, kind) for kind in ("JPEG", "WEBP", "PNG"))
    check_refused(r"wrong size, f: got \(64, 32\), need sides of 64", pixels, jpeg, "JPEG", (64, 64), "f")
    check_refused(r"wrong size, f: .* need sides of 16, 32 ... 32", pixels, webp, "WEBP", (16, 32), "f")
    check_refused("cannot be read, f", pixels, png, "JPEG", (64, 64), "f")
    check_refused("cannot be read, f", pixels, jpeg[:400], "JPEG", (32, 64), "f")


@pytest.mark.parametrize("side", [12_000, 60_000])  # Pillow warns of the one and refuses the other
def test_a_picture_that_promises_too_many_pixels(side: int) -> None:
    body = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))
    png += struct.pack(">I", 0) + b"IDAT" + struct.pack(">I", zlib.crc32(b"IDAT"))
    check_refused(", f:", pixels, png, "PNG", (32, 3200), "f")
