"""Accuracy while models are trained, a line for each method, a band over its seeds (FLT figures 4 and 5, ABC 6)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.naming import indices_by_label
from fedclade.report.palette import DASHES, MARKS, method_colours, method_marks
from fedclade.report.plots.layout import empty_figure, percent, safe_name
from fedclade.report.run_data import RunData, run_labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_MARKED = 40  # points of a line that are drawn as marks: more would touch


def accuracy_against_rounds(runs: Sequence[RunData]) -> "go.Figure | None":
    """The clients' mean accuracy against rounds; the band goes from the lowest to the highest seed."""
    rounds = [{round_: float(round_) for round_, _ in run.evaluations()} for run in runs]
    return curves(runs, rounds, "round")


def accuracy_against_megabytes(runs: Sequence[RunData]) -> "go.Figure | None":
    """The same against what the method had sent by then, up and down; the evaluation itself is left out."""
    sent = [{round_: count / 1e6 for round_, count in run.bytes_by_round().items()} for run in runs]
    return curves(runs, sent, "megabytes sent, up and down")


def curves(runs: Sequence[RunData], places: Sequence[dict[int, float]], x_title: str) -> "go.Figure | None":
    """A line for each method, through the mean over seeds of accuracy and place of each round."""
    figure = empty_figure(hovermode="closest", legend={"orientation": "h", "y": -0.22, "x": 0})
    methods = [run.method for run in runs]
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
                if event.accuracy is not None and round_ in places[index]:
                    reached.setdefault(round_, []).append((places[index][round_], event.accuracy))
        if reached:
            draw_curve(figure, label, [reached[round_] for round_ in sorted(reached)], colours[method], mark, dash)
    if not figure.data:
        return None
    figure.update_xaxes(title=x_title, rangemode="tozero")
    return figure.update_yaxes(title="mean accuracy of the clients, %")


def draw_curve(
    figure: "go.Figure", label: str, points: list[list[tuple[float, float]]], colour: str, mark: str, dash: str
) -> None:
    """One line: for every round the (place, accuracy) of each seed."""
    across = [round(float(np.mean([place for place, _ in each])), 4) for each in points]
    low, high = (percent([pick(value for _, value in each) for each in points]) for pick in (min, max))
    middle = percent([float(np.mean([value for _, value in each])) for each in points])
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
        hovertemplate="%{y:.1f} % at %{x:,}",
    )
