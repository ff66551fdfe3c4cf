"""Who gains and who is left behind: every client's accuracy, per method and per group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fedclade.nouns import ClientId
from fedclade.report.colours import GREY, group_colour, method_colours
from fedclade.report.figures.layout import blank, percent, plain, whole
from fedclade.report.harm import harmed_in
from fedclade.report.story import Story, labels

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_POINTS = 1000  # of a strip: above, the box alone tells
MOST_NAMED = 8  # harmed clients that stand in the figure by name
MOST_GROUPS = 24  # boxes that can be read beside each other


def client_accuracy(stories: Sequence[Story]) -> "go.Figure | None":
    """The final accuracy of every client, a strip and a box for each method; harmed clients are crosses."""

    figure = blank(showlegend=False, boxgap=0.35)
    names = labels(stories)
    colours = method_colours([story.method for story in stories])
    hurt = harmed_in(stories)
    shown = list(dict.fromkeys(names))
    for place, label in enumerate(shown):
        mine = [index for index, name in enumerate(names) if name == label]
        points = [
            (value, client, stories[index].seed, client in (hurt[index] or ()))
            for index in mine
            for client, value in stories[index].final_accuracy().items()
        ]
        if not points:
            continue
        colour = colours[stories[mine[0]].method]
        figure.add_trace(box(place, percent([value for value, *_ in points]), colour))
        if len(points) <= MOST_POINTS:
            for harmed in (False, True):
                figure.add_trace(strip(place, [point for point in points if point[3] is harmed], colour, harmed))
    if not figure.data:
        return None
    ticks = {"tickvals": list(range(len(shown))), "ticktext": [plain(label, 40) for label in shown]}
    figure.update_xaxes(**ticks, range=span(len(shown)), showgrid=False)
    named = harmed_names(stories, hurt)
    if named:
        figure.update_layout(title={"text": named, "font": {"size": 12, "color": "#57606a"}, "x": 0, "xref": "paper"})
    return figure.update_yaxes(title="final accuracy of a client, %")


def harmed_names(stories: Sequence[Story], hurt: Sequence[tuple[ClientId, ...] | None]) -> str:
    """The harmed clients of the method that ends best, in words; empty if there is nobody to compare with."""
    judged = [index for index, found in enumerate(hurt) if found is not None and stories[index].final_accuracy()]
    if not judged:
        return ""

    def mean(index: int) -> float:
        values = stories[index].final_accuracy().values()
        return sum(values) / len(values)

    best = labels(stories)[max(judged, key=mean)]
    mine = [index for index in judged if labels(stories)[index] == best]
    found = sorted({client for index in mine for client in hurt[index] or ()})
    if not found:
        return f"{plain(best, 40)} harms nobody"
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f"harmed by {plain(best, 40)}: {', '.join(plain(client, 20) for client in found[:MOST_NAMED])}{more}"


def group_accuracy(story: Story) -> "go.Figure | None":
    """The final accuracy of the clients of each group; planted groups where they are known."""

    final, planted = story.final_accuracy(), story.planted()
    known = bool(planted) and set(final) <= set(planted)
    groups = planted if known else story.final_groups()
    numbers = sorted({groups[client] for client in final if client in groups})
    if not 1 < len(numbers) <= min(MOST_GROUPS, len(final) // 2):
        return None
    figure = blank(showlegend=False, boxgap=0.35)
    for place, group in enumerate(numbers):
        mine = [(value, client, story.seed, False) for client, value in final.items() if groups.get(client) == group]
        figure.add_trace(box(place, percent([value for value, *_ in mine]), group_colour(group)))
        if len(mine) <= MOST_POINTS:
            figure.add_trace(strip(place, mine, group_colour(group), False))
    figure.update_xaxes(
        title="planted group" if known else "group that was found",
        tickvals=list(range(len(numbers))),
        ticktext=[str(group) for group in numbers],
        range=span(len(numbers)),
        showgrid=False,
    )
    return figure.update_yaxes(title="final accuracy of a client, %")


def span(count: int) -> list[float]:
    """How far the axis goes along so many boxes: a few do not grow as wide as the page."""
    beyond = max(0.6, (5 - count) / 2)
    return [-beyond, count - 1 + beyond]


def box(place: int, values: list[float], colour: str) -> "go.Box":
    """Median, quartiles, and whiskers to the lowest and highest within one and a half times their distance."""
    import plotly.graph_objects as go

    low, middle, high = np.percentile(values, [25, 50, 75])
    inside = [value for value in values if low - 1.5 * (high - low) <= value <= high + 1.5 * (high - low)]
    return go.Box(
        x=[place],
        q1=[float(low)],
        median=[float(middle)],
        q3=[float(high)],
        lowerfence=[min(inside)],
        upperfence=[max(inside)],
        width=0.5,
        line={"color": colour, "width": 1.5},
        fillcolor="rgba(0,0,0,0)",
        hoverinfo="y",
    )


def strip(place: int, points: Sequence[tuple[float, str, int, bool]], colour: str, harmed: bool) -> "go.Scatter":
    """A mark for each client: places beside each other follow from the order, so the same run looks the same."""
    import plotly.graph_objects as go

    aside = [place + 0.18 * (((index * 0.618034) % 1) * 2 - 1) for index in range(len(points))]
    return go.Scatter(
        x=[round(each, 3) for each in aside],
        y=percent([value for value, *_ in points]),
        mode="markers",
        marker={
            "color": "#000000" if harmed else colour,
            "symbol": "x" if harmed else "circle",
            "size": 7 if harmed else 5,
            "opacity": 0.75,
            "line": {"width": 0, "color": GREY},
        },
        text=[f"{whole(client)}, seed {seed}{', harmed' if harmed else ''}" for _, client, seed, _ in points],
        hovertemplate="%{text}: %{y:.1f} %<extra></extra>",
    )
