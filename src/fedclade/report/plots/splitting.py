"""When and why CFL splits: norms and thresholds (CFL figure 8), separation gaps (7), the metric with the splits (9)."""

from typing import TYPE_CHECKING

from fedclade.report.palette import BLACK, SOFT, group_colour, group_mark
from fedclade.report.plots.layout import add_shapes, metric_axis, metric_numbers
from fedclade.report.plots.panels import panels_in_column
from fedclade.report.run_data import JsonObject, RunData, as_list, mapping, number
from fedclade.report.splits import gaps_of

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_LINES = 12  # clusters or groups: as many as the palette has colours
LEGEND_BELOW = {"orientation": "h", "y": -0.18, "x": 0}


def update_norms(run: RunData) -> "go.Figure | None":
    """The norms of each cluster's updates: it is split where the upper one is above its limit, the lower one below."""
    by_node: dict[int, list[tuple[int, JsonObject]]] = {}
    for round_, facts in run.rounds():
        for cluster in map(mapping, as_list(facts.get("clusters"))):
            if isinstance(cluster.get("restless_norm"), int | float):
                by_node.setdefault(int(number(cluster.get("node"), -1)), []).append((round_, cluster))
    if not by_node:
        return None
    titles = [
        "update of the client that counts; dotted: eps2, which it must be above",
        "mean update of the cluster; dotted: eps1, which it must be below",
    ]
    figure = panels_in_column(2, 560, titles, legend=LEGEND_BELOW)
    for node, seen in sorted(by_node.items())[:MAX_LINES]:
        rounds = [round_ for round_, _ in seen]
        for axis, name, level in (("", "restless_norm", "eps2"), ("2", "mean_norm", "eps1")):
            add_line(figure, rounds, [number(cluster.get(name)) for _, cluster in seen], node, axis, not axis)
            if level in seen[0][1]:
                add_limit(figure, rounds, [number(cluster.get(level)) for _, cluster in seen], node, axis)
    norm = {"title": "norm", "rangemode": "tozero"}
    return mark_splits(figure.update_layout(yaxis=norm, yaxis2=norm, xaxis2={"title": "round"}), run)


def accuracy_and_gaps(run: RunData) -> "go.Figure | None":
    """The main metric of each planted group, and each cluster's separation gap: above 0 where a split is right."""
    gaps: dict[int, list[tuple[int, float]]] = {}
    for round_, facts in run.rounds():
        for node, gap in gaps_of(facts).items():
            gaps.setdefault(node, []).append((round_, gap))
    groups: dict[int, list[tuple[int, float]]] = {}
    for round_, event in run.evaluations():
        for group, value in enumerate(event.metric_by_planted_group or event.accuracy_by_planted_group or ()):
            if isinstance(value, int | float):
                groups.setdefault(group, []).append((round_, float(value)))
    if not gaps or not groups:
        return None
    kind = run.metric_kind()
    titles = [f"mean {kind.label} of each planted group", "separation gap of each cluster"]
    figure = panels_in_column(2, 600, titles, legend=LEGEND_BELOW)
    for group, points in list(groups.items())[:MAX_LINES]:
        add_line(
            figure,
            [at for at, _ in points],
            metric_numbers([each for _, each in points], kind),
            group,
            "",
            True,
            "group",
        )
    for node, points in sorted(gaps.items())[:MAX_LINES]:
        add_line(figure, [at for at, _ in points], [gap for _, gap in points], node, "2", True, dash="dash")
    figure.add_hline(y=0, line={"color": BLACK, "width": 1}, xref="x2", yref="y2")
    figure.update_layout(yaxis={"title": metric_axis(kind)}, yaxis2={"title": "gap"}, xaxis2={"title": "round"})
    return mark_splits(figure, run)


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
    figure.add_scatter(
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


def add_limit(figure: "go.Figure", rounds: list[int], limits: list[float], which: int, axis: str) -> None:
    """A threshold, dotted."""
    figure.add_scatter(
        x=rounds,
        y=limits,
        mode="lines",
        line={"color": group_colour(which), "width": 1.2, "dash": "dot"},
        showlegend=False,
        hoverinfo="skip",
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
    )


def mark_splits(figure: "go.Figure", run: RunData) -> "go.Figure":
    """An upright line in every round with a split."""
    line = {"color": SOFT, "width": 1, "dash": "dash"}
    upright = [
        {"type": "line", "x0": round_, "x1": round_, "y0": 0, "y1": 1, "xref": "x", "yref": "paper", "line": line}
        for round_ in sorted({round_ for round_, _ in run.splits()})
    ]
    return add_shapes(figure, upright)
