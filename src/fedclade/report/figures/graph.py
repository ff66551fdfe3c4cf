"""Who learns from whom, as a graph (FLT figure 2)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.colours import group_colour, group_mark
from fedclade.report.discovery import Discovery, discovery_of
from fedclade.report.figures.layout import blank, whole
from fedclade.report.story import Facts, Story

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_EDGES = 3000  # of more, those to everybody's nearest
NEAREST = 5


def relatedness_graph(story: Story) -> "go.Figure | None":
    """Who learns from whom: a node for each client, in a circle for each group, a line for each pair of relatives."""
    return graph_of(story.discoveries()[-1][1]) if story.discoveries() else None


def graph_of(facts: Facts) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    import plotly.graph_objects as go

    found = discovery_of(facts)
    if not found.adjacency.size or found.bins:
        return None
    places = in_circles(found)
    figure = blank(520, legend={"orientation": "h", "y": -0.05, "x": 0})
    one, other = edges_in(found)
    lines = np.full((3 * len(one), 2), np.nan)
    lines[0::3], lines[1::3] = places[one], places[other]
    figure.add_trace(
        go.Scatter(
            x=lines[:, 0],
            y=lines[:, 1],
            mode="lines",
            line={"color": "#9aa1a8", "width": 0.8},
            opacity=0.5 if len(one) < 500 else 0.25,
            hoverinfo="skip",
            showlegend=False,
        )
    )
    add_points(figure, found, places, {client: found.groups.get(client, -1) for client in found.clients}, "", "group")
    for axis in ("xaxis", "yaxis"):
        figure.update_layout({axis: {"visible": False}})
    return figure.update_yaxes(scaleanchor="x")


def edges_in(found: Discovery) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of relatives, each once; of very many, those to everybody's nearest."""
    related = np.triu(np.maximum(found.adjacency, found.adjacency.T), 1) > 0
    if related.sum() > MOST_EDGES:
        far = np.where(related | related.T, found.distances, np.inf)
        near = np.zeros_like(related)
        np.put_along_axis(near, np.argsort(far, axis=1)[:, :NEAREST], True, axis=1)
        related &= near | near.T
    one, other = np.nonzero(related)
    return one, other


def in_circles(found: Discovery) -> NDArray[np.float64]:
    """(clients, 2): every group a circle, as wide as it has members, the circles around a larger one."""
    members: dict[int, list[int]] = {}
    for row in found.arranged:
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
    figure: "go.Figure",
    found: Discovery,
    places: NDArray[np.float64],
    groups: dict[str, int],
    axis: str,
    word: str,
) -> None:
    """A mark for each client, in the colour of its group; a line of the legend for each group."""
    import plotly.graph_objects as go

    for group in sorted(set(groups.values())):
        rows = [row for row, client in enumerate(found.clients) if groups.get(client) == group]
        figure.add_trace(
            go.Scatter(
                x=places[rows, 0],
                y=places[rows, 1],
                mode="markers",
                name=f"{word} {group}" if group >= 0 else "no group",
                marker={
                    "color": group_colour(group),
                    "symbol": group_mark(group),
                    "size": 9 if len(found.clients) <= 100 else 6,
                },
                text=[whole(found.clients[row]) for row in rows],
                hovertemplate="%{text}<extra></extra>",
                xaxis=f"x{axis}",
                yaxis=f"y{axis}",
                showlegend=len(set(groups.values())) <= 12,
            )
        )
