"""How many groups: what an imposed one does to the main metric (FLT figure 12), and how well each number separates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.discovery import discovery_of
from fedclade.report.naming import flat_settings
from fedclade.report.palette import BLUE, ORANGE, method_colours, method_marks
from fedclade.report.plots.layout import empty_figure, metric_axis, metric_numbers, safe_name
from fedclade.report.run_data import JsonObject, RunData, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

GROUP_COUNT_SETTINGS = ("method.groups", "method.clusters")  # how many groups there are


def imposed_groups(runs: Sequence[RunData]) -> "go.Figure | None":
    """The final metric against the number of groups that was imposed on a method; filled: the number that it found."""
    imposed: dict[str, dict[int, list[float]]] = {}
    found: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        asked = flat_settings(run.experiment_toml)
        count = next((int(asked[key]) for key in GROUP_COUNT_SETTINGS if asked.get(key, "").isdigit()), None)
        evaluations = [event for _, event in run.evaluations() if event.value is not None]
        if count is None or not evaluations or run.metric != runs[0].metric:
            continue
        value = number(evaluations[-1].value)
        if count:
            imposed.setdefault(run.method, {}).setdefault(count, []).append(value)
        else:
            found.setdefault(run.method, []).append((number(evaluations[-1].group_count), value))
    if not any(len(by_count) > 1 for by_count in imposed.values()):
        return None
    kind = runs[0].metric_kind()
    mean = "mean " if kind.unit == "share" else ""
    colours, marks = method_colours([*imposed, *found]), method_marks([*imposed, *found])
    figure = empty_figure(legend={"orientation": "h", "y": -0.22, "x": 0})
    for method, by_count in imposed.items():
        counts = sorted(by_count)
        means = metric_numbers([float(np.mean(by_count[count])) for count in counts], kind)
        spread = metric_numbers([float(np.std(by_count[count])) for count in counts], kind)
        figure.add_scatter(
            x=counts,
            y=means,
            error_y={"array": spread, "visible": any(spread)},
            mode="lines+markers",
            name=f"{safe_name(method)}, given",
            line={"color": colours[method], "width": 2},
            marker={"symbol": f"{marks[method]}-open", "size": 9},
        )
    for method, points in found.items():
        figure.add_scatter(
            x=[count for count, _ in points],
            y=metric_numbers([value for _, value in points], kind),
            mode="markers",
            name=f"{safe_name(method)}, found by itself",
            marker={"symbol": marks[method], "size": 12, "color": colours[method]},
        )
    figure.update_xaxes(title="number of groups", dtick=1 if max(map(max, imposed.values())) <= 20 else None)
    return figure.update_yaxes(title="final " + mean + metric_axis(kind, "of the clients"))


def silhouettes(run: RunData) -> "go.Figure | None":
    """The mean silhouette of the clients for each number of groups: 1 is far apart, 0 is none."""
    return silhouette_plot(run.discoveries()[-1][1]) if run.discoveries() else None


def silhouette_plot(facts: JsonObject) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    found = discovery_of(facts)
    if len(found.silhouettes) < 2:
        return None
    counts = sorted(found.silhouettes)
    best = max(counts, key=lambda count: found.silhouettes[count])
    figure = empty_figure(340, showlegend=False)
    values = [found.silhouettes[count] for count in counts]
    figure.add_scatter(x=counts, y=values, mode="lines+markers", line={"color": BLUE})
    figure.add_scatter(
        x=[best],
        y=[found.silhouettes[best]],
        mode="markers",
        marker={"size": 13, "color": ORANGE, "symbol": "circle-open", "line": {"width": 3}},
    )
    figure.update_xaxes(title="number of groups", rangemode="tozero")
    return figure.update_yaxes(title="mean silhouette", range=[-1.05 if min(values) < 0 else -0.05, 1.05])
