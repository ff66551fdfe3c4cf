"""Distances between clients, as they came and re-ordered by group (FLT figures 2, 3 and 6)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.discovery import discovery_of
from fedclade.report.palette import BLACK, COLOUR_SCALE, WHITE
from fedclade.report.plots.layout import MAX_LABELLED, add_shapes, client_axis, empty_figure, long_name
from fedclade.report.plots.panels import panels_in_row
from fedclade.report.run_data import JsonObject, RunData

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_SIDE_NAME_LENGTH = 16  # characters of a name: so many have room between two matrices


def relatedness_matrix(run: RunData) -> "go.Figure | None":
    """Distances between clients as they came, and re-ordered by the tree with a border around each group."""
    return matrix_plot(run.discoveries()[-1][1]) if run.discoveries() else None


def matrix_plot(facts: JsonObject) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    found = discovery_of(facts)
    if not found.distances.size:
        return None
    arranged = found.row_order
    groups = [found.groups.get(found.clients[row], -1) for row in arranged]
    if found.bins:
        figure = empty_figure(520, showlegend=False)
        draw_matrix(figure, found.distances, "", "distance between clients")
        ends = np.cumsum(found.bins)
        borders = [int(np.searchsorted(ends, edge)) + 0.5 for edge in group_edges(groups)]
        title = f"{sum(found.bins):,} clients in {len(found.bins)} bins, re-ordered"
        figure.update_xaxes(title=title, showticklabels=False, ticks="")
        figure.update_yaxes(title="the same", showticklabels=False, ticks="", autorange="reversed")
        return make_square(add_group_borders(figure, borders, len(found.bins), ""), [""])
    names = [found.clients[row] for row in arranged]
    figure = panels_in_row(2, 500, ["as they came", "re-ordered by group"])
    draw_matrix(figure, found.distances, "", "", found.clients)
    draw_matrix(figure, found.distances[np.ix_(arranged, arranged)], "2", "distance", names)
    figure.update_layout(
        xaxis=unlabelled_axis(found.clients),
        yaxis={**client_axis(found.clients, MAX_SIDE_NAME_LENGTH), "autorange": "reversed"},
        xaxis2=unlabelled_axis(names),
        yaxis2={**client_axis(names, MAX_SIDE_NAME_LENGTH), "autorange": "reversed"},
    )
    add_group_borders(figure, [edge - 0.5 for edge in group_edges(groups)], len(names), "2")
    return make_square(figure, ["", "2"])


def unlabelled_axis(clients: Sequence[str]) -> dict[str, object]:
    """The other axis: the same clients in the same order, so their names stand once."""
    return {
        "title": "the same clients" if len(clients) <= MAX_LABELLED else f"{len(clients):,} clients",
        "showticklabels": False,
        "ticks": "",
    }


def draw_matrix(
    figure: "go.Figure", values: NDArray[np.float64], axis: str, unit: str, clients: Sequence[str] = ()
) -> None:
    """A matrix as a heat map: near is bright."""
    figure.add_heatmap(
        z=values.astype(np.float32),
        colorscale=COLOUR_SCALE,
        reversescale=True,
        zmin=0,
        zmax=float(values.max()) or 1.0,
        showscale=bool(unit),
        colorbar={"title": {"text": unit, "side": "right"}, "thickness": 12, "outlinewidth": 0},
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
        text=pair_names(clients),
        hovertemplate=("%{text}: " if 0 < len(clients) <= MAX_LABELLED else "") + "%{z:.3g}<extra></extra>",
    )


def pair_names(clients: Sequence[str]) -> list[list[str]] | None:
    """The two clients of each cell; None where there are too many for names on the axis."""
    names = [long_name(client) for client in clients]
    return [[f"{one}, {other}" for other in names] for one in names] if 0 < len(names) <= MAX_LABELLED else None


def group_edges(groups: Sequence[int]) -> list[int]:
    """Where one group ends and the next begins, along clients in the order of their groups."""
    return [place for place in range(1, len(groups)) if groups[place] != groups[place - 1]]


def add_group_borders(figure: "go.Figure", borders: Sequence[float], rows: int, axis: str) -> "go.Figure":
    """A white square around every group, with a black one around that: it shows on every colour."""
    squares = [
        {
            **{"type": "rect", "x0": low, "x1": high, "y0": low, "y1": high, "xref": f"x{axis}", "yref": f"y{axis}"},
            "line": {"color": colour, "width": width},
        }
        for low, high in zip([-0.5, *borders], [*borders, rows - 0.5], strict=True)
        for colour, width in ((BLACK, 3), (WHITE, 1))
    ]
    return add_shapes(figure, squares)


def make_square(figure: "go.Figure", axes: Sequence[str]) -> "go.Figure":
    """Cells as wide as they are high."""
    for axis in axes:
        figure.update_layout({f"xaxis{axis}": {"constrain": "domain", "showgrid": False}})
        figure.update_layout({f"yaxis{axis}": {"scaleanchor": f"x{axis}", "constrain": "domain", "showgrid": False}})
    return figure
