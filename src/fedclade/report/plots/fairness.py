"""Which clients gain and which are left behind: the main metric of every client, per method and per group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.core import ClientId
from fedclade.core.task import MetricKind
from fedclade.report.harm import harmed_by_run
from fedclade.report.naming import indices_by_label
from fedclade.report.palette import BLACK, GREY, SOFT, TRANSPARENT, group_colour, method_colours
from fedclade.report.plots.layout import empty_figure, hover_form, long_name, metric_axis, metric_numbers, safe_name
from fedclade.report.run_data import RunData, run_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_POINTS = 1000  # of a strip: of more only the box is drawn
MAX_NAMED = 8  # harmed clients that stand in the figure by name
MAX_GROUPS = 24  # boxes that can be read beside each other


def client_accuracy(runs: Sequence[RunData]) -> "go.Figure | None":
    """The final metric of every client, a strip and a box for each method; harmed clients are crosses."""
    figure = empty_figure(showlegend=False, boxgap=0.35)
    shown = indices_by_label(run_labels(runs))
    colours = method_colours([run.method for run in runs])
    hurt, kind = harmed_by_run(runs), runs[0].metric_kind()
    for place, mine in enumerate(shown.values()):
        points = [
            (value, client, runs[index].seed, client in (hurt[index] or ()))
            for index in mine
            if runs[index].metric == runs[0].metric
            for client, value in runs[index].final_values().items()
        ]
        if not points:
            continue
        colour = colours[runs[mine[0]].method]
        add_box(figure, place, metric_numbers([value for value, *_ in points], kind), colour)
        if len(points) <= MAX_POINTS:
            for harmed in (False, True):
                add_strip(figure, place, [point for point in points if point[3] is harmed], kind, colour, harmed)
    if not figure.data:
        return None
    ticks = {"tickvals": list(range(len(shown))), "ticktext": [safe_name(label, 40) for label in shown]}
    figure.update_xaxes(**ticks, range=axis_range(len(shown)), showgrid=False)
    if named := harmed_names(runs, hurt):
        figure.update_layout(title={"text": named, "font": {"size": 12, "color": SOFT}, "x": 0, "xref": "paper"})
    return figure.update_yaxes(title="final " + metric_axis(kind, "of a client"))


def harmed_names(runs: Sequence[RunData], harmed: Sequence[tuple[ClientId, ...] | None]) -> str:
    """The harmed clients of the method that ends best, in words; empty if there is no baseline to compare with."""
    comparable = [index for index, found in enumerate(harmed) if found is not None and runs[index].final_values()]
    if not comparable:
        return ""

    def mean(index: int) -> float:
        values = runs[index].final_values().values()
        return sum(values) / len(values)

    is_lower = runs[0].metric_kind().lower_is_better
    best = run_labels(runs)[(min if is_lower else max)(comparable, key=mean)]
    mine = [index for index in comparable if run_labels(runs)[index] == best]
    found = sorted({client for index in mine for client in harmed[index] or ()})
    if not found:
        return f"{safe_name(best, 40)} harms nobody"
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return f"harmed by {safe_name(best, 40)}: {', '.join(safe_name(client, 20) for client in found[:MAX_NAMED])}{more}"


def group_accuracy(run: RunData) -> "go.Figure | None":
    """The final metric of the clients of each group; planted groups where they are known."""
    final, planted = run.final_values(), run.planted_groups()
    known = bool(planted) and set(final) <= set(planted)
    groups = planted if known else run.final_groups()
    numbers = sorted({groups[client] for client in final if client in groups})
    if not 1 < len(numbers) <= min(MAX_GROUPS, len(final) // 2):
        return None
    figure, kind = empty_figure(showlegend=False, boxgap=0.35), run.metric_kind()
    for place, group in enumerate(numbers):
        mine = [(value, client, run.seed, False) for client, value in final.items() if groups.get(client) == group]
        add_box(figure, place, metric_numbers([value for value, *_ in mine], kind), group_colour(group))
        if len(mine) <= MAX_POINTS:
            add_strip(figure, place, mine, kind, group_colour(group), False)
    figure.update_xaxes(
        title="planted group" if known else "group that was found",
        tickvals=list(range(len(numbers))),
        ticktext=[str(group) for group in numbers],
        range=axis_range(len(numbers)),
        showgrid=False,
    )
    return figure.update_yaxes(title="final " + metric_axis(kind, "of a client"))


def axis_range(count: int) -> list[float]:
    """How far the axis goes along so many boxes: a few do not grow as wide as the page."""
    beyond = max(0.6, (5 - count) / 2)
    return [-beyond, count - 1 + beyond]


def add_box(figure: "go.Figure", place: int, values: list[float], colour: str) -> None:
    """Median, quartiles, and whiskers to the lowest and highest within one and a half times their distance."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    inside = [value for value in values if low - 1.5 * (high - low) <= value <= high + 1.5 * (high - low)]
    figure.add_box(
        x=[place],
        q1=[float(low)],
        median=[float(middle)],
        q3=[float(high)],
        lowerfence=[min(inside)],
        upperfence=[max(inside)],
        width=0.5,
        line={"color": colour, "width": 1.5},
        fillcolor=TRANSPARENT,
        hoverinfo="y",
    )


def add_strip(
    figure: "go.Figure",
    place: int,
    points: Sequence[tuple[float, str, int, bool]],
    kind: MetricKind,
    colour: str,
    harmed: bool,
) -> None:
    """A mark for each client: places beside each other follow from the order, so the same run looks the same."""
    aside = [place + 0.18 * (((index * 0.618034) % 1) * 2 - 1) for index in range(len(points))]
    figure.add_scatter(
        x=[round(each, 3) for each in aside],
        y=metric_numbers([value for value, *_ in points], kind),
        mode="markers",
        marker={
            "color": BLACK if harmed else colour,
            "symbol": "x" if harmed else "circle",
            "size": 7 if harmed else 5,
            "opacity": 0.75,
            "line": {"width": 0, "color": GREY},
        },
        text=[f"{long_name(client)}, seed {seed}{', harmed' if harmed else ''}" for _, client, seed, _ in points],
        hovertemplate=f"%{{text}}: {hover_form(kind)}<extra></extra>",
    )
