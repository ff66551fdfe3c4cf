"""The plots of results as small files that a page shows: curves as SVG, matrices as PNG."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.canvas import add_grid, drawing_settings, panel_figure
from fedclade.report.palette import GREY_SCALE, MATPLOTLIB_DASHES, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[tuple[float, float]]]
ROW_HEIGHT = 2.8  # inches
PANELS_PER_ROW = 3
MAX_POINTS = 1500  # of a plot: about 40 bytes each
PREFIX = re.compile(r"(MLP|CNN) (.+)|([^,:]+)[,:] (.+)")
"""What the names of curves of one panel begin with: a net, or the words before a comma."""
ROUNDS = "round"
AGREEMENT = "ARI"  # 0: as by chance, 1: the same groups; the axis has both, however little it changes
AXES = {
    **dict.fromkeys(("flt-figure4", "flt-figure5", "flt-figure12", "cfl-figure9"), (ROUNDS, "accuracy in %")),
    "abc-figure6": (ROUNDS, "accuracy in %"),
    "flt-figure7": (ROUNDS, AGREEMENT),
    "cfl-figure3": ("noise gamma", "share parted right"),
    "cfl-figure6": ("data points of a client", "separation gap"),
    "cfl-figure7": (ROUNDS, "separation gap"),
    **dict.fromkeys(("cfl-figure8", "cfl-thresholds"), (ROUNDS, "norm")),
    "cfl-figure10": (ROUNDS, "perplexity"),
    "abc-figure5": ("client, by true cluster", "score"),
}
"""What stands on the two axes of an item."""
OWN_PANELS = {"guaranteed gamma": ("distributions K", "gamma")}
"""Curves with other axes than the rest of their item: each has a panel of its own."""


def draw_pictures(item: str, series: Mapping[str, Mapping[str, object]]) -> dict[str, bytes]:
    """The files of an item by their endings: `svg` for its curves, `png` for its matrices."""
    drawn = {name: few for name, one in series.items() if "x" in one and (few := points(one))}
    matrices = {name: np.array(one["matrix"]) for name, one in series.items() if "matrix" in one}
    found = {}
    with drawing_settings():
        if drawn:
            axes_names = AXES.get(item.partition(":")[0], ("", ""))
            found["svg"] = figure_bytes(curves_figure(thin_curves(drawn), axes_names), "svg")
        if matrices:
            found["png"] = figure_bytes(matrices_figure(matrices), "png")
    return found


def points(curve: Mapping[str, object]) -> list[tuple[float, float]]:
    """The points of a curve that can be drawn."""
    xs, ys = curve["x"], curve["y"]
    assert isinstance(xs, Sequence)
    assert isinstance(ys, Sequence)
    return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True) if y is not None and math.isfinite(y)]


def thin_curves(curves: Curves) -> Curves:
    """The same with fewer points where there are many: evenly spaced, with the last one."""
    max_points = max(MAX_POINTS // len(curves), 2)
    return {
        name: [
            each[place] for place in np.unique(np.linspace(0, len(each) - 1, min(max_points, len(each))).astype(int))
        ]
        for name, each in curves.items()
    }


def panels(curves: Curves) -> dict[str, Curves]:
    """Curves that belong together, by what their names begin with; all in one panel unless every name matches."""
    if alone := {name: {name: curves[name]} for name in OWN_PANELS if name in curves}:
        return {**panels({name: each for name, each in curves.items() if name not in alone}), **alone}
    parts = {name: PREFIX.fullmatch(name) for name in curves}
    found: dict[str, dict[str, Sequence[tuple[float, float]]]] = {}
    for name, match in parts.items():
        if match is None:
            return {"": curves}
        words = [part for part in match.groups() if part]
        found.setdefault(words[0], {})[words[1]] = curves[name]
    return dict(found) if len(found) > 1 else {"": curves}


def curves_figure(curves: Curves, axes_names: tuple[str, str]) -> "Figure":
    """A panel for each kind, and one legend for all."""
    shown = panels(curves)
    labels = list(dict.fromkeys(label for each in shown.values() for label in each))
    figure, grid = panel_figure(len(shown), PANELS_PER_ROW, ROW_HEIGHT, 0.2 * len(labels) / 3)
    for axes, (title, each) in zip(grid, shown.items(), strict=True):
        draw_panel(axes, title, each, labels)
        across, up = OWN_PANELS.get(title, axes_names)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        if up == AGREEMENT:
            axes.set_ylim(min(axes.get_ylim()[0], -0.03), 1.03)
    handles = {label: line for axes in grid for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def draw_panel(axes: "Axes", title: str, curves: Curves, labels: Sequence[str]) -> None:
    """Draw lines, each in the colour and the dashes of its name."""
    dashes = tuple(MATPLOTLIB_DASHES.values())
    for label, each in curves.items():
        number = labels.index(label)
        dash, colour = dashes[number // len(PALETTE) % len(dashes)], PALETTE[number % len(PALETTE)]
        xs, ys = zip(*each, strict=True)
        axes.plot(xs, ys, dash, color=colour, label=label, linewidth=1.4, marker="o" if len(each) == 1 else "")
    axes.set_title(title, fontsize=9)
    axes.locator_params(nbins=4)
    add_grid(axes)


def matrices_figure(matrices: Mapping[str, np.ndarray]) -> "Figure":
    """Matrices side by side: dark where two clients are related."""
    figure, grid = panel_figure(len(matrices), PANELS_PER_ROW, ROW_HEIGHT)
    for axes, (name, matrix) in zip(grid, matrices.items(), strict=True):
        axes.imshow(np.where(matrix > 0, 40, 235), cmap=GREY_SCALE, vmin=0, vmax=255, interpolation="nearest")
        axes.set_title(name, fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def figure_bytes(figure: "Figure", form: str) -> bytes:
    """A figure as a file, the same bytes whenever it is made."""
    kept = io.BytesIO()
    figure.savefig(kept, format=form, dpi=100, metadata={"Date": None} if form == "svg" else {"Software": None})
    return kept.getvalue()
