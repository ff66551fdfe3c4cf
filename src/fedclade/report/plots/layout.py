"""What all plots have in common: how they look, and names that are shown as text."""

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.core.task import MetricKind
from fedclade.report.palette import GREY, GRID_GREY, INK, WHITE

if TYPE_CHECKING:
    import plotly.graph_objects as go

FONT = "system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
MAX_NAME_LENGTH = 28  # characters of a name that a figure shows
MAX_LABELLED = 40  # with more clients than these on an axis their names could not be read: positions stand instead
HEIGHT = 420  # pixels


def empty_figure(height: int = HEIGHT, **layout: object) -> "go.Figure":
    """An empty figure in the style of all plots."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": GRID_GREY,
        "linecolor": GREY,
        "showline": False,
        "zeroline": False,
        "ticks": "outside",
        "automargin": True,
    }
    style = go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": INK},
            "paper_bgcolor": WHITE,
            "plot_bgcolor": WHITE,
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {"align": "left"},
        }
    )
    margin = {"l": 60, "r": 24, "t": 36, "b": 56}
    return go.Figure(layout={"template": style, "height": height, "margin": margin, **layout})


def safe_name(name: object, max_length: int = MAX_NAME_LENGTH) -> str:
    """A name as a figure may show it: plotly reads a little HTML, and a client may be called anything."""
    text = "".join(letter if letter.isprintable() else "?" for letter in str(name))
    if len(text) > max_length:  # long names often begin alike: both ends stay
        end = (max_length - 1) // 2
        text = text[: max_length - 1 - end] + "…" + text[-end:]
    return html.escape(text, quote=False)


def long_name(name: object) -> str:
    """The same where there is more room: in the text of a mark that a reader points at."""
    return safe_name(name, 200)


def client_axis(clients: Sequence[str], max_length: int = MAX_NAME_LENGTH) -> dict[str, object]:
    """Ticks of an axis along which clients stand: their names if these can be read, else how many there are."""
    if len(clients) > MAX_LABELLED:
        return {"title": f"{len(clients):,} clients"}
    return {
        "tickvals": list(range(len(clients))),
        "ticktext": [safe_name(name, max_length) for name in clients],
        "tickfont": {"size": 10},
    }


def add_shapes(figure: "go.Figure", shapes: Sequence[dict[str, object]]) -> "go.Figure":
    """Add shapes all at once: plotly checks every earlier one again whenever one is added."""
    figure.layout.shapes = (*figure.layout.shapes, *shapes)
    return figure


def slider(rounds: Sequence[int], pad: int = 40, traces: Sequence[int] | None = None) -> dict[str, object]:
    """A slider that shows the trace of one round at a time, of all traces or of these; it begins with the last."""
    steps = [
        {
            "label": f"round {round_}",
            "method": "restyle",
            "args": [
                {"visible": [other == step for other in range(len(rounds))]},
                *([] if traces is None else [traces]),
            ],
        }
        for step, round_ in enumerate(rounds)
    ]
    return {"active": len(rounds) - 1, "steps": steps, "pad": {"t": pad}, "currentvalue": {"visible": False}}


def metric_numbers(values: Sequence[float], kind: MetricKind) -> list[float]:
    """Values of a metric as a figure shows them: shares as percents."""
    if kind.unit == "share":
        return percent(values)
    return [float(f"{value:.6g}") for value in values]


def metric_axis(kind: MetricKind, of: str = "") -> str:
    """The title of an axis with such values, perhaps of somebody."""
    return kind.label + (f" {of}" if of else "") + (", %" if kind.unit == "share" else "")


def hover_form(kind: MetricKind) -> str:
    """How plotly shows a value on an axis y that a reader points at."""
    return "%{y:.1f} %" if kind.unit == "share" else "%{y:.4g}"


def percent(values: Sequence[float]) -> list[float]:
    """Shares as percents, with digits enough for a figure."""
    found: list[float] = np.round(100 * np.asarray(values, np.float64), 3).tolist()
    return found
