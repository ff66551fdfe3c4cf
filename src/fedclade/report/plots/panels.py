"""Figures with several panels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedclade.report.palette import WHITE
from fedclade.report.plots.layout import empty_figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

GAP = 0.12  # between panels, of the whole


def panels_in_row(count: int, height: int, titles: Sequence[str], **layout: object) -> "go.Figure":
    """So many panels from left to right, with axes x and y, x2 and y2, and a title above each."""
    figure = empty_figure(height, **layout)
    width = (1 - GAP * (count - 1)) / count
    for panel in range(count):
        number = str(panel + 1) if panel else ""
        low = panel * (width + GAP)
        across = {"domain": [low, low + width], "anchor": f"y{number}"}
        figure.update_layout({f"xaxis{number}": across, f"yaxis{number}": {"anchor": f"x{number}"}})
        add_title(figure, titles[panel], low + width / 2, 1.0)
    return copy_axis_style(figure, count)


def panels_in_column(count: int, height: int, titles: Sequence[str], **layout: object) -> "go.Figure":
    """So many panels from top to bottom over one axis x, with y, y2 and so on, and a title above each."""
    figure = empty_figure(height, **layout)
    tall = (1 - GAP * (count - 1)) / count
    for panel in range(count):
        number = str(panel + 1) if panel else ""
        high = 1 - panel * (tall + GAP)
        up = {"domain": [max(high - tall, 0), high], "anchor": f"x{number}"}
        across = {"anchor": f"y{number}", "matches": "x" if panel else None, "showticklabels": panel == count - 1}
        figure.update_layout({f"xaxis{number}": across, f"yaxis{number}": up})
        add_title(figure, titles[panel], 0.0, high, left=True)
    return copy_axis_style(figure, count)


def copy_axis_style(figure: "go.Figure", count: int) -> "go.Figure":
    """The template's axes are for x and y only: the others look like them."""
    style = figure.layout.template.layout
    for panel in range(2, count + 1):
        for axis, look in (("xaxis", style.xaxis), ("yaxis", style.yaxis)):
            figure.update_layout({f"{axis}{panel}": look.to_plotly_json()})
    return figure


def add_title(figure: "go.Figure", text: str, x: float, y: float, *, left: bool = False) -> None:
    """What stands above a panel."""
    figure.add_annotation(
        text=text,
        x=x,
        y=y,
        xref="paper",
        yref="paper",
        xanchor="left" if left else "center",
        yanchor="bottom",
        showarrow=False,
        bgcolor=WHITE,
    )
