"""FLT on CIFAR-10 before training: whether Enc1 sees the groups that tables 1 and 2 train."""

from dataclasses import dataclass

from fedclade.core import Groups
from fedclade.runs.experiment import experiment_from
from fedclade.runs.metrics import rand_index
from fedclade_papers.flt import PAPER, enc1, scenario_setting
from fedclade_papers.item import Claim, Item, Outcome, ResultLine, Terms
from fedclade_papers.matrices import Links, groups_and_links, label_links, pair_shares, picture
from fedclade_papers.run_plans import setting_at_scale
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.weights import make_weights

SOURCE, METHOD = "cifar10", "FLT (Enc1)"
NEAR = 0.9  # ARI
COLUMNS = ("ARI", "groups", "% of pairs of a group linked", "% of other pairs linked")


@dataclass(frozen=True)
class SeenGroups:
    """The clients of one scenario as the one-shot step sees them."""

    ari: float
    count: int
    inside: float
    across: float
    links: dict[str, object]

    def line(self, row: str) -> tuple[ResultLine, ...]:
        """Its numbers; the paper prints none of them."""
        values = (self.ari, self.count, 100 * self.inside, 100 * self.across)
        return tuple(
            ResultLine(row=row, column=column, printed=None, ours=value)
            for column, value in zip(COLUMNS, values, strict=True)
        )

    @property
    def evidence(self) -> str:
        """Groups and links in words."""
        pairs = f"{100 * self.inside:.1f} % of the pairs of a group linked, {100 * self.across:.1f} % of other pairs"
        return f"{self.count} groups, ARI {self.ari:.3f}; {pairs}"


def groups_seen(terms: Terms, scenario: int) -> SeenGroups:
    """The one-shot step alone on the clients of a scenario; its encoder must be there."""
    setting = setting_at_scale(scenario_setting(terms, scenario, SOURCE), terms)
    federation = experiment_from({"data": setting.data, "run": {"seed": 0}}).federation()
    assert federation.truth is not None
    seen, links = groups_and_links(federation, setting.methods[METHOD])
    truth: Links = label_links(federation.truth.labels, seen.clients)
    order = [one for part in federation.truth.members for one in part]
    ari = rand_index(Groups(seen.partition.members), federation.truth)
    inside, across = pair_shares(links, truth)
    return SeenGroups(ari, len(seen.partition.members), inside, across, picture(links, seen.clients, order))


def read(found: ItemRuns) -> Outcome:
    """Train Enc1 unless a table has, and look at both scenarios."""
    make_weights(enc1(found.terms, SOURCE), found.terms)
    one, two = (groups_seen(found.terms, scenario) for scenario in (1, 2))
    return Outcome(
        (*one.line("scenario 1"), *two.line("scenario 2")),
        (
            Claim(
                "with k = the client's classes the encoder sees the five groups of CIFAR-10 (ARI 0.9)",
                one.ari >= NEAR,
                one.evidence,
            ),
            Claim(
                "so it does where neighbouring groups share a class (scenario 2)",
                two.ari >= NEAR,
                two.evidence,
                main=False,
            ),
        ),
        {"scenario 1": one.links, "scenario 2": two.links},
    )


ITEM = Item(
    name="flt-cifar10-groups",
    paper=PAPER,
    title="Which clients of CIFAR-10 Enc1 finds related before anything is trained, in scenarios 1 and 2",
    differences=(
        "The paper prints accuracies that need these groups, and no picture of them. Clients, encoder and both "
        "readings are those of tables 1 and 2: 100 clients with 500 images each, k the number of a client's own "
        "classes, UMAP in two dimensions. By the text: the smallest distance, Ward's cut, C = 5 told; the ARI of "
        "scenario 1 is at the limit then, 0.887 on one processor and 0.907 on another. By the authors' code: points "
        "are matched, and a group is a connected part of the graph of clients nearer than 1. The encoder is plain, "
        "with the layers of table 13 (67,415 parameters), and learns on 30,000 images of CIFAR-10 and of ten classes "
        "of CIFAR-100, or of Tiny-ImageNet where that is not here, for 10 epochs with a batch of 64. Theirs is "
        "residual (877,723 parameters: `fedclade encoders train cifar10 --kind resae`) and learns for 60. Small "
        "scale: 25 clients with 300 images each, an encoder from 10,000 images in 3 epochs."
    ),
    rule="The planted groups are seen if the groups that are found agree with them: an ARI of 0.9 or more.",
    read=read,
    minutes={"small": 0.8, "paper": 4.0, "tiny": 0.6},
)
