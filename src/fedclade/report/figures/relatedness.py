"""Who is related to whom: distances between clients, as they came and re-ordered (FLT figures 2, 3 and 6)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.colours import SCALE
from fedclade.report.discovery import discovery_of
from fedclade.report.figures.layout import LABELLED, blank, positions, whole
from fedclade.report.figures.panels import side_by_side
from fedclade.report.story import Facts, Story

if TYPE_CHECKING:
    import plotly.graph_objects as go

LONGEST_BESIDE = 16  # characters of a name: so many have room between two matrices


def relatedness_matrix(story: Story) -> "go.Figure | None":
    """Distances between clients as they came, and re-ordered by the tree with a border around each group."""
    return matrix_of(story.discoveries()[-1][1]) if story.discoveries() else None


def matrix_of(facts: Facts) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    found = discovery_of(facts)
    if not found.distances.size:
        return None
    arranged = found.arranged
    groups = [found.groups.get(found.clients[row], -1) for row in arranged]
    if found.bins:
        figure = blank(520, showlegend=False)
        draw_matrix(figure, found.distances, "", "distance between clients")
        ends = np.cumsum(found.bins)
        borders = [int(np.searchsorted(ends, edge)) + 0.5 for edge in edges_of(groups)]
        figure.update_xaxes(
            title=f"{sum(found.bins):,} clients in {len(found.bins)} bins, re-ordered", showticklabels=False, ticks=""
        )
        figure.update_yaxes(title="the same", showticklabels=False, ticks="", autorange="reversed")
        return square(bordered(figure, borders, len(found.bins), ""), [""])
    names = [found.clients[row] for row in arranged]
    figure = side_by_side(2, 500, ["as they came", "re-ordered by group"])
    draw_matrix(figure, found.distances, "", "", found.clients)
    draw_matrix(figure, found.distances[np.ix_(arranged, arranged)], "2", "distance", names)
    figure.update_layout(
        xaxis=across(found.clients),
        yaxis={**positions(found.clients, LONGEST_BESIDE), "autorange": "reversed"},
        xaxis2=across(names),
        yaxis2={**positions(names, LONGEST_BESIDE), "autorange": "reversed"},
    )
    bordered(figure, [edge - 0.5 for edge in edges_of(groups)], len(names), "2")
    return square(figure, ["", "2"])


def across(clients: Sequence[str]) -> dict[str, object]:
    """The other axis: the same clients in the same order, so their names stand once."""
    return {
        "title": "the same clients" if len(clients) <= LABELLED else f"{len(clients):,} clients",
        "showticklabels": False,
        "ticks": "",
    }


def draw_matrix(
    figure: "go.Figure", values: NDArray[np.float64], axis: str, unit: str, clients: Sequence[str] = ()
) -> None:
    """A matrix as a heat map: near is bright."""
    import plotly.graph_objects as go

    figure.add_trace(
        go.Heatmap(
            z=values.astype(np.float32),
            colorscale=SCALE,
            reversescale=True,
            zmin=0,
            zmax=float(values.max()) or 1.0,
            showscale=bool(unit),
            colorbar={"title": {"text": unit, "side": "right"}, "thickness": 12, "outlinewidth": 0},
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
            text=pairs(clients),
            hovertemplate=("%{text}: " if 0 < len(clients) <= LABELLED else "") + "%{z:.3g}<extra></extra>",
        )
    )


def pairs(clients: Sequence[str]) -> list[list[str]] | None:
    """Who meets whom in each cell, for those few that have names on the axis."""
    names = [whole(client) for client in clients]
    return [[f"{one}, {other}" for other in names] for one in names] if 0 < len(names) <= LABELLED else None


def edges_of(groups: Sequence[int]) -> list[int]:
    """Where one group ends and the next begins, along clients in the order of their groups."""
    return [place for place in range(1, len(groups)) if groups[place] != groups[place - 1]]


def bordered(figure: "go.Figure", borders: Sequence[float], rows: int, axis: str) -> "go.Figure":
    """A white square around every group, with a black one around that: it shows on every colour."""
    for low, high in zip([-0.5, *borders], [*borders, rows - 0.5], strict=True):
        for colour, width in (("#000000", 3), ("#ffffff", 1)):
            figure.add_shape(
                type="rect",
                x0=low,
                x1=high,
                y0=low,
                y1=high,
                xref=f"x{axis}",
                yref=f"y{axis}",
                line={"color": colour, "width": width},
            )
    return figure


def square(figure: "go.Figure", axes: Sequence[str]) -> "go.Figure":
    """Cells as wide as they are high."""
    for axis in axes:
        figure.update_layout({f"xaxis{axis}": {"constrain": "domain", "showgrid": False}})
        figure.update_layout({f"yaxis{axis}": {"scaleanchor": f"x{axis}", "constrain": "domain", "showgrid": False}})
    return figure
