"""CFL's tree of clusters as a run's events tell it."""

from dataclasses import dataclass, field

from fedclade.nouns import ClientId
from fedclade.report.story import Facts, Story, listed, mapping, names, number


@dataclass
class Cluster:
    """A node of the tree, while it is put together."""

    node: int
    depth: int
    members: tuple[ClientId, ...] = ()
    """Of those who were heard when it came about."""
    size: int = 0
    round: int = 0
    """In which it was split."""
    gap: float | None = None
    """The separation gap of that round, where planted groups are known."""
    undone: int = 0
    """The round in which its split was taken back; 0: it was not."""
    children: tuple[int, ...] = field(default_factory=tuple)


def gaps_of(facts: Facts) -> dict[int, float]:
    """The separation gap of each cluster in a round, by its node."""
    nodes = [int(number(mapping(cluster).get("node"), -1)) for cluster in listed(facts.get("clusters"))]
    gaps = listed(facts.get("separation_gaps"))
    return {node: number(gap) for node, gap in zip(nodes, gaps, strict=False) if isinstance(gap, int | float)}


def parameter_tree_of(story: Story) -> dict[int, Cluster]:
    """Every cluster by its node, the root first. A split that was taken back leaves a note; its parts are gone."""
    found: dict[int, Cluster] = {}
    for round_, facts in story.rounds():
        clusters = {int(number(mapping(each).get("node"), -1)): mapping(each) for each in listed(facts.get("clusters"))}
        if 0 in clusters and 0 not in found:
            found[0] = Cluster(0, 0)
        for node, cluster in clusters.items():
            if node in found:
                found[node].size = int(number(cluster.get("members"), found[node].size))
        for split in map(mapping, listed(facts.get("splits"))):
            node = int(number(split.get("node"), -1))
            children = tuple(int(number(each, -1)) for each in listed(split.get("children")))
            parts = [tuple(names(part)) for part in listed(split.get("parts"))]
            if node not in found or len(children) != 2 or len(parts) != 2 or min(children) <= node:
                continue
            parent = found[node]
            parent.children, parent.round, parent.undone = children, round_, 0
            parent.gap = gaps_of(facts).get(node)
            parent.members = parent.members or tuple(sorted(client for part in parts for client in part))
            for child, part in zip(children, parts, strict=True):
                found[child] = Cluster(child, parent.depth + 1, part, len(part))
        for node in (int(number(each, -1)) for each in listed(facts.get("undone"))):
            for gone in below(found, node) if node in found else ():
                del found[gone]
            if node in found:
                found[node].children, found[node].undone = (), round_
    return found


def below(clusters: dict[int, Cluster], node: int) -> list[int]:
    """Every node below this one."""
    children = [child for child in clusters[node].children if child in clusters]
    return [each for child in children for each in (child, *below(clusters, child))]
