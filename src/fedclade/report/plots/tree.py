"""Trees: which groups merge at which distance (FLT figure 3), and CFL's parameter tree (CFL figure 5)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedclade.report.discovery import Discovery, discovery_of
from fedclade.report.palette import BLACK, BLUE, GREY, WHITE, group_colour
from fedclade.report.plots.layout import MAX_LABELLED, empty_figure, long_name, safe_name
from fedclade.report.run_data import JsonObject, RunData
from fedclade.report.splits import Cluster, parameter_tree_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


def dendrogram(run: RunData) -> "go.Figure | None":
    """The tree of clients, with the cut that made the groups."""
    return dendrogram_plot(run.discoveries()[-1][1]) if run.discoveries() else None


def dendrogram_plot(facts: JsonObject) -> "go.Figure | None":
    """The same from the facts of a discovery."""
    found = discovery_of(facts)
    if not found.tree.size:
        return None
    tree = found.tree.copy()
    tree[:, 2] = np.sqrt(np.maximum(tree[:, 2], 0))
    order, across, up = tree_layout(tree)
    leaves = [found.clients[leaf] for leaf in order]
    figure = empty_figure(440, showlegend=False)
    add_links(figure, across, up, [found.groups.get(client, -1) for client in leaves])
    height = cut_height(found, tree[:, 2])
    if height is not None:
        figure.add_hline(y=height, line={"color": BLACK, "dash": "dash", "width": 1.5})
        figure.add_annotation(
            text=f"cut: {len(set(found.groups.values()))} groups",
            x=1,
            xref="paper",
            xanchor="right",
            y=height,
            yanchor="bottom",
            showarrow=False,
        )
    spots = [10 * place + 5 for place in range(len(leaves))]
    ticks = {
        "tickvals": spots,
        "ticktext": [safe_name(client) for client in leaves],
        "tickangle": 90,
        "tickfont": {"size": 10},
    }
    many = {"title": f"{len(leaves):,} clients, in the order of the tree", "showticklabels": False, "ticks": ""}
    figure.update_xaxes(**(ticks if len(leaves) <= MAX_LABELLED else many), showgrid=False, range=[0, 10 * len(leaves)])
    return figure.update_yaxes(title="distance at which they merge", rangemode="tozero")


def tree_layout(tree: NDArray[np.float64]) -> tuple[list[int], list[list[float]], list[list[float]]]:
    """The leaves from left to right, and the four corners of each link: as scipy draws it, but of any depth."""
    count = len(tree) + 1
    order: list[int] = []
    waiting = [2 * count - 2]
    while waiting:
        node = waiting.pop()
        if node < count:
            order.append(node)
        else:
            left, right = tree[node - count, :2].astype(int).tolist()
            waiting += [right, left]
    place, height = np.zeros(2 * count - 1), np.zeros(2 * count - 1)
    place[order] = 10 * np.arange(count) + 5
    across, up = [], []
    for row, (left, right, top) in enumerate(zip(*tree[:, :2].astype(int).T, tree[:, 2], strict=True)):
        place[count + row], height[count + row] = (place[left] + place[right]) / 2, top
        across.append([float(place[left]), float(place[left]), float(place[right]), float(place[right])])
        up.append([float(height[left]), float(top), float(top), float(height[right])])
    return order, across, up


def add_links(figure: "go.Figure", across: list[list[float]], up: list[list[float]], groups: list[int]) -> None:
    """The links of a tree: in the colour of a group inside it, grey above."""
    by_group: dict[int, tuple[list[float | None], list[float | None]]] = {}
    for xs, ys in zip(across, up, strict=True):
        inside = set(groups[max(int(min(xs) // 10), 0) : int(max(xs) // 10) + 1])
        group = inside.pop() if len(inside) == 1 else -1
        there = by_group.setdefault(group, ([], []))
        there[0].extend([*xs, None])
        there[1].extend([*ys, None])
    for group, (xs_, ys_) in sorted(by_group.items()):
        line = {"color": group_colour(group), "width": 1.5}
        figure.add_scatter(x=xs_, y=ys_, mode="lines", line=line, hoverinfo="y")


def cut_height(found: Discovery, heights: NDArray[np.float64]) -> float | None:
    """Halfway between the merges that the cut separates; None where the groups are no cut of this tree."""
    count = len(set(found.groups.values()))
    if not found.passed or not 2 <= count <= len(heights):
        return None
    low, high = heights[-count], heights[1 - count]
    return float(low + high) / 2


def parameter_tree(run: RunData) -> "go.Figure | None":
    """CFL's tree of clusters: when each was split, and how far apart its parts were (the separation gap)."""
    clusters = parameter_tree_of(run)
    if len(clusters) < 3:
        return None
    depth = max(cluster.depth for cluster in clusters.values())
    place = node_positions(clusters)
    figure = empty_figure(100 + 100 * (depth + 1), showlegend=False)
    for cluster in clusters.values():
        for child in cluster.children:
            figure.add_scatter(
                x=[place[cluster.node], place[child]],
                y=[-cluster.depth, -clusters[child].depth],
                mode="lines",
                line={"color": GREY, "width": 1.5},
                hoverinfo="skip",
            )
    sizes = [12 + 20 * (cluster.size / max(clusters[0].size, 1)) ** 0.5 for cluster in clusters.values()]
    figure.add_scatter(
        x=[place[node] for node in clusters],
        y=[-cluster.depth for cluster in clusters.values()],
        mode="markers",
        marker={
            "size": sizes,
            "color": [GREY if cluster.children else BLUE for cluster in clusters.values()],
            "line": {"color": WHITE, "width": 1},
        },
        text=[
            f"cluster {node}: {', '.join(long_name(client) for client in cluster.members[:20])}"
            for node, cluster in clusters.items()
        ],
        hovertemplate="%{text}<extra></extra>",
    )
    beside, below = {"xshift": 20, "xanchor": "left", "align": "left"}, {"yshift": -16, "yanchor": "top"}
    figure.layout.annotations = [
        {
            **{"x": place[node], "y": -cluster.depth, "text": node_text(cluster), "showarrow": False},
            **{"font": {"size": 11}, **(beside if cluster.children else below)},
        }
        for node, cluster in clusters.items()
    ]
    figure.update_xaxes(visible=False, range=[-0.7, max(place.values()) + 0.7])
    return figure.update_yaxes(visible=False, range=[-depth - 0.6, 0.4])


def node_text(cluster: Cluster) -> str:
    """What stands below a node."""
    size = f"{cluster.size} client{'s' if cluster.size != 1 else ''}"
    if cluster.undone_round:
        return f"{size}<br>split in round {cluster.split_round},<br>taken back in {cluster.undone_round}"
    if not cluster.children:
        return size
    gap = "" if cluster.gap is None else f", gap {cluster.gap:+.2f}"
    return f"{size}<br>split in round {cluster.split_round}{gap}"


def node_positions(clusters: dict[int, Cluster]) -> dict[int, float]:
    """Where each node stands from left to right: leaves one after the other, a parent above its children."""
    found: dict[int, float] = {}

    def put(node: int) -> float:
        children = [put(child) for child in clusters[node].children]
        leaves = sum(not clusters[done].children for done in found)
        found[node] = sum(children) / len(children) if children else float(leaves)
        return found[node]

    put(0)
    return found
