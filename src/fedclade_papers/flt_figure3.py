"""FLT, figure 3: the relatedness of 200 writers: raw, reordered, and cut into two groups."""

import numpy as np

from fedclade.data import build
from fedclade_papers.encoders import first_available
from fedclade_papers.flt import PAPER, encoder_method
from fedclade_papers.flt_table3 import MISSING
from fedclade_papers.item import Claim, Item, Outcome
from fedclade_papers.matrices import (
    client_points,
    cut_margin,
    flt_of,
    groups_of,
    label_links,
    one_cloud_margins,
    picture,
)
from fedclade_papers.run_results import ItemRuns

DRAWS = 20  # of clients that are one cloud


def read(found: ItemRuns) -> Outcome:
    """The one-shot step alone; nothing is trained."""
    clients = {"tiny": 20, "small": 100, "paper": 200}[found.terms.scale]
    federation = build(source=first_available("femnist", "mnist-writers"), world="writers", clients=clients)
    how = encoder_method(found.terms, "fashion-mnist", tuned=True, points=5, groups=2)
    points, by = client_points(federation, how), flt_of(how)
    seen = groups_of(points, by)
    links, flat = seen.squared < by.gamma**2, label_links(seen.partition.labels, seen.clients)
    inside, across = cut_margin(seen, by.gamma)
    cloud = max(one_cloud_margins(points, by, DRAWS))
    sizes = " and ".join(str(len(part)) for part in seen.partition.members)
    raw = links[np.triu_indices(len(links), 1)].mean()
    return Outcome(
        claims=(
            Claim(
                "the graph is neither empty nor complete: there is something to reorder",
                0.01 < raw < 0.99,
                f"{100 * raw:.0f} % of all pairs are linked",
                main=False,
            ),
            Claim(
                "cut into two, pairs of one group are linked more often than pairs of both, and more so than where "
                f"clients are one cloud (the most of {DRAWS} draws)",
                inside - across > cloud,
                f"{100 * inside:.0f} % and {100 * across:.0f} %, groups of {sizes}; one cloud "
                f"{100 * cloud:.0f} points apart at the most",
            ),
        ),
        series={
            "raw": picture(links, seen.clients, seen.clients),
            "reordered": picture(links, seen.clients, seen.order),
            "two groups": picture(flat, seen.clients, [one for part in seen.partition.members for one in part]),
        },
    )


ITEM = Item(
    name="flt-figure3",
    paper=PAPER,
    title="The relatedness of writers: raw, reordered by hierarchical clustering, cut into two groups",
    differences="Writers of MNIST where LEAF's FEMNIST is not here; 100 of them at small scale.",
    missing=MISSING,
    read=read,
    minutes={"small": 0.5, "paper": 2.5, "tiny": 0.5},
)
