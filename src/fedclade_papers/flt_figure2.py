"""FLT, figure 2: the adjacency matrix of 25 clients, as it is and reordered into five groups."""

from fedclade.core import Groups
from fedclade.data.recipe import read_recipe
from fedclade.runs.metrics import rand_index
from fedclade_papers.flt import PAPER, encoder_method
from fedclade_papers.item import Claim, Item, Outcome, PlanTable
from fedclade_papers.matrices import count_links, groups_and_links, label_links, picture
from fedclade_papers.run_results import ItemRuns

CLIENTS, GROUPS = 25, 5


def read(found: ItemRuns) -> Outcome:
    """The one-shot step alone; nothing is trained."""
    examples = {"tiny": 60, "small": 300, "paper": 2400}[found.terms.scale]
    few: PlanTable = {"fewer": {"examples": examples}, **({"test_on": "group"} if found.terms.is_full_scale else {})}
    world = {"source": "mnist", "world": "classes", "clients": CLIENTS, "groups": GROUPS, **few}
    federation = read_recipe(world).federation(0)
    assert federation.truth is not None
    seen, links = groups_and_links(
        federation, encoder_method(found.terms, "fashion-mnist", tuned=True, points="classes", groups=GROUPS)
    )
    ari = rand_index(Groups(seen.partition.members), federation.truth)
    inside, across = count_links(links, label_links(federation.truth.labels, federation.clients))
    return Outcome(
        claims=(
            Claim("reordered, five groups can be seen: they are the planted ones", ari == 1, f"ARI {ari:.3f}"),
            Claim(
                "the matrix has blocks: most links are inside groups",
                inside > across,
                f"{inside} links inside groups, {across} between them",
            ),
        ),
        series={
            "as numbered": picture(links, seen.clients, seen.clients),
            "reordered": picture(links, seen.clients, seen.order),
        },
    )


ITEM = Item(
    name="flt-figure2",
    paper=PAPER,
    title="The relatedness of 25 clients before and after reordering: five groups",
    differences=(
        "The paper does not say which data its toy set-up has: MNIST, two classes for each group, 2,400 images for "
        "each client, Enc2. By the text: fine-tuned by every client, k the number of its classes, C = 5 told, the "
        "smallest distance. By the authors' code: points are matched, the encoder is not tuned. Small scale: 300 "
        "images for each, one epoch of fine-tuning instead of five."
    ),
    read=read,
    minutes={"small": 0.2, "paper": 3.5, "tiny": 0.3},
)
