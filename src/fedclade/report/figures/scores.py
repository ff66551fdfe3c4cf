"""The scores that ABC's network gives clients, and how often it chose each (ABC figure 5)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fedclade.report.colours import PALETTE, group_colour, group_mark
from fedclade.report.figures.layout import positions, whole
from fedclade.report.figures.panels import above_each_other
from fedclade.report.story import Facts, Story, listed, names, number

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_STEPS = 20  # of the slider


def client_scores(story: Story) -> "go.Figure | None":
    """Every client's score at each check-in, and how often it took part; by planted group where that is known."""
    import plotly.graph_objects as go

    scored = [(round_, found) for round_, facts in story.rounds() if (found := scores_in(facts))]
    if not scored:
        return None
    if len(scored) > MOST_STEPS:
        scored = [scored[round(step * (len(scored) - 1) / (MOST_STEPS - 1))] for step in range(MOST_STEPS)]
    planted = story.planted()
    everybody = {client for _, found in scored for client in found}
    clients = sorted(everybody, key=lambda client: (planted.get(client, -1), client))
    rows = {client: row for row, client in enumerate(clients)}
    figure = above_each_other(2, 600, ["score at a check-in", "rounds in which it took part"], showlegend=False)
    for step, (round_, found) in enumerate(scored):
        there = [client for client in clients if client in found]
        groups = [planted.get(client, -1) if planted else 0 for client in there]
        figure.add_trace(
            go.Scatter(
                x=[rows[client] for client in there],
                y=[found[client] for client in there],
                mode="markers",
                marker={
                    "color": [group_colour(group) for group in groups],
                    "symbol": [group_mark(group) for group in groups],
                    "size": 7,
                },
                text=[whole(client) for client in there],
                hovertemplate="%{text}: %{y:.3f}<extra></extra>",
                name=f"round {round_}",
                visible=step == len(scored) - 1,
            )
        )
    counts = times_chosen(story, clients)
    figure.add_trace(
        go.Bar(
            x=list(range(len(clients))),
            y=counts,
            marker={"color": PALETTE[0]},
            hovertemplate="%{y}<extra></extra>",
            xaxis="x2",
            yaxis="y2",
        )
    )
    ticks = {**positions(clients), "tickangle": 90, "range": [-0.6, len(clients) - 0.4]}
    figure.update_layout(
        yaxis={"title": "score"},
        yaxis2={"title": "rounds", "rangemode": "tozero"},
        xaxis2=ticks,
        xaxis={"range": ticks["range"]},
    )
    if len(scored) > 1:
        steps = [
            {
                "label": f"round {round_}",
                "method": "restyle",
                "args": [{"visible": [other == step for other in range(len(scored))]}, list(range(len(scored)))],
            }
            for step, (round_, _) in enumerate(scored)
        ]
        figure.update_layout(
            sliders=[{"active": len(scored) - 1, "steps": steps, "pad": {"t": 90}, "currentvalue": {"visible": False}}]
        )
    return figure


def scores_in(facts: Facts) -> dict[str, float]:
    """Each client's score: told by its name, or in the order of `clients`."""
    told = facts.get("scores")
    if isinstance(told, Mapping):
        return {str(client): number(score) for client, score in told.items() if isinstance(score, int | float)}
    return {
        client: number(score)
        for client, score in zip(names(facts.get("clients")), listed(told), strict=False)
        if isinstance(score, int | float)
    }


def times_chosen(story: Story, clients: list[str]) -> list[int]:
    """How often each client was chosen: as the method tells it, round by round or as counts; else who was heard."""
    counts: dict[str, int] = {}
    for _, facts in story.rounds():
        told = facts.get("chosen")
        if isinstance(told, Mapping):
            counts = {str(client): int(number(count, 0)) for client, count in told.items()}
        for client in names(told):
            counts[client] = counts.get(client, 0) + 1
    counts = counts or story.times_heard()
    return [counts.get(client, 0) for client in clients]
