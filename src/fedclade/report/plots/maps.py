"""Maps of clients: those with similar data are near. Coloured by the groups found, and by the planted ones."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.discovery import Discovery, discovery_of
from fedclade.report.plots.graph import add_points
from fedclade.report.plots.layout import empty_figure
from fedclade.report.plots.panels import panels_in_row
from fedclade.report.run_data import JsonObject, RunData

if TYPE_CHECKING:
    import plotly.graph_objects as go


def client_map(run: RunData) -> "go.Figure | None":
    """A mark for each client, placed by the distances between them."""
    return map_plot(run.discoveries()[-1][1], run.planted_groups()) if run.discoveries() else None


def map_plot(facts: JsonObject, planted: dict[str, int]) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    found = discovery_of(facts)
    return two_maps(found, found.places, planted) if found.places.size else None


def sketch_map(run: RunData) -> "go.Figure | None":
    """A mark for each point that a client sent: embedded by UMAP, or their first two principal components."""
    if not run.discoveries():
        return None
    found = discovery_of(run.discoveries()[-1][1])
    if not found.sketches:
        return None
    owners = [client for client, points in zip(found.clients, found.sketches, strict=True) for _ in points]
    places = np.concatenate([points[:, :2] for points in found.sketches])
    return two_maps(found, places, run.planted_groups(), owners)


def two_maps(
    found: Discovery, places: NDArray[np.float64], planted: dict[str, int], owners: list[str] | None = None
) -> "go.Figure":
    """One map, or two side by side where the planted groups are known."""
    shown = found if owners is None else replace(found, clients=tuple(owners))
    mine = {client: found.groups.get(client, -1) for client in found.clients}
    truth = {client: planted.get(client, -1) for client in found.clients}
    legend = {"orientation": "h", "y": -0.24, "x": 0}
    if not planted:
        figure = empty_figure(460, legend=legend)
        add_points(figure, shown, places, mine, "", "group")
        axes = [""]
    else:
        figure = panels_in_row(2, 480, ["as found", "as planted"], legend=legend)
        add_points(figure, shown, places, mine, "", "found")
        add_points(figure, shown, places, truth, "2", "planted")
        axes = ["", "2"]
    across, up = {"title": "first direction"}, {"title": "second direction"}
    for axis in axes:
        figure.update_layout({f"xaxis{axis}": across, f"yaxis{axis}": up})
    return figure
