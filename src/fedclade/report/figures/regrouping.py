"""How groups come about while models are trained (FLT figure 7)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.colours import SCALE
from fedclade.report.figures.layout import LABELLED, blank, plain, positions
from fedclade.report.figures.relatedness import across, bordered, edges_of, pairs, square
from fedclade.report.story import Story

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_ROWS = 200  # of a matrix: more are binned
MOST_COMPARED = 2000  # clients, before they are binned: of more, every second or third one
MOST_STEPS = 12  # of the slider


def relatedness_over_rounds(story: Story) -> "go.Figure | None":
    """Who has the same model as whom, round by round; clients stand by their planted group where that is known."""
    import plotly.graph_objects as go

    by_round = {round_: story.groups_after(round_) for round_ in story.evaluated_rounds}
    steps = changing(by_round)
    if len(steps) < 2:
        return None
    planted = story.planted()
    last = by_round[max(by_round)]
    known = planted if set(last) <= set(planted) else last
    clients = sorted(last, key=lambda client: (known[client], client))
    clients = clients[:: -(-len(clients) // MOST_COMPARED)]
    figure = blank(560, showlegend=False)
    for round_ in steps:
        labels = np.array([by_round[round_].get(client, -1 - place) for place, client in enumerate(clients)])
        together = binned(np.equal.outer(labels, labels))
        figure.add_trace(
            go.Heatmap(
                z=together,
                colorscale=SCALE,
                zmin=0,
                zmax=100 if together.max() > 1 else 1,
                showscale=False,
                visible=round_ == steps[-1],
                text=pairs(clients),
                hovertemplate="%{text}<extra></extra>" if len(clients) <= LABELLED else None,
                hoverinfo=None if len(clients) <= LABELLED else "skip",
                name=f"round {round_}",
            )
        )
    rows = len(figure.data[0].z)
    edges = edges_of([known[client] for client in clients])
    bordered(figure, [edge * rows / len(clients) - 0.5 for edge in edges], rows, "")
    figure.update_layout(sliders=[slider([f"round {round_}" for round_ in steps])])
    ticks = (
        positions(clients) if rows == len(clients) else {"title": f"{len(clients):,} clients", "showticklabels": False}
    )
    figure.update_layout(xaxis=across(clients), yaxis={**ticks, "autorange": "reversed"})
    return square(figure, [""])


def changing(by_round: dict[int, dict[str, int]]) -> list[int]:
    """The rounds after which groups were others than before, and the last one; some of them if they are many."""
    found: list[int] = []
    before: frozenset[frozenset[str]] | None = None
    for round_ in sorted(by_round):
        members: dict[int, set[str]] = {}
        for client, group in by_round[round_].items():
            members.setdefault(group, set()).add(client)
        now = frozenset(frozenset(each) for each in members.values())
        if now != before:
            found.append(round_)
        before = now
    if len(found) > 1 and found[-1] != max(by_round):
        found.append(max(by_round))
    if len(found) > MOST_STEPS:
        found = [found[place] for place in np.unique(np.linspace(0, len(found) - 1, MOST_STEPS).round().astype(int))]
    return found


def binned(together: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """0 and 1; of more rows than can be seen, the percent of pairs in each bin."""
    if len(together) <= MOST_ROWS:
        return together.astype(np.uint8)
    starts = np.linspace(0, len(together), MOST_ROWS, endpoint=False).astype(int)
    sizes = np.diff([*starts, len(together)])
    sums = np.add.reduceat(np.add.reduceat(together.astype(np.float64), starts, axis=0), starts, axis=1)
    found: NDArray[np.uint8] = np.round(100 * sums / np.outer(sizes, sizes)).astype(np.uint8)
    return found


def slider(labels: Sequence[str]) -> dict[str, object]:
    """A slider that shows one trace of a figure at a time; it begins with the last."""
    steps = [
        {
            "label": plain(label),
            "method": "restyle",
            "args": [{"visible": [other == step for other in range(len(labels))]}],
        }
        for step, label in enumerate(labels)
    ]
    return {"active": len(labels) - 1, "steps": steps, "pad": {"t": 40}, "currentvalue": {"visible": False}}
