"""Who is related to whom (FLT figures 2, 3 and 6), and how that comes about while models are trained (figure 7)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.colours import SCALE, group_colour, group_mark
from fedclade.report.discovery import Discovery, discovery_of
from fedclade.report.figures.layout import LABELLED, blank, plain, positions, whole
from fedclade.report.figures.panels import side_by_side
from fedclade.report.story import Facts, Story

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_ROWS = 200  # of a matrix: more are binned
MOST_COMPARED = 2000  # clients, before they are binned: of more, every second or third one
MOST_STEPS = 12  # of a slider
MOST_EDGES = 3000  # of a graph; of more, those to everybody's nearest
NEAREST = 5


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
        yaxis={**positions(found.clients), "autorange": "reversed"},
        xaxis2=across(names),
        yaxis2={**positions(names), "autorange": "reversed"},
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
    names = [plain(client) for client in clients]
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


def relatedness_over_rounds(story: Story) -> "go.Figure | None":
    """Who has the same model as whom, round by round; clients stand by their planted group where that is known."""
    import plotly.graph_objects as go

    by_round = {round_: story.groups_after(round_) for round_ in story.evaluated_rounds}
    steps = changing(by_round)
    if len(steps) < 2:
        return None
    planted = story.planted()
    last = by_round[max(by_round)]
    known = planted if set(last) <= set(planted) else last
    clients = sorted(last, key=lambda client: (known[client], client))
    clients = clients[:: -(-len(clients) // MOST_COMPARED)]
    figure = blank(560, showlegend=False)
    for round_ in steps:
        labels = np.array([by_round[round_].get(client, -1 - place) for place, client in enumerate(clients)])
        together = binned(np.equal.outer(labels, labels))
        figure.add_trace(
            go.Heatmap(
                z=together,
                colorscale=SCALE,
                zmin=0,
                zmax=100 if together.max() > 1 else 1,
                showscale=False,
                visible=round_ == steps[-1],
                text=pairs(clients),
                hovertemplate="%{text}<extra></extra>" if len(clients) <= LABELLED else None,
                hoverinfo=None if len(clients) <= LABELLED else "skip",
                name=f"round {round_}",
            )
        )
    rows = len(figure.data[0].z)
    edges = edges_of([known[client] for client in clients])
    bordered(figure, [edge * rows / len(clients) - 0.5 for edge in edges], rows, "")
    figure.update_layout(sliders=[slider([f"round {round_}" for round_ in steps])])
    ticks = (
        positions(clients) if rows == len(clients) else {"title": f"{len(clients):,} clients", "showticklabels": False}
    )
    figure.update_layout(xaxis=across(clients), yaxis={**ticks, "autorange": "reversed"})
    return square(figure, [""])


def changing(by_round: dict[int, dict[str, int]]) -> list[int]:
    """The rounds after which groups were others than before, and the last one; some of them if they are many."""
    found: list[int] = []
    before: frozenset[frozenset[str]] | None = None
    for round_ in sorted(by_round):
        members: dict[int, set[str]] = {}
        for client, group in by_round[round_].items():
            members.setdefault(group, set()).add(client)
        now = frozenset(frozenset(each) for each in members.values())
        if now != before:
            found.append(round_)
        before = now
    if len(found) > 1 and found[-1] != max(by_round):
        found.append(max(by_round))
    if len(found) > MOST_STEPS:
        found = [found[place] for place in np.unique(np.linspace(0, len(found) - 1, MOST_STEPS).round().astype(int))]
    return found


def binned(together: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """0 and 1; of more rows than can be seen, the percent of pairs in each bin."""
    if len(together) <= MOST_ROWS:
        return together.astype(np.uint8)
    starts = np.linspace(0, len(together), MOST_ROWS, endpoint=False).astype(int)
    sizes = np.diff([*starts, len(together)])
    sums = np.add.reduceat(np.add.reduceat(together.astype(np.float64), starts, axis=0), starts, axis=1)
    found: NDArray[np.uint8] = np.round(100 * sums / np.outer(sizes, sizes)).astype(np.uint8)
    return found


def slider(labels: Sequence[str]) -> dict[str, object]:
    """A slider that shows one trace of a figure at a time; it begins with the last."""
    steps = [
        {
            "label": plain(label),
            "method": "restyle",
            "args": [{"visible": [other == step for other in range(len(labels))]}],
        }
        for step, label in enumerate(labels)
    ]
    return {"active": len(labels) - 1, "steps": steps, "pad": {"t": 40}, "currentvalue": {"visible": False}}
