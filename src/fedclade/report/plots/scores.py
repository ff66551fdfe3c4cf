"""The scores that ABC's network gives to clients, and how often each was chosen (ABC figure 5)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedclade.report.palette import BLUE, group_colour, group_mark
from fedclade.report.plots.layout import client_axis, long_name, slider
from fedclade.report.plots.panels import panels_in_column
from fedclade.report.run_data import JsonObject, RunData, as_list, names, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_STEPS = 20  # of the slider


def client_scores(run: RunData) -> "go.Figure | None":
    """Every client's score at each check-in, and how often it took part; by planted group where that is known."""
    scored = [(round_, found) for round_, facts in run.rounds() if (found := scores_in(facts))]
    if not scored:
        return None
    if len(scored) > MAX_STEPS:
        scored = [scored[round(step * (len(scored) - 1) / (MAX_STEPS - 1))] for step in range(MAX_STEPS)]
    planted = run.planted_groups()
    known = {client for _, found in scored for client in found}
    clients = sorted(known, key=lambda client: (planted.get(client, -1), client))
    rows = {client: row for row, client in enumerate(clients)}
    figure = panels_in_column(2, 600, ["score at a check-in", "rounds in which it took part"], showlegend=False)
    for step, (round_, found) in enumerate(scored):
        there = [client for client in clients if client in found]
        groups = [planted.get(client, -1) if planted else 0 for client in there]
        figure.add_scatter(
            x=[rows[client] for client in there],
            y=[found[client] for client in there],
            mode="markers",
            marker={
                "color": [group_colour(group) for group in groups],
                "symbol": [group_mark(group) for group in groups],
                "size": 7,
            },
            text=[long_name(client) for client in there],
            hovertemplate="%{text}: %{y:.3f}<extra></extra>",
            name=f"round {round_}",
            visible=step == len(scored) - 1,
        )
    counts = selection_counts(run, clients)
    figure.add_bar(
        x=list(range(len(clients))),
        y=counts,
        marker={"color": BLUE},
        hovertemplate="%{y}<extra></extra>",
        xaxis="x2",
        yaxis="y2",
    )
    ticks = {**client_axis(clients), "tickangle": 90, "range": [-0.6, len(clients) - 0.4]}
    figure.update_layout(
        yaxis={"title": "score"},
        yaxis2={"title": "rounds", "rangemode": "tozero"},
        xaxis2=ticks,
        xaxis={"range": ticks["range"]},
    )
    if len(scored) > 1:
        traces = list(range(len(scored)))  # the counts below stay
        figure.update_layout(sliders=[slider([round_ for round_, _ in scored], 90, traces)])
    return figure


def scores_in(facts: JsonObject) -> dict[str, float]:
    """Each client's score: given by its name, or in the order of `clients`."""
    value = facts.get("scores")
    if isinstance(value, Mapping):
        return {str(client): number(score) for client, score in value.items() if isinstance(score, int | float)}
    return {
        client: number(score)
        for client, score in zip(names(facts.get("clients")), as_list(value), strict=False)
        if isinstance(score, int | float)
    }


def selection_counts(run: RunData, clients: list[str]) -> list[int]:
    """How often each client was chosen: from the facts of rounds, as lists or counts; else how often it took part."""
    counts: dict[str, int] = {}
    for _, facts in run.rounds():
        value = facts.get("chosen")
        if isinstance(value, Mapping):
            counts = {str(client): int(number(count, 0)) for client, count in value.items()}
        for client in names(value):
            counts[client] = counts.get(client, 0) + 1
    counts = counts or run.participation_counts()
    return [counts.get(client, 0) for client in clients]
