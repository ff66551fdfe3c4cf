"""The figures of items as pieces of HTML that work offline: curves as SVG, matrices as small pictures."""

import base64
import html
import io
import math
from collections.abc import Mapping, Sequence

import numpy as np

from fedclade.report.colours import PALETTE

WIDTH, HEIGHT, MARGIN = 640, 300, 45  # of a figure with curves, in pixels
PIXELS = 200  # of the side of a matrix, at the least
TICKS = 4


def drawn(series: Mapping[str, Mapping[str, object]]) -> str:
    """All curves of an item in one figure, and its matrices side by side; empty if it has neither."""
    curves = {name: points(one) for name, one in series.items() if "x" in one}
    matrices = [matrix(name, one["matrix"]) for name, one in series.items() if "matrix" in one]
    return figure({name: each for name, each in curves.items() if each}) + "".join(matrices)


def points(curve: Mapping[str, object]) -> list[tuple[float, float]]:
    """The points of a curve that can be drawn."""
    xs, ys = curve["x"], curve["y"]
    assert isinstance(xs, Sequence)
    assert isinstance(ys, Sequence)
    return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True) if y is not None and math.isfinite(y)]


def figure(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Lines with axes and a legend."""
    if not curves:
        return ""
    all_of = np.array([point for each in curves.values() for point in each])
    low, high = all_of.min(axis=0), all_of.max(axis=0)
    wide = np.where(high > low, high - low, 1.0)

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x, y = (np.array(point) - low) / wide
        return MARGIN + x * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - y * (HEIGHT - 2 * MARGIN)

    parts: list[str] = []
    for tick in range(TICKS + 1):
        value = low + wide * tick / TICKS
        x, y = place((float(value[0]), float(value[1])))
        parts.append(f'<text x="{x:.0f}" y="{HEIGHT - MARGIN + 18}" text-anchor="middle">{value[0]:.4g}</text>')
        parts.append(f'<text x="{MARGIN - 6}" y="{y + 4:.0f}" text-anchor="end">{value[1]:.3g}</text>')
        parts.append(f'<path d="M{MARGIN} {y:.0f}H{WIDTH - MARGIN}" stroke="#d7dce1"/>')
    legend = ""
    for number, (name, each) in enumerate(curves.items()):
        colour = PALETTE[number % len(PALETTE)]
        dashes = ("", ' stroke-dasharray="6 3"', ' stroke-dasharray="2 2"')[number // len(PALETTE) % 3]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, each))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        legend += f'<span style="color:{colour}">&#9644;</span> {html.escape(name)}&ensp;'
    style = 'font-size="12" font-family="system-ui,sans-serif" role="img"'
    return f'<svg width="{WIDTH}" height="{HEIGHT}" {style}>{"".join(parts)}</svg><p class="small">{legend}</p>'


def matrix(name: str, rows: object) -> str:
    """A matrix of zeros and ones: dark where two clients are related."""
    from PIL import Image

    table = np.array(rows)
    image = Image.fromarray(np.where(table > 0, 40, 235).astype(np.uint8))
    times = -(-PIXELS // len(table))
    kept = io.BytesIO()
    image.resize((times * len(table), times * len(table)), Image.Resampling.NEAREST).save(kept, "PNG")
    data = base64.b64encode(kept.getvalue()).decode()
    shown = f'<img alt="{html.escape(name)}" src="data:image/png;base64,{data}">'
    return f'<figure style="display:inline-block">{shown}<figcaption>{html.escape(name)}</figcaption></figure>'
