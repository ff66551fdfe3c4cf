"""CFL's tree of clusters, from the facts of a run's rounds."""

from dataclasses import dataclass

from fedclade.core import ClientId
from fedclade.report.run_data import JsonObject, RunData, as_list, mapping, names, number


@dataclass
class Cluster:
    """A node of the tree."""

    node: int
    depth: int
    members: tuple[ClientId, ...] = ()
    """Of the clients that were heard when it was made."""
    size: int = 0
    split_round: int = 0
    """The round in which it was split; 0: it was not."""
    gap: float | None = None
    """The separation gap of that round, where planted groups are known."""
    undone_round: int = 0
    """The round in which its split was undone; 0: it was not."""
    children: tuple[int, ...] = ()


def node_of(cluster: object) -> int:
    """The node of a cluster or of a split; -1 if it has none."""
    return int(number(mapping(cluster).get("node"), -1))


def gaps_of(facts: JsonObject) -> dict[int, float]:
    """The separation gap of each cluster in a round, by its node."""
    nodes = [node_of(cluster) for cluster in as_list(facts.get("clusters"))]
    gaps = as_list(facts.get("separation_gaps"))
    return {node: number(gap) for node, gap in zip(nodes, gaps, strict=False) if isinstance(gap, int | float)}


def parameter_tree_of(run: RunData) -> dict[int, Cluster]:
    """Every cluster by its node, the root first. The parts of a split that was undone are left out."""
    found: dict[int, Cluster] = {}
    for round_, facts in run.rounds():
        clusters = {node_of(each): mapping(each) for each in as_list(facts.get("clusters"))}
        if 0 in clusters and 0 not in found:
            found[0] = Cluster(0, 0)
        for node, cluster in clusters.items():
            if node in found:
                found[node].size = int(number(cluster.get("members"), found[node].size))
        for split in map(mapping, as_list(facts.get("splits"))):
            node = node_of(split)
            children = tuple(int(number(each, -1)) for each in as_list(split.get("children")))
            parts = [tuple(names(part)) for part in as_list(split.get("parts"))]
            if node not in found or len(children) != 2 or len(parts) != 2 or min(children) <= node:
                continue
            parent = found[node]
            parent.children, parent.split_round, parent.undone_round = children, round_, 0
            parent.gap = gaps_of(facts).get(node)
            parent.members = parent.members or tuple(sorted(client for part in parts for client in part))
            for child, part in zip(children, parts, strict=True):
                found[child] = Cluster(child, parent.depth + 1, part, len(part))
        for node in (int(number(each, -1)) for each in as_list(facts.get("undone"))):
            for gone in descendants(found, node) if node in found else ():
                del found[gone]
            if node in found:
                found[node].children, found[node].undone_round = (), round_
    return found


def descendants(clusters: dict[int, Cluster], node: int) -> list[int]:
    """Every node below this one."""
    children = [child for child in clusters[node].children if child in clusters]
    return [each for child in children for each in (child, *descendants(clusters, child))]
