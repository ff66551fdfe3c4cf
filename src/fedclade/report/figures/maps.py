"""Maps of clients: near are those whose data are alike. Coloured by what was found, and by what was planted."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.discovery import Discovery, discovery_of
from fedclade.report.figures.graph import add_points
from fedclade.report.figures.layout import blank
from fedclade.report.figures.panels import side_by_side
from fedclade.report.story import Facts, Story

if TYPE_CHECKING:
    import plotly.graph_objects as go


def client_map(story: Story) -> "go.Figure | None":
    """A mark for each client, placed by the distances between them."""
    return map_of(story.discoveries()[-1][1], story.planted()) if story.discoveries() else None


def map_of(facts: Facts, planted: dict[str, int]) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    found = discovery_of(facts)
    return two_maps(found, found.places, planted) if found.places.size else None


def sketch_map(story: Story) -> "go.Figure | None":
    """A mark for each point that a client sent: embedded by UMAP, or their first two principal components."""
    if not story.discoveries():
        return None
    found = discovery_of(story.discoveries()[-1][1])
    if not found.sketches:
        return None
    owners = [client for client, points in zip(found.clients, found.sketches, strict=True) for _ in points]
    places = np.concatenate([points[:, :2] for points in found.sketches])
    return two_maps(found, places, story.planted(), owners)


def two_maps(
    found: Discovery,
    places: NDArray[np.float64],
    planted: dict[str, int],
    owners: list[str] | None = None,
) -> "go.Figure":
    """One map, or two side by side where the planted groups are known."""
    shown = found if owners is None else replace(found, clients=tuple(owners))
    mine = {client: found.groups.get(client, -1) for client in found.clients}
    truth = {client: planted.get(client, -1) for client in found.clients}
    legend = {"orientation": "h", "y": -0.24, "x": 0}
    if not planted:
        figure = blank(460, legend=legend)
        add_points(figure, shown, places, mine, "", "group")
        axes = [""]
    else:
        figure = side_by_side(2, 480, ["as found", "as planted"], legend=legend)
        add_points(figure, shown, places, mine, "", "found")
        add_points(figure, shown, places, truth, "2", "planted")
        axes = ["", "2"]
    for axis in axes:
        figure.update_layout(
            {f"xaxis{axis}": {"title": "first direction"}, f"yaxis{axis}": {"title": "second direction"}}
        )
    return figure
