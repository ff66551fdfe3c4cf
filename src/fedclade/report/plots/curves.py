"""The main metric over training, a line for each method, a band over its seeds (FLT figures 4 and 5, ABC 6)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.core.task import MetricKind
from fedclade.report.naming import indices_by_label
from fedclade.report.palette import DASHES, MARKS, method_colours, method_marks
from fedclade.report.plots.layout import empty_figure, hover_form, metric_axis, metric_numbers, safe_name
from fedclade.report.run_data import RunData, run_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_MARKED = 40  # points of a line that are drawn as marks: more would touch


def accuracy_against_rounds(runs: Sequence[RunData]) -> "go.Figure | None":
    """The main metric, over clients, against rounds; the band goes from the lowest to the highest seed."""
    rounds = [{round_: float(round_) for round_, _ in run.evaluations()} for run in runs]
    return curves(runs, rounds, "round")


def accuracy_against_megabytes(runs: Sequence[RunData]) -> "go.Figure | None":
    """The same against what the method had sent by then, up and down; the evaluation itself is left out."""
    sent = [{round_: count / 1e6 for round_, count in run.bytes_by_round().items()} for run in runs]
    return curves(runs, sent, "megabytes sent, up and down")


def curves(runs: Sequence[RunData], places: Sequence[dict[int, float]], x_title: str) -> "go.Figure | None":
    """A line for each method, through the mean over seeds of metric and place of each round."""
    figure = empty_figure(hovermode="closest", legend={"orientation": "h", "y": -0.22, "x": 0})
    methods = [run.method for run in runs]
    kind = runs[0].metric_kind()
    colours, marks = method_colours(methods), method_marks(methods)
    seen: dict[str, int] = {}  # the last variant of each method
    for label, mine in indices_by_label(run_labels(runs)).items():
        method = methods[mine[0]]
        variant = seen[method] = seen.get(method, -1) + 1
        dash = DASHES[variant % len(DASHES)]
        mark = MARKS[(MARKS.index(marks[method]) + variant) % len(MARKS)]
        reached: dict[int, list[tuple[float, float]]] = {}
        for index in mine:
            for round_, event in runs[index].evaluations():
                if event.value is not None and round_ in places[index] and runs[index].metric == runs[0].metric:
                    reached.setdefault(round_, []).append((places[index][round_], event.value))
        if reached:
            points = [reached[round_] for round_ in sorted(reached)]
            draw_curve(figure, label, points, kind, colours[method], mark, dash)
    if not figure.data:
        return None
    figure.update_xaxes(title=x_title, rangemode="tozero")
    mean = "mean " if kind.unit == "share" else ""
    return figure.update_yaxes(title=mean + metric_axis(kind, "of the clients"))


def draw_curve(
    figure: "go.Figure",
    label: str,
    points: list[list[tuple[float, float]]],
    kind: MetricKind,
    colour: str,
    mark: str,
    dash: str,
) -> None:
    """One line: for every round the (place, metric) of each seed."""
    across = [round(float(np.mean([place for place, _ in each])), 4) for each in points]
    low, high = (metric_numbers([pick(value for _, value in each) for each in points], kind) for pick in (min, max))
    middle = metric_numbers([float(np.mean([value for _, value in each])) for each in points], kind)
    group = safe_name(label, 60)
    if low != high:
        figure.add_scatter(
            x=across + across[::-1],
            y=high + low[::-1],
            mode="lines",
            fill="toself",
            fillcolor=colour,
            opacity=0.18,
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
            legendgroup=group,
        )
    figure.add_scatter(
        x=across,
        y=middle,
        name=group,
        legendgroup=group,
        mode="lines+markers" if len(across) <= MAX_MARKED else "lines",
        line={"color": colour, "dash": dash, "width": 2},
        marker={"symbol": mark, "size": 7},
        hovertemplate=f"{hover_form(kind)} at %{{x:,}}",
    )
