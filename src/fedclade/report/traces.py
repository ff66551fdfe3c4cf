"""Traces of plotly figures, drawn by matplotlib: see `fedclade.report.static`."""

import base64
import html
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.palette import (
    BLUE,
    COLOUR_SCALE,
    DEVIATION_SCALE,
    INK,
    MATPLOTLIB_DASHES,
    MATPLOTLIB_MARKS,
    SCALE_BY_FIRST_COLOUR,
    WHITE,
)
from fedclade.report.run_data import JsonObject, mapping, number

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

Handles = dict[str, "Artist"]
"""What a legend names, by its name."""
POINTS_PER_PIXEL = 0.75


def draw_trace(axes: "Axes", trace: JsonObject) -> Handles:
    """Draw one trace, by its type; returns what a legend has to name."""
    drawn = DRAW_BY_TYPE[str(trace.get("type"))](axes, trace)
    name = html.unescape(str(trace.get("name") or ""))
    return {name: drawn} if drawn is not None and name and trace.get("showlegend") is not False else {}


def draw_scatter(axes: "Axes", trace: JsonObject) -> "Artist | None":
    """Draw lines, marks, or an area."""
    x, y = numbers(trace.get("x")), numbers(trace.get("y"))
    line, marker = mapping(trace.get("line")), mapping(trace.get("marker"))
    opacity = number(trace.get("opacity"), 1.0)
    mode = str(trace.get("mode") or "lines")
    if trace.get("fill") == "toself":
        axes.fill(x, y, color=str(trace.get("fillcolor")), alpha=opacity, linewidth=0)
        return None
    if "lines" in mode:
        colour = str(line.get("color") or BLUE)
        symbol = str(marker.get("symbol") or "circle")
        (line_drawn,) = axes.plot(
            x,
            y,
            color=colour,
            linewidth=POINTS_PER_PIXEL * number(line.get("width"), 2.0),
            linestyle=MATPLOTLIB_DASHES.get(str(line.get("dash") or "solid"), "-"),
            alpha=opacity,
            marker=mark_name(symbol) if "markers" in mode else "",
            markersize=POINTS_PER_PIXEL * number(marker.get("size"), 6.0),
            markerfacecolor=WHITE if symbol.endswith("-open") else None,
        )
        errors = mapping(trace.get("error_y"))
        if errors.get("visible"):
            axes.errorbar(x, y, numbers(errors.get("array")), fmt="none", ecolor=colour, elinewidth=1, capsize=2)
        return line_drawn
    sizes, colours, symbols = (value_per_point(marker.get(key), len(x)) for key in ("size", "color", "symbol"))
    border = mapping(marker.get("line"))
    marks: Artist | None = None
    for kind in dict.fromkeys(symbols):
        mine = [place for place, other in enumerate(symbols) if other == kind]
        shown = [str(colours[place] or BLUE) for place in mine]
        hollow = str(kind or "").endswith("-open")
        marks = axes.scatter(
            x[mine],
            y[mine],
            s=[(POINTS_PER_PIXEL * number(sizes[place], 6.0)) ** 2 for place in mine],
            marker=mark_name(kind),
            facecolors="none" if hollow else shown,
            edgecolors=shown if hollow else "none",
            linewidths=POINTS_PER_PIXEL * number(border.get("width"), 1.0) if hollow else 0,
            alpha=number(marker.get("opacity"), opacity),
            zorder=3,
        )
    return marks


def draw_heatmap(axes: "Axes", trace: JsonObject) -> "Artist | None":
    """Draw a matrix."""
    values, name = numbers(trace["z"]), scale_name(trace.get("colorscale"))
    shown = axes.imshow(
        values,
        cmap=name + ("_r" if trace.get("reversescale") else ""),
        vmin=number(trace.get("zmin"), float(values.min())),
        vmax=number(trace.get("zmax"), float(values.max())),
        aspect="auto",
        interpolation="nearest",
    )
    if trace.get("showscale") is not False:
        title = mapping(mapping(trace.get("colorbar")).get("title")).get("text")
        axes.figure.colorbar(shown, ax=axes, label=str(title or ""), shrink=0.8, aspect=30)
    if form := str(trace.get("texttemplate") or ""):
        low, high = shown.get_clim()
        for row, column in np.ndindex(values.shape):
            value = values[row, column]
            far = (
                abs(value - (low + high) / 2) > (high - low) / 4
                if name == DEVIATION_SCALE
                else value > (low + high) / 2
            )
            words = f"{value:+.1f}" if "+" in form else f"{value:.0f}"
            axes.text(column, row, words, ha="center", va="center", fontsize=8, color=WHITE if far else INK)
    return None


def scale_name(scale: object) -> str:
    """What matplotlib calls a colour scale, which plotly spells out as (place, colour) pairs."""
    first = str(scale[0][1]).lower() if isinstance(scale, Sequence) and scale else ""
    return SCALE_BY_FIRST_COLOUR.get(first.replace(" ", ""), COLOUR_SCALE.lower())


def mark_name(symbol: object) -> str:
    """What matplotlib calls a mark, hollow or not."""
    return MATPLOTLIB_MARKS.get(str(symbol or "circle").removesuffix("-open"), "o")


def draw_bar(axes: "Axes", trace: JsonObject) -> "Artist | None":
    """Draw bars; a horizontal one begins where the last one of its row ends."""
    from matplotlib.patches import Rectangle

    colour = str(mapping(trace.get("marker")).get("color"))
    x, y = numbers(trace.get("x")), numbers(trace.get("y"))
    if trace.get("orientation") != "h":
        axes.bar(x, y, color=colour, width=0.8)
        return None
    ends: dict[int, float] = {}
    for patch in axes.patches:
        if isinstance(patch, Rectangle):
            row = round(patch.get_y() + patch.get_height() / 2)
            ends[row] = max(ends.get(row, 0.0), patch.get_x() + patch.get_width())
    bars = axes.barh(y, x, left=[ends.get(round(float(row)), 0.0) for row in y], color=colour, height=0.8)
    return bars[0] if len(bars) else None


def draw_box(axes: "Axes", trace: JsonObject) -> "Artist | None":
    """Draw median, quartiles and whiskers."""
    ours = {"q1": "q1", "med": "median", "q3": "q3", "whislo": "lowerfence", "whishi": "upperfence"}
    known = {theirs: float(numbers(trace.get(name))[0]) for theirs, name in ours.items()}
    line = {"color": str(mapping(trace.get("line")).get("color")), "linewidth": 1}
    axes.bxp(
        [known],
        positions=[float(numbers(trace.get("x"))[0])],
        widths=number(trace.get("width"), 0.5),
        showfliers=False,
        manage_ticks=False,
        boxprops=line,
        medianprops=line,
        whiskerprops=line,
        capprops=line,
    )
    return None


def numbers(values: object) -> NDArray[np.float64]:
    """The values of a trace, in any shape; None is a gap."""
    if isinstance(values, Mapping):  # plotly's way to write an array
        kind, shape = np.dtype(str(values["dtype"])), str(values.get("shape") or "-1")
        found = np.frombuffer(base64.b64decode(str(values["bdata"])), kind)
        return found.reshape([int(size) for size in shape.split(",")]).astype(np.float64)
    if isinstance(values, list | tuple):
        return np.array([number(value) for value in values], np.float64)
    return np.asarray([] if values is None else values, np.float64)


def value_per_point(value: object, count: int) -> list[object]:
    """One value for each of so many points."""
    return list(value) if isinstance(value, list | tuple) else [value] * count


DRAW_BY_TYPE: Mapping[str, Callable[["Axes", JsonObject], "Artist | None"]] = {
    "scatter": draw_scatter,
    "heatmap": draw_heatmap,
    "bar": draw_bar,
    "box": draw_box,
}
