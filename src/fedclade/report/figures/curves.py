"""Accuracy while models are trained, a line for each method, a band over its seeds (FLT figures 4 and 5, ABC 6)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.report.colours import DASHES, MARKS, method_colours, method_marks
from fedclade.report.figures.layout import blank, percent, plain
from fedclade.report.story import Story, labels, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

MARKED = 40  # points of a line that can be told apart


def accuracy_against_rounds(stories: Sequence[Story]) -> "go.Figure | None":
    """The clients' mean accuracy against rounds; the band goes from the lowest to the highest seed."""
    rounds = [{round_: float(round_) for round_, _ in story.evaluations()} for story in stories]
    return curves(stories, rounds, "round")


def accuracy_against_megabytes(stories: Sequence[Story]) -> "go.Figure | None":
    """The same against what the method had sent by then, up and down; the evaluation itself is left out."""
    sent = [{round_: count / 1e6 for round_, count in story.sent().items()} for story in stories]
    return curves(stories, sent, "megabytes sent, up and down")


def curves(stories: Sequence[Story], places: Sequence[dict[int, float]], across: str) -> "go.Figure | None":
    """A line for each method, through the mean over seeds of accuracy and place of each round."""
    figure = blank(hovermode="closest", legend={"orientation": "h", "y": -0.22, "x": 0})
    names = labels(stories)
    methods = [story.method for story in stories]
    colours, marks = method_colours(methods), method_marks(methods)
    seen: dict[str, int] = {}  # the number of the last variant of a method
    for label in dict.fromkeys(names):
        mine = [index for index, name in enumerate(names) if name == label]
        method = methods[mine[0]]
        variant = seen[method] = seen.get(method, -1) + 1
        dash = DASHES[variant % len(DASHES)]
        mark = MARKS[(MARKS.index(marks[method]) + variant) % len(MARKS)]
        reached: dict[int, list[tuple[float, float]]] = {}
        for index in mine:
            for round_, event in stories[index].evaluations():
                if event.get("accuracy") is not None and round_ in places[index]:
                    reached.setdefault(round_, []).append((places[index][round_], number(event["accuracy"])))
        if reached:
            draw(figure, label, [reached[round_] for round_ in sorted(reached)], colours[method], mark, dash)
    if not figure.data:
        return None
    figure.update_xaxes(title=across, rangemode="tozero")
    return figure.update_yaxes(title="mean accuracy of the clients, %")


def draw(
    figure: "go.Figure", label: str, points: list[list[tuple[float, float]]], colour: str, mark: str, dash: str
) -> None:
    """One line: for every round the (place, accuracy) of each seed."""
    import plotly.graph_objects as go

    across = [round(float(np.mean([place for place, _ in each])), 4) for each in points]
    low, high = (percent([pick(value for _, value in each) for each in points]) for pick in (min, max))
    middle = percent([float(np.mean([value for _, value in each])) for each in points])
    group = plain(label, 60)
    if low != high:
        figure.add_trace(
            go.Scatter(
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
        )
    few = len(across) <= MARKED
    figure.add_trace(
        go.Scatter(
            x=across,
            y=middle,
            name=group,
            legendgroup=group,
            mode="lines+markers" if few else "lines",
            line={"color": colour, "dash": dash, "width": 2},
            marker={"symbol": mark, "size": 7},
            hovertemplate="%{y:.1f} % at %{x:,}",
        )
    )
