"""A discovery as facts of a run: what was found, and the arrays from which others draw it."""

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns.facts import Fact
from fedclade.relate.discovery import Found
from fedclade.relate.graph import Graph

MOST_KEPT = 1000  # clients whose distances are kept: 10,000 would have 400 MB of them
MOST_SKETCHED = 200  # clients whose sketches are kept


def discovery_facts(found: Found, graph: Graph | None = None) -> dict[str, Fact]:
    """Groups, how sure they are, and for up to 1,000 clients the distances behind them.

    squared         (clients, clients): squared distances
    tree            scipy's linkage of them, unless clients were left out
    weights         (clients, clients): how much each learns from each, where a graph says so
    points, counts  (clients, points, features), (clients, points): the sketches of up to 200 clients, if there are any
    """
    facts: dict[str, Fact] = {
        "distance": found.kind,
        "gates": {kind: round(gate, 4) for kind, gate in found.gates.items()},
        "passed": found.passed,
        "confidence": round(found.confidence, 4),
        "count": found.count,
        "sizes": [len(members) for members in found.groups],
        "outliers": list(found.outliers),
        "silhouettes": {str(count): round(score, 4) for count, score in found.silhouettes.items()},
    }
    if len(found.clients) != len(found.squared):  # nothing was kept
        return facts
    rows = kept_rows(found)
    clients = [found.clients[row] for row in rows]
    shown = set(clients)
    facts |= {
        "clients": list[Fact](clients),
        "groups": [[client for client in members if client in shown] for members in found.partition.members],
        "squared": found.squared[np.ix_(rows, rows)],
    }
    if len(rows) == len(found.clients):
        facts["tree"] = found.tree
        if found.sketches is not None and len(rows) <= MOST_SKETCHED:
            facts |= {"points": found.sketches.places, "counts": found.sketches.counts}
    if graph is not None:
        facts["weights"] = graph.of(clients)
    return facts


def kept_rows(found: Found) -> NDArray[np.int64]:
    """The clients whose distances are kept: all, or every so many-th in the order of the tree."""
    everybody = np.arange(len(found.clients))
    if len(everybody) <= MOST_KEPT:
        return everybody
    row = {client: number for number, client in enumerate(found.clients)}
    drawn = np.unique(np.linspace(0, len(found.order) - 1, MOST_KEPT).round().astype(int))
    return np.sort([row[found.order[place]] for place in drawn])
