"""Figures for papers: PNG, SVG or PDF, drawn by matplotlib from the same plotly figures that pages show.

Only what our figures are made of is drawn: lines and marks, heat maps, bars, boxes, shapes and words. A slider becomes
panels side by side. Names stay names: nothing in them is read as mathematics.
"""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedclade.nouns import InputError
from fedclade.report.figures import Drawn, drawn
from fedclade.report.story import Facts, listed, mapping, number, read
from fedclade.report.traces import Handles, draw_trace, is_shown, numbers
from fedclade.runs.folder import RunFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
INCH = 96  # pixels
WIDTH = 8.5  # inches, of a page that is 816 pixels wide
DOTS = 200  # per inch, of a PNG
PANELS = 4  # side by side


def write_figures(folders: Sequence[RunFolder], into: Path, form: str = "png") -> list[Path]:
    """A file for each figure of these runs, under its name."""
    check_format(form)
    try:
        into.mkdir(parents=True, exist_ok=True)
        return [
            write_figure(each, into / f"{each.name}.{form}") for each in drawn([read(folder) for folder in folders])
        ]
    except OSError as wrong:
        raise InputError("the figures cannot be written", where=str(into), got=wrong.strerror or str(wrong)) from None


def check_format(form: str) -> None:
    """An error unless figures can be written in this form."""
    if form not in FORMATS:
        raise InputError("a figure of this kind cannot be made", where="--format", got=form, need=", ".join(FORMATS))


def write_figure(shown: Drawn, path: Path) -> Path:
    """One figure as a file, by its ending."""
    from matplotlib import rc_context

    # Words stay words in SVG and PDF, and a dollar stays a dollar.
    with rc_context({"svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9, "text.parse_math": False}):
        figure = drawn_by_matplotlib(shown.figure.to_plotly_json())
        figure.savefig(path, dpi=DOTS, bbox_inches="tight", pad_inches=0.05)
    return path


def drawn_by_matplotlib(plotly: Facts) -> "Figure":
    """The same figure, by matplotlib."""
    from matplotlib.figure import Figure

    layout = mapping(plotly.get("layout"))
    traces = [mapping(trace) for trace in listed(plotly.get("data"))]
    height = number(layout.get("height"), 420.0) / INCH
    if steps := sliding(layout, traces):
        rows = -(-len(steps) // PANELS)
        figure = Figure(figsize=(WIDTH, 2.3 * rows + 0.3), layout="constrained")
        panels = figure.subplots(rows, min(PANELS, len(steps)), squeeze=False).ravel()
        for axes in panels[len(steps) :]:
            axes.set_visible(False)
        for axes, (title, shown) in zip(panels, steps, strict=False):
            draw_panel(axes, layout, [*shown], "", small=True)
            axes.set_title(title, fontsize=9)
        return figure
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    names = sorted({str(trace.get("xaxis") or "x")[1:] for trace in traces})
    stacked = len(names) > 1 and "matches" in mapping(layout.get("xaxis2"))
    grid = figure.subplots(len(names) if stacked else 1, 1 if stacked else len(names), squeeze=False, sharex=stacked)
    handles: Handles = {}
    for axes, name in zip(grid.ravel(), names, strict=True):
        mine = [trace for trace in traces if str(trace.get("xaxis") or "x")[1:] == name]
        for label, artist in draw_panel(axes, layout, mine, name).items():
            handles.setdefault(label, artist)
    legend(figure, handles)
    if above := mapping(layout.get("title")).get("text"):
        figure.suptitle(worded(above), fontsize=9)
    return figure


def sliding(layout: Facts, traces: Sequence[Facts]) -> list[tuple[str, list[Facts]]]:
    """What a slider shows at each of its steps; empty if there is none, or if other traces stand beside it."""
    found: list[tuple[str, list[Facts]]] = []
    for slider in map(mapping, listed(layout.get("sliders"))):
        for step in map(mapping, listed(slider.get("steps"))):
            shown = listed(mapping((listed(step.get("args")) or [None])[0]).get("visible"))
            if len(shown) != len(traces):
                return []
            chosen: list[Facts] = [
                {**trace, "visible": True} for trace, there in zip(traces, shown, strict=True) if there
            ]
            found.append((worded(step.get("label")), chosen))
    return found


def draw_panel(axes: "Axes", layout: Facts, traces: Sequence[Facts], name: str, *, small: bool = False) -> Handles:
    """One panel: its axes, traces, shapes and words; and what a legend has to name."""
    from matplotlib.ticker import MaxNLocator

    across, up = mapping(layout.get(f"xaxis{name}")), mapping(layout.get(f"yaxis{name}"))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(visible=True, color="#e3e6e9", linewidth=0.6)
    axes.set_axisbelow(True)
    handles: Handles = {}
    for trace in traces:
        if is_shown(trace):
            handles |= draw_trace(axes, trace)
    if all(float(place).is_integer() for trace in traces for place in numbers(trace.get("x")).ravel()):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    for which, axis in (("x", across), ("y", up)):
        set_axis(axes, which, axis, small)
    if up.get("scaleanchor"):
        axes.set_aspect("equal", adjustable="box")
    if across.get("visible") is False and up.get("visible") is False:
        axes.set_axis_off()
    for shape in map(mapping, listed(layout.get("shapes"))):
        draw_shape(axes, shape, name)
    for note in map(mapping, listed(layout.get("annotations"))):
        draw_note(axes, note, name, layout)
    return handles


def set_axis(axes: "Axes", which: str, axis: Facts, small: bool) -> None:
    """Title, ticks, range and direction of an axis."""
    lines = getattr(axes, f"{which}axis")
    title = axis.get("title")
    text = worded(mapping(title).get("text") if isinstance(title, Mapping) else title)
    if text and not small:
        lines.set_label_text(text)
    ticks = listed(axis.get("tickvals"))
    if axis.get("showticklabels") is False or small:
        if which == "x":
            axes.tick_params(axis="x", bottom=False, labelbottom=False)
        else:
            axes.tick_params(axis="y", left=False, labelleft=False)
    elif ticks:
        words = [worded(each) for each in listed(axis.get("ticktext"))]
        turned = {"rotation": 90} if axis.get("tickangle") == 90 else {}
        lines.set_ticks([number(each) for each in ticks], words, fontsize=7 if len(ticks) > 12 else 9, **turned)
    span = listed(axis.get("range"))
    low_high = getattr(axes, f"get_{which}lim")()
    if len(span) == 2:
        low_high = (number(span[0]), number(span[1]))
    elif axis.get("rangemode") == "tozero":
        low_high = (min(0.0, low_high[0]), low_high[1])
    if axis.get("autorange") == "reversed" and low_high[0] < low_high[1]:
        low_high = low_high[::-1]
    getattr(axes, f"set_{which}lim")(*low_high)
    if axis.get("showgrid") is False:
        lines.grid(visible=False)


def draw_shape(axes: "Axes", shape: Facts, name: str) -> None:
    """A line or a frame; one that goes over the whole page goes over every panel."""
    from matplotlib.patches import Rectangle

    line = mapping(shape.get("line"))
    x0, x1, y0, y1 = (number(shape.get(key)) for key in ("x0", "x1", "y0", "y1"))
    colour, width = str(line.get("color", "black")), 0.75 * number(line.get("width"), 1.0)
    dashed = "--" if line.get("dash") else "-"
    over_x, over_y = str(shape.get("xref", "x")), str(shape.get("yref", "y"))
    if shape.get("type") == "rect":
        if over_x == f"x{name}":
            frame = Rectangle((x0, y0), x1 - x0, y1 - y0, edgecolor=colour, linewidth=width, fill=False, clip_on=False)
            axes.add_patch(frame)
    elif over_y == "paper":
        axes.axvline(x0, linestyle=dashed, color=colour, linewidth=width)
    elif over_y == f"y{name}":
        axes.axhline(y0, linestyle=dashed, color=colour, linewidth=width)


def draw_note(axes: "Axes", note: Facts, name: str, layout: Facts) -> None:
    """Words in a panel, or the title above it."""
    text = worded(note.get("text"))
    over_x, over_y = str(note.get("xref", "x")), str(note.get("yref", "y"))
    if over_x == over_y == "paper":
        domain_x = listed(mapping(layout.get(f"xaxis{name}")).get("domain")) or [0.0, 1.0]
        domain_y = listed(mapping(layout.get(f"yaxis{name}")).get("domain")) or [0.0, 1.0]
        inside = number(domain_x[0]) <= number(note.get("x")) <= number(domain_x[1])
        if inside and abs(number(note.get("y")) - number(domain_y[1])) < 1e-6:
            axes.set_title(text, fontsize=9, loc="left" if note.get("xanchor") == "left" else "center")
        return
    if over_y.removeprefix("y") != name and over_y != f"y{name}":
        return
    place = axes.get_yaxis_transform() if over_x == "paper" else axes.transData
    moved = (0.6 * number(note.get("xshift"), 0.0), 0.6 * number(note.get("yshift"), 0.0))
    sides = {"left": "left", "right": "right"}.get(str(note.get("xanchor")), "center")
    ups = {"top": "top", "bottom": "bottom"}.get(str(note.get("yanchor")), "center")
    axes.annotate(
        text,
        (number(note.get("x")), number(note.get("y"))),
        xycoords=place,
        xytext=moved,
        textcoords="offset points",
        ha=sides,
        va=ups,
        fontsize=8,
    )


def legend(figure: "Figure", handles: Handles) -> None:
    """A legend for all panels below the figure, each name once."""
    if not handles:
        return
    made = figure.legend(
        list(handles.values()),
        ["-"] * len(handles),  # a name that begins with an underscore would be left out
        loc="outside lower center",
        ncols=min(6, len(handles)),
        frameon=False,
    )
    for text, name in zip(made.get_texts(), handles, strict=True):
        text.set_text(name)


def worded(text: object) -> str:
    """Words that plotly would read, as they look."""
    if text is None:
        return ""
    return html.unescape(re.sub(r"<br>", "\n", str(text)))
