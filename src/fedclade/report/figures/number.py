"""How many groups: what an imposed number does to the accuracy (FLT figure 12), and how well each number separates."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.colours import method_colours, method_marks
from fedclade.report.discovery import discovery_of
from fedclade.report.figures.layout import blank, percent, plain
from fedclade.report.naming import flat
from fedclade.report.story import Facts, Story, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

IMPOSED = ("method.groups", "method.clusters")  # settings that say how many groups there are


def imposed_groups(stories: Sequence[Story]) -> "go.Figure | None":
    """Final accuracy against the number of groups that a method was told; filled: the number that it found itself."""
    import plotly.graph_objects as go

    told: dict[str, dict[int, list[float]]] = {}
    found: dict[str, list[tuple[float, float]]] = {}
    for story in stories:
        asked = flat(story.asked)
        count = next((int(asked[key]) for key in IMPOSED if asked.get(key, "").isdigit()), None)
        evaluations = [event for _, event in story.evaluations() if event.get("accuracy") is not None]
        if count is None or not evaluations:
            continue
        accuracy = number(evaluations[-1]["accuracy"])
        if count:
            told.setdefault(story.method, {}).setdefault(count, []).append(accuracy)
        else:
            found.setdefault(story.method, []).append((number(evaluations[-1].get("group_count")), accuracy))
    if not any(len(by_count) > 1 for by_count in told.values()):
        return None
    colours, marks = method_colours([*told, *found]), method_marks([*told, *found])
    figure = blank(legend={"orientation": "h", "y": -0.22, "x": 0})
    for method, by_count in told.items():
        counts = sorted(by_count)
        means = percent([float(np.mean(by_count[count])) for count in counts])
        spread = percent([float(np.std(by_count[count])) for count in counts])
        figure.add_trace(
            go.Scatter(
                x=counts,
                y=means,
                error_y={"array": spread, "visible": any(spread)},
                mode="lines+markers",
                name=f"{plain(method)}, told",
                line={"color": colours[method], "width": 2},
                marker={"symbol": f"{marks[method]}-open", "size": 9},
            )
        )
    for method, points in found.items():
        figure.add_trace(
            go.Scatter(
                x=[count for count, _ in points],
                y=percent([accuracy for _, accuracy in points]),
                mode="markers",
                name=f"{plain(method)}, found by itself",
                marker={"symbol": marks[method], "size": 12, "color": colours[method]},
            )
        )
    figure.update_xaxes(title="number of groups", dtick=1 if max(map(max, told.values())) <= 20 else None)
    return figure.update_yaxes(title="final mean accuracy of the clients, %")


def silhouettes(story: Story) -> "go.Figure | None":
    """The mean silhouette of the clients for each number of groups: 1 is far apart, 0 is none."""
    return silhouettes_of(story.discoveries()[-1][1]) if story.discoveries() else None


def silhouettes_of(facts: Facts) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    import plotly.graph_objects as go

    found = discovery_of(facts)
    if len(found.silhouettes) < 2:
        return None
    counts = sorted(found.silhouettes)
    best = max(counts, key=lambda count: found.silhouettes[count])
    figure = blank(340, showlegend=False)
    figure.add_trace(
        go.Scatter(
            x=counts, y=[found.silhouettes[count] for count in counts], mode="lines+markers", line={"color": "#0072B2"}
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[best],
            y=[found.silhouettes[best]],
            mode="markers",
            marker={"size": 13, "color": "#D55E00", "symbol": "circle-open", "line": {"width": 3}},
        )
    )
    figure.update_xaxes(title="number of groups", rangemode="tozero")
    return figure.update_yaxes(
        title="mean silhouette", range=[-1.05, 1.05] if min(found.silhouettes.values()) < 0 else [-0.05, 1.05]
    )
