"""The figures of results as small files that a page shows: curves as SVG, matrices as PNG."""

import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.colours import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, Sequence[tuple[float, float]]]
WIDTH, HEIGHT = 8.5, 2.8  # inches of a page, and of one row of panels
PANELS = 3  # side by side
MOST_POINTS = 1500  # of a figure: about 40 bytes each
PREFIX = re.compile(r"(MLP|CNN) (.+)|([^,:]+)[,:] (.+)")
"""What curves of one panel begin with: a net, or whatever stands before a comma."""
ROUNDS = "round"
AGREEMENT = "ARI"  # 0: as by chance, 1: the same groups; drawn as such, however little it changes
AXES = {
    **dict.fromkeys(("flt-figure4", "flt-figure5", "flt-figure12", "cfl-figure9"), (ROUNDS, "accuracy in %")),
    "abc-figure6": (ROUNDS, "accuracy in %"),
    "flt-figure7": (ROUNDS, AGREEMENT),
    "cfl-figure3": ("noise gamma", "share parted right"),
    "cfl-figure6": ("data points of a client", "separation gap"),
    "cfl-figure7": (ROUNDS, "separation gap"),
    "cfl-figure8": (ROUNDS, "norm"),
    "cfl-figure10": (ROUNDS, "perplexity"),
    "abc-figure5": ("client, by true cluster", "score"),
}
"""What is drawn against what."""
APART = {"guaranteed gamma": ("distributions K", "gamma")}
"""Curves that are drawn against something else than the others of their item: in a panel of their own."""


def pictures(item: str, series: Mapping[str, Mapping[str, object]]) -> dict[str, bytes]:
    """The files of an item by their endings: `svg` for its curves, `png` for its matrices."""
    from matplotlib import rc_context

    drawn = {name: few for name, one in series.items() if "x" in one and (few := points(one))}
    matrices = {name: np.array(one["matrix"]) for name, one in series.items() if "matrix" in one}
    found = {}
    # Words stay words, and a dollar stays a dollar; names inside an SVG are the same whenever it is made.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "fedclade", "font.size": 9, "text.parse_math": False}):
        if drawn:
            found["svg"] = saved(curves_figure(thinned(drawn), AXES.get(item.partition(":")[0], ("", ""))), "svg")
        if matrices:
            found["png"] = saved(matrices_figure(matrices), "png")
    return found


def points(curve: Mapping[str, object]) -> list[tuple[float, float]]:
    """The points of a curve that can be drawn."""
    xs, ys = curve["x"], curve["y"]
    assert isinstance(xs, Sequence)
    assert isinstance(ys, Sequence)
    return [(float(x), float(y)) for x, y in zip(xs, ys, strict=True) if y is not None and math.isfinite(y)]


def thinned(curves: Curves) -> Curves:
    """The same with fewer points where there are many: evenly taken, the last one always."""
    most = max(MOST_POINTS // len(curves), 2)
    return {
        name: [each[place] for place in np.unique(np.linspace(0, len(each) - 1, min(most, len(each))).astype(int))]
        for name, each in curves.items()
    }


def panels(curves: Curves) -> dict[str, Curves]:
    """Curves that belong together, by what their names begin with; all in one panel unless every name has that."""
    if alone := {name: {name: curves[name]} for name in APART if name in curves}:
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
    from matplotlib.figure import Figure

    shown = panels(curves)
    labels = list(dict.fromkeys(label for each in shown.values() for label in each))
    rows = -(-len(shown) // PANELS)
    figure = Figure(figsize=(WIDTH, HEIGHT * rows + 0.2 * len(labels) / 3), layout="constrained")
    grid = figure.subplots(rows, min(PANELS, len(shown)), squeeze=False).ravel()
    for axes, (title, each) in zip(grid, shown.items(), strict=False):
        panel(axes, title, each, labels)
        across, up = APART.get(title, axes_names)
        axes.set_xlabel(across)
        axes.set_ylabel(up)
        if up == AGREEMENT:
            axes.set_ylim(min(axes.get_ylim()[0], -0.03), 1.03)
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    handles = {label: line for axes in grid for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def panel(axes: "Axes", title: str, curves: Curves, labels: Sequence[str]) -> None:
    """Lines, each in the colour and the dashes of its name."""
    for label, each in curves.items():
        number = labels.index(label)
        dashes = ("-", "--", ":", "-.")[number // len(PALETTE) % 4]
        xs, ys = zip(*each, strict=True)
        mark = "o" if len(each) == 1 else ""
        axes.plot(xs, ys, dashes, color=PALETTE[number % len(PALETTE)], label=label, linewidth=1.4, marker=mark)
    axes.set_title(title, fontsize=9)
    axes.locator_params(nbins=4)
    axes.grid(visible=True, color="#e3e6e9", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def matrices_figure(matrices: Mapping[str, np.ndarray]) -> "Figure":
    """Side by side: dark where two clients are related."""
    from matplotlib.figure import Figure

    rows = -(-len(matrices) // PANELS)
    figure = Figure(figsize=(WIDTH, HEIGHT * rows), layout="constrained")
    grid = figure.subplots(rows, min(PANELS, len(matrices)), squeeze=False).ravel()
    for axes in grid[len(matrices) :]:
        axes.set_visible(False)
    for axes, (name, matrix) in zip(grid, matrices.items(), strict=False):
        axes.imshow(np.where(matrix > 0, 40, 235), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set_title(name, fontsize=9)
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def saved(figure: "Figure", form: str) -> bytes:
    """A figure as a file, the same bytes whenever it is made."""
    kept = io.BytesIO()
    figure.savefig(kept, format=form, dpi=100, metadata={"Date": None} if form == "svg" else {"Software": None})
    return kept.getvalue()
