"""Curves and matrices as pieces of HTML: points where they belong, names that cannot break the page."""

import base64
import io
import re

import numpy as np
from PIL import Image

from fedclade.papers.drawing import drawn


def test_curves_go_from_corner_to_corner() -> None:
    """The lowest point is at the lower left of 640 x 300 with a margin of 45, the highest at the upper right."""
    shown = drawn({"<b>one": {"x": [0.0, 10.0], "y": [20.0, 60.0]}, "other": {"x": [5.0, 6.0], "y": [40.0, None]}})
    lines = re.findall(r'points="([^"]*)"', shown)
    assert lines == ["45.0,255.0 595.0,45.0", "320.0,150.0"]
    assert "&lt;b&gt;one" in shown
    assert "<b>" not in shown


def test_a_matrix_is_a_picture() -> None:
    shown = drawn({"who": {"matrix": [[1, 0], [0, 1]], "order": ["a", "b"]}})
    data = re.search(r"base64,([^\"]+)", shown)
    assert data is not None
    pixels = np.array(Image.open(io.BytesIO(base64.b64decode(data.group(1)))))
    assert pixels.shape == (200, 200)
    assert (pixels[0, 0], pixels[0, 199], pixels[199, 199]) == (40, 235, 40)


def test_nothing_to_draw() -> None:
    assert drawn({}) == ""
    assert drawn({"empty": {"x": [], "y": []}}) == ""
