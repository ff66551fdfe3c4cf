"""Which clients learn from each other, as a graph (FLT figure 2)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.discovery import Discovery, discovery_of
from fedclade.report.palette import EDGE_GREY, group_colour, group_mark
from fedclade.report.plots.layout import empty_figure, long_name
from fedclade.report.run_data import JsonObject, RunData

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_EDGES = 3000  # of more, only those to the nearest of each client
NEAREST = 5


def relatedness_graph(run: RunData) -> "go.Figure | None":
    """A node for each client, in a circle for each group, and a line for each pair of relatives."""
    return graph_plot(run.discoveries()[-1][1]) if run.discoveries() else None


def graph_plot(facts: JsonObject) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    found = discovery_of(facts)
    if not found.adjacency.size or found.bins:
        return None
    places = circle_layout(found)
    figure = empty_figure(520, legend={"orientation": "h", "y": -0.05, "x": 0})
    one, other = graph_edges(found)
    lines = np.full((3 * len(one), 2), np.nan)
    lines[0::3], lines[1::3] = places[one], places[other]
    figure.add_scatter(
        x=lines[:, 0],
        y=lines[:, 1],
        mode="lines",
        line={"color": EDGE_GREY, "width": 0.8},
        opacity=0.5 if len(one) < 500 else 0.25,
        hoverinfo="skip",
        showlegend=False,
    )
    add_points(figure, found, places, {client: found.groups.get(client, -1) for client in found.clients}, "", "group")
    figure.update_xaxes(visible=False)
    return figure.update_yaxes(visible=False, scaleanchor="x")


def graph_edges(found: Discovery) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of relatives, each once; of very many, those to the nearest of each client."""
    related = np.triu(np.maximum(found.adjacency, found.adjacency.T), 1) > 0
    if related.sum() > MAX_EDGES:
        far = np.where(related | related.T, found.distances, np.inf)
        near = np.zeros_like(related)
        np.put_along_axis(near, np.argsort(far, axis=1)[:, :NEAREST], True, axis=1)
        related &= near | near.T
    one, other = np.nonzero(related)
    return one, other


def circle_layout(found: Discovery) -> NDArray[np.float64]:
    """(clients, 2): every group a circle, as wide as it has members, the circles around a larger one."""
    members: dict[int, list[int]] = {}
    for row in found.row_order:
        members.setdefault(found.groups.get(found.clients[row], -1), []).append(row)
    radii = {group: 0.0 if len(rows) == 1 else max(0.6, len(rows) / 8) for group, rows in members.items()}
    room = sum(2 * radius + 1.2 for radius in radii.values())
    ring = 0.0 if len(members) == 1 else max(room / (2 * np.pi), max(radii.values()) + 0.6)
    places = np.zeros((len(found.clients), 2))
    angle = 0.0
    for group, rows in members.items():
        share = np.pi * (2 * radii[group] + 1.2) / room
        centre = ring * np.array([np.cos(angle + share), np.sin(angle + share)])
        turn = 2 * np.pi * np.arange(len(rows)) / len(rows)
        places[rows] = centre + radii[group] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        angle += 2 * share
    return places


def add_points(
    figure: "go.Figure", found: Discovery, places: NDArray[np.float64], groups: dict[str, int], axis: str, word: str
) -> None:
    """A mark for each client, in the colour of its group; a line of the legend for each group."""
    size = 9 if len(found.clients) <= 100 else 6  # pixels
    for group in sorted(set(groups.values())):
        rows = [row for row, client in enumerate(found.clients) if groups.get(client) == group]
        figure.add_scatter(
            x=places[rows, 0],
            y=places[rows, 1],
            mode="markers",
            name=f"{word} {group}" if group >= 0 else "no group",
            marker={"color": group_colour(group), "symbol": group_mark(group), "size": size},
            text=[long_name(found.clients[row]) for row in rows],
            hovertemplate="%{text}<extra></extra>",
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
            showlegend=len(set(groups.values())) <= 12,
        )
