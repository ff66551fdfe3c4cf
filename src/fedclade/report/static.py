"""Plots as files, PNG, SVG or PDF: drawn by matplotlib from the same plotly figures that pages show.

Only what our plots are made of is drawn: lines and marks, heat maps, bars, boxes, shapes and words. A slider becomes
panels side by side. Names are shown as text: nothing in them is read as mathematics.
"""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fedclade.core import InputError
from fedclade.report.canvas import PAGE_WIDTH, add_grid, drawing_settings, new_figure, panel_figure
from fedclade.report.palette import BLACK
from fedclade.report.plots import Plot, draw_plots
from fedclade.report.run_data import JsonObject, as_list, mapping, number, read_run
from fedclade.report.traces import Handles, draw_trace, numbers
from fedclade.store.run_folder import RunFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
PIXELS_PER_INCH = 96  # of a page
DOTS_PER_INCH = 200  # of a PNG
PANELS_PER_ROW = 4


def write_plots(folders: Sequence[RunFolder], out: Path, file_format: str = "png") -> list[Path]:
    """Write a file for each plot of these runs, under its name."""
    check_format(file_format)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return [
            write_plot(each, out / f"{each.name}.{file_format}")
            for each in draw_plots([read_run(folder) for folder in folders])
        ]
    except OSError as error:
        raise InputError("the figures cannot be written", where=str(out), got=error.strerror or str(error)) from None


def check_format(file_format: str) -> None:
    """Raise an error unless plots can be written in this format."""
    if file_format not in FORMATS:
        raise InputError(
            "a figure of this kind cannot be made", where="--format", got=file_format, need=", ".join(FORMATS)
        )


def write_plot(plot: Plot, path: Path) -> Path:
    """Write one plot as a file, in the format that its ending names."""
    with drawing_settings():
        figure = to_matplotlib(plot.figure.to_plotly_json())
        figure.savefig(path, dpi=DOTS_PER_INCH, bbox_inches="tight", pad_inches=0.05)
    return path


def to_matplotlib(plotly: JsonObject) -> "Figure":
    """The same figure, by matplotlib."""
    layout = mapping(plotly.get("layout"))
    traces = [mapping(trace) for trace in as_list(plotly.get("data"))]
    if steps := slider_steps(layout, traces):
        figure, panels = panel_figure(len(steps), PANELS_PER_ROW, 2.3, 0.3)
        for axes, (title, shown) in zip(panels, steps, strict=True):
            draw_panel(axes, layout, [*shown], "", small=True)
            axes.set_title(title, fontsize=9)
        return figure
    figure = new_figure(PAGE_WIDTH, number(layout.get("height"), 420.0) / PIXELS_PER_INCH)
    names = sorted({str(trace.get("xaxis") or "x")[1:] for trace in traces})
    stacked = len(names) > 1 and "matches" in mapping(layout.get("xaxis2"))
    grid = figure.subplots(len(names) if stacked else 1, 1 if stacked else len(names), squeeze=False, sharex=stacked)
    handles: Handles = {}
    for axes, name in zip(grid.ravel(), names, strict=True):
        mine = [trace for trace in traces if str(trace.get("xaxis") or "x")[1:] == name]
        for label, artist in draw_panel(axes, layout, mine, name).items():
            handles.setdefault(label, artist)
    draw_legend(figure, handles)
    if above := mapping(layout.get("title")).get("text"):
        figure.suptitle(plain_text(above), fontsize=9)
    return figure


def slider_steps(layout: JsonObject, traces: Sequence[JsonObject]) -> list[tuple[str, list[JsonObject]]]:
    """What a slider shows at each of its steps; empty if there is none, or if it leaves some traces as they are."""
    found: list[tuple[str, list[JsonObject]]] = []
    for slider in map(mapping, as_list(layout.get("sliders"))):
        for step in map(mapping, as_list(slider.get("steps"))):
            shown = as_list(mapping((as_list(step.get("args")) or [None])[0]).get("visible"))
            if len(shown) != len(traces):
                return []
            chosen = [{**trace, "visible": True} for trace, there in zip(traces, shown, strict=True) if there]
            found.append((plain_text(step.get("label")), [*chosen]))
    return found


def draw_panel(
    axes: "Axes", layout: JsonObject, traces: Sequence[JsonObject], name: str, *, small: bool = False
) -> Handles:
    """Draw one panel with its axes, traces, shapes and words; returns what a legend has to name."""
    from matplotlib.ticker import MaxNLocator

    across, up = mapping(layout.get(f"xaxis{name}")), mapping(layout.get(f"yaxis{name}"))
    add_grid(axes)
    axes.set_axisbelow(True)
    handles: Handles = {}
    for trace in traces:
        if trace.get("visible") is not False:
            handles |= draw_trace(axes, trace)
    if all(float(place).is_integer() for trace in traces for place in numbers(trace.get("x")).ravel()):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    set_axis(axes, "x", across, small)
    set_axis(axes, "y", up, small)
    if up.get("scaleanchor"):
        axes.set_aspect("equal", adjustable="box")
    if across.get("visible") is False and up.get("visible") is False:
        axes.set_axis_off()
    for shape in map(mapping, as_list(layout.get("shapes"))):
        draw_shape(axes, shape, name)
    for note in map(mapping, as_list(layout.get("annotations"))):
        draw_note(axes, note, name, layout)
    return handles


def set_axis(axes: "Axes", which: Literal["x", "y"], axis: JsonObject, small: bool) -> None:
    """Set title, ticks, range and direction of an axis."""
    lines = getattr(axes, f"{which}axis")
    title = axis.get("title")
    text = plain_text(mapping(title).get("text") if isinstance(title, Mapping) else title)
    if text and not small:
        lines.set_label_text(text)
    ticks = as_list(axis.get("tickvals"))
    if axis.get("showticklabels") is False or small:
        axes.tick_params(axis=which, bottom=False, labelbottom=False, left=False, labelleft=False)
    elif ticks:
        words = [plain_text(each) for each in as_list(axis.get("ticktext"))]
        turned = {"rotation": 90} if axis.get("tickangle") == 90 else {}
        lines.set_ticks([number(each) for each in ticks], words, fontsize=7 if len(ticks) > 12 else 9, **turned)
    span = as_list(axis.get("range"))
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


def draw_shape(axes: "Axes", shape: JsonObject, name: str) -> None:
    """Draw a line or a frame; a line over the whole page goes over every panel."""
    from matplotlib.patches import Rectangle

    line = mapping(shape.get("line"))
    x0, x1, y0, y1 = (number(shape.get(key)) for key in ("x0", "x1", "y0", "y1"))
    colour, width = str(line.get("color", BLACK)), 0.75 * number(line.get("width"), 1.0)
    dashed = "--" if line.get("dash") else "-"
    over = str(shape.get("yref", "y"))
    if shape.get("type") == "rect":
        if str(shape.get("xref", "x")) == f"x{name}":
            frame = Rectangle((x0, y0), x1 - x0, y1 - y0, edgecolor=colour, linewidth=width, fill=False, clip_on=False)
            axes.add_patch(frame)
    elif over == "paper":
        axes.axvline(x0, linestyle=dashed, color=colour, linewidth=width)
    elif over == f"y{name}":
        axes.axhline(y0, linestyle=dashed, color=colour, linewidth=width)


def draw_note(axes: "Axes", note: JsonObject, name: str, layout: JsonObject) -> None:
    """Draw words in a panel, or the title above it."""
    text = plain_text(note.get("text"))
    over_x, over_y = str(note.get("xref", "x")), str(note.get("yref", "y"))
    if over_x == over_y == "paper":
        domain_x = as_list(mapping(layout.get(f"xaxis{name}")).get("domain")) or [0.0, 1.0]
        domain_y = as_list(mapping(layout.get(f"yaxis{name}")).get("domain")) or [0.0, 1.0]
        inside = number(domain_x[0]) <= number(note.get("x")) <= number(domain_x[1])
        if inside and abs(number(note.get("y")) - number(domain_y[1])) < 1e-6:
            axes.set_title(text, fontsize=9, loc="left" if note.get("xanchor") == "left" else "center")
        return
    if over_y != f"y{name}":
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


def draw_legend(figure: "Figure", handles: Handles) -> None:
    """Draw a legend for all panels below the figure, each name once."""
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


def plain_text(text: object) -> str:
    """Text without plotly's markup, as a page shows it."""
    return "" if text is None else html.unescape(str(text).replace("<br>", "\n"))
