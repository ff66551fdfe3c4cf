"""How groups come about while models are trained (FLT figure 7)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.palette import COLOUR_SCALE
from fedclade.report.plots.layout import MAX_LABELLED, client_axis, empty_figure, slider
from fedclade.report.plots.relatedness import add_group_borders, group_edges, make_square, pair_names, unlabelled_axis
from fedclade.report.run_data import RunData

if TYPE_CHECKING:
    import plotly.graph_objects as go

MAX_ROWS = 200  # of a matrix: more are binned
MAX_COMPARED = 2000  # clients, before they are binned: of more, every second or third one
MAX_STEPS = 12  # of the slider


def relatedness_over_rounds(run: RunData) -> "go.Figure | None":
    """Which clients have the same model, round by round; clients stand by planted group where that is known."""
    by_round = {round_: run.groups_after(round_) for round_ in run.evaluated_rounds}
    steps = change_rounds(by_round)
    if len(steps) < 2:
        return None
    planted = run.planted_groups()
    last = by_round[max(by_round)]
    known = planted if set(last) <= set(planted) else last
    clients = sorted(last, key=lambda client: (known[client], client))
    clients = clients[:: -(-len(clients) // MAX_COMPARED)]
    few = len(clients) <= MAX_LABELLED
    figure = empty_figure(560, showlegend=False)
    for round_ in steps:
        labels = np.array([by_round[round_].get(client, -1 - place) for place, client in enumerate(clients)])
        together = bin_matrix(np.equal.outer(labels, labels))
        figure.add_heatmap(
            z=together,
            colorscale=COLOUR_SCALE,
            zmin=0,
            zmax=100 if together.max() > 1 else 1,
            showscale=False,
            visible=round_ == steps[-1],
            text=pair_names(clients),
            hovertemplate="%{text}<extra></extra>" if few else None,
            hoverinfo=None if few else "skip",
            name=f"round {round_}",
        )
    rows = len(figure.data[0].z)
    edges = group_edges([known[client] for client in clients])
    add_group_borders(figure, [edge * rows / len(clients) - 0.5 for edge in edges], rows, "")
    figure.update_layout(sliders=[slider(steps)])
    binned = {"title": f"{len(clients):,} clients", "showticklabels": False}
    ticks = client_axis(clients) if rows == len(clients) else binned
    figure.update_layout(xaxis=unlabelled_axis(clients), yaxis={**ticks, "autorange": "reversed"})
    return make_square(figure, [""])


def change_rounds(by_round: dict[int, dict[str, int]]) -> list[int]:
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
    if len(found) > MAX_STEPS:
        found = [found[place] for place in np.unique(np.linspace(0, len(found) - 1, MAX_STEPS).round().astype(int))]
    return found


def bin_matrix(together: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """0 and 1; of more rows than can be seen, the percent of pairs in each bin."""
    if len(together) <= MAX_ROWS:
        return together.astype(np.uint8)
    starts = np.linspace(0, len(together), MAX_ROWS, endpoint=False).astype(int)
    sizes = np.diff([*starts, len(together)])
    sums = np.add.reduceat(np.add.reduceat(together.astype(np.float64), starts, axis=0), starts, axis=1)
    found: NDArray[np.uint8] = np.round(100 * sums / np.outer(sizes, sizes)).astype(np.uint8)
    return found
