"""How CFL comes to split: norms and thresholds (CFL figure 8), separation gaps (7), accuracy with the splits (9)."""

from typing import TYPE_CHECKING

from fedclade.report.colours import group_colour, group_mark
from fedclade.report.figures.layout import percent
from fedclade.report.figures.panels import above_each_other
from fedclade.report.splits import gaps_of
from fedclade.report.story import Facts, Story, listed, mapping, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LINES = 12  # clusters or groups that can be told apart
BELOW = {"orientation": "h", "y": -0.18, "x": 0}


def update_norms(story: Story) -> "go.Figure | None":
    """The norms of each cluster's updates: a cluster is split where the upper line is above its threshold, and the
    lower one below.
    """
    by_node: dict[int, list[tuple[int, Facts]]] = {}
    for round_, facts in story.rounds():
        for cluster in map(mapping, listed(facts.get("clusters"))):
            if isinstance(cluster.get("restless_norm"), int | float):
                by_node.setdefault(int(number(cluster.get("node"), -1)), []).append((round_, cluster))
    if not by_node:
        return None
    titles = [
        "update of the client that counts; dotted: eps2, which it must be above",
        "mean update of the cluster; dotted: eps1, which it must be below",
    ]
    figure = above_each_other(2, 560, titles, legend=BELOW)
    for node, seen in sorted(by_node.items())[:MOST_LINES]:
        rounds = [round_ for round_, _ in seen]
        for axis, name, level in (("", "restless_norm", "eps2"), ("2", "mean_norm", "eps1")):
            add_line(figure, rounds, [number(cluster.get(name)) for _, cluster in seen], node, axis, not axis)
            if level in seen[0][1]:
                add_limit(figure, rounds, [number(cluster.get(level)) for _, cluster in seen], node, axis)
    for axis in ("yaxis", "yaxis2"):
        figure.update_layout({axis: {"title": "norm", "rangemode": "tozero"}})
    return marked(figure.update_layout(xaxis2={"title": "round"}), story)


def accuracy_and_gaps(story: Story) -> "go.Figure | None":
    """Above, the mean accuracy of each planted group; below, each cluster's separation gap, above 0 where a split is
    right. Splits are the upright lines.
    """
    gaps: dict[int, list[tuple[int, float]]] = {}
    for round_, facts in story.rounds():
        for node, gap in gaps_of(facts).items():
            gaps.setdefault(node, []).append((round_, gap))
    groups: dict[int, list[tuple[int, float]]] = {}
    for round_, event in story.evaluations():
        for group, accuracy in enumerate(listed(event.get("accuracy_by_planted_group"))):
            if isinstance(accuracy, int | float):
                groups.setdefault(group, []).append((round_, float(accuracy)))
    if not gaps or not groups:
        return None
    titles = ["mean accuracy of each planted group", "separation gap of each cluster"]
    figure = above_each_other(2, 600, titles, legend=BELOW)
    for group, points in list(groups.items())[:MOST_LINES]:
        add_line(figure, [at for at, _ in points], percent([each for _, each in points]), group, "", True, "group")
    for node, points in sorted(gaps.items())[:MOST_LINES]:
        add_line(figure, [at for at, _ in points], [gap for _, gap in points], node, "2", True, dash="dash")
    figure.add_hline(y=0, line={"color": "#000000", "width": 1}, xref="x2", yref="y2")
    figure.update_layout(yaxis={"title": "accuracy, %"}, yaxis2={"title": "gap"}, xaxis2={"title": "round"})
    return marked(figure, story)


def add_line(
    figure: "go.Figure",
    rounds: list[int],
    values: list[float],
    which: int,
    axis: str,
    legend: bool,
    word: str = "cluster",
    dash: str = "solid",
) -> None:
    """One line, in the colour of its group or cluster."""
    import plotly.graph_objects as go

    figure.add_trace(
        go.Scatter(
            x=rounds,
            y=values,
            mode="lines+markers" if len(rounds) <= 40 else "lines",
            name=f"{word} {which}",
            showlegend=legend,
            line={"color": group_colour(which), "width": 2, "dash": dash},
            marker={"symbol": group_mark(which), "size": 6},
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
        )
    )


def add_limit(figure: "go.Figure", rounds: list[int], limits: list[float], which: int, axis: str) -> None:
    """A threshold, dotted."""
    import plotly.graph_objects as go

    figure.add_trace(
        go.Scatter(
            x=rounds,
            y=limits,
            mode="lines",
            line={"color": group_colour(which), "width": 1.2, "dash": "dot"},
            showlegend=False,
            hoverinfo="skip",
            xaxis=f"x{axis}",
            yaxis=f"y{axis}",
        )
    )


def marked(figure: "go.Figure", story: Story) -> "go.Figure":
    """An upright line in every round with a split."""
    for round_ in sorted({round_ for round_, _ in story.splits()}):
        figure.add_shape(
            type="line",
            x0=round_,
            x1=round_,
            y0=0,
            y1=1,
            xref="x",
            yref="paper",
            line={"color": "#57606a", "width": 1, "dash": "dash"},
        )
    return figure
