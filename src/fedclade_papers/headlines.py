"""The first screen of the page of results: what the papers claim, whether it is true, and the numbers behind it.

Every verdict and number is looked up in the stored results; only the sentences are written here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedclade_papers.cfl_figure9 import EXACT, THRESHOLDS
from fedclade_papers.item_pages import hours_text, verdict_text
from fedclade_papers.result_files import as_tables, number_text
from fedclade_papers.verdict_units import Unit
from fedclade_papers.verdicts import Reading

OURS = "FLT, class moments"


@dataclass(frozen=True)
class Truth:
    """A claim in plain words, and the claim of an item that settles it."""

    says: str
    unit: str
    claim: str = ""
    """How the item's claim begins; empty: the verdict of the item."""


@dataclass(frozen=True)
class Cell:
    """One number of a stored result."""

    unit: str
    reading: Reading
    row: str
    column: str
    printed: bool = False


@dataclass(frozen=True)
class Headline:
    """What is said of a paper on the first screen."""

    paper: str
    truths: tuple[Truth, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | str, ...]], ...]
    note: str
    """What a reader must know to read the numbers."""
    picture: str
    caption: str


def truth_rows(headline: Headline, units: Mapping[str, Unit]) -> list[tuple[str, ...]]:
    """Each claim with its verdict and what was seen."""
    return [
        (headline.paper, each.says, *verdict_and_evidence(units[each.unit], each.claim)) for each in headline.truths
    ]


def verdict_and_evidence(unit: Unit, begin: str) -> tuple[str, str]:
    """The verdict as a link to the item's page, and what was seen in the reading that decides."""
    link = f"results/{unit.whole_name}.md"
    if not begin or not unit.results:
        main = [each.verdict for each in unit.claims if each.is_main and each.is_by_paper]
        held = sum(each.startswith("reproduced") for each in main)
        seen = f"{held} of {len(main)} main claims" if main and unit.verdict != "not testable here" else ""
        return f"[{verdict_text(unit)}]({link})", seen
    (claim,) = (each for each in unit.claims if each.text.startswith(begin))
    order: Sequence[Reading] = (
        ("code", "text") if claim.verdict == "reproduced by the authors' code" else ("text", "code")
    )
    evidence = next(claim.seen[reading] for reading in order if reading in claim.seen)
    verdict = f"{claim.verdict}, {hours_text(unit)}" if claim.verdict == "open" else claim.verdict
    return f"[{verdict}]({link})", "" if claim.verdict == "open" else evidence.partition(". ")[0]


def number_rows(headline: Headline, units: Mapping[str, Unit]) -> list[tuple[str, ...]]:
    """The headline table of a paper."""
    return [
        (name, *(each if isinstance(each, str) else cell_text(each, units) for each in cells))
        for name, cells in headline.rows
    ]


def cell_text(cell: Cell, units: Mapping[str, Unit]) -> str:
    """The number of a cell; a dash where it was not run."""
    results = units[cell.unit].results
    result = results.get(cell.reading, next(iter(results.values()), None) if cell.printed else None)
    if result is None:
        return "-"
    for line in as_tables(result["lines"]):
        if (line["row"], line["column"]) == (cell.row, cell.column):
            return number_text(line["printed"] if cell.printed else line["ours"])
    raise KeyError(f"{cell.unit} has no number {cell.row}, {cell.column}")


def accuracy_row(
    name: str, unit: str, row: str, column: str, default: str = OURS
) -> tuple[str, tuple[Cell | str, ...]]:
    """Printed, by the text, by the authors' code, by fedclade's default."""
    return name, (
        Cell(unit, "text", row, column, printed=True),
        Cell(unit, "text", row, column),
        Cell(unit, "code", row, column),
        Cell(unit, "text", default, column) if default else "-",
    )


FLT_COLUMNS = ("printed", "by the text", "by the authors' code", "fedclade's default")
FLT = Headline(
    "FLT",
    (
        Truth(
            "Where groups have disjoint classes, FLT reaches 98 % on MNIST",
            "flt-table1:mnist",
            "MNIST FLT has the printed",
        ),
        Truth(
            "Where neighbouring groups share a class, it reaches 97 %", "flt-table2:mnist", "MNIST FLT has the printed"
        ),
        Truth("There it is far ahead of FedAvg", "flt-table2:mnist", "MNIST FLT is far ahead of FedAvg"),
        Truth("There it is ahead of FedSEM, by three points", "flt-table2:mnist", "MNIST FLT is ahead of FedSEM"),
        Truth(
            "With 2,400 clients in ten groups it reaches 86.5 %",
            "flt-table4:mlp",
            "MLP FLT has the printed",
        ),
        Truth(
            "There it is far ahead of FedAvg, by 40 points", "flt-table4:mlp", "MLP FLT is 15 points ahead of FedAvg"
        ),
        Truth("It detects by itself that there are ten groups", "flt-figure6", "FLT detects"),
        Truth("It converges in roughly 20 rounds", "flt-figure5:mlp", "MLP FLT converges"),
        Truth("It sends hardly more than FedSEM, and a third of IFCA's numbers", "flt-table6"),
        Truth("On writers of FEMNIST it is ahead of FedSEM by one to two points", "flt-table3:mlp"),
        Truth("Theorem 1 bounds the clustering error", "flt-theory", "Theorem 1 bounds"),
        Truth("Theorem 2 bounds the change of models on any graph", "flt-theory", "Theorem 2 bounds"),
        Truth("On CIFAR-10 it is ahead of FedSEM by 9 points (disjoint classes)", "flt-table1:cifar10"),
    ),
    FLT_COLUMNS,
    (
        accuracy_row("FedAvg, scenario 1, MNIST (%)", "flt-table1:mnist", "FedAvg", "MNIST accuracy", ""),
        accuracy_row("FLT, scenario 1, MNIST (%)", "flt-table1:mnist", "FLT (Enc1)", "MNIST accuracy"),
        accuracy_row("FedAvg, scenario 2, MNIST (%)", "flt-table2:mnist", "FedAvg", "MNIST accuracy", ""),
        accuracy_row("FLT, scenario 2, MNIST (%)", "flt-table2:mnist", "FLT (Enc1)", "MNIST accuracy"),
        accuracy_row("FedAvg, scenario 4, 2,400 clients (%)", "flt-table4:mlp", "FedAvg", "MLP accuracy", ""),
        accuracy_row("FLT, scenario 4, 2,400 clients (%)", "flt-table4:mlp", "FLT", "MLP accuracy"),
        accuracy_row(
            "FLT, scenario 4, rounds to converge", "flt-figure5:mlp", "FLT", "MLP rounds to 95 % of its final accuracy"
        ),
    ),
    "By the authors' code: distances, links and the encoder are as in their files. In scenario 4 clients train as the "
    "text says, since with their files FedAvg has 20.1 % where 46.50 are printed. fedclade's default is FLT by class "
    "moments.",
    "flt-figure5-mlp-paper-as-published.svg",
    "Scenario 4 with 2,400 clients, FLT by the authors' code: from round 20 on it is ahead of all others.",
)
POINTS_COLUMN = "data points from which the gap of updates is over 0"
ROUNDS_COLUMN = "rounds from which the gap of updates stays over 0"
PERMUTED = "cfl-figure9:mnist"
PLACED_COLUMN = "% of newcomers placed with their group"


def text_row(name: str, unit: str, row: str, column: str, default: str = "") -> tuple[str, tuple[Cell | str, ...]]:
    """Printed, by the text, by fedclade's default."""
    return name, (
        Cell(unit, "text", row, column, printed=True),
        Cell(unit, "text", row, column),
        Cell(unit, "text", default, column) if default else "-",
    )


def default_row(name: str, unit: str, row: str, column: str) -> tuple[str, tuple[Cell | str, ...]]:
    """What is only run with fedclade's default."""
    return name, ("-", "-", Cell(unit, "text", row, column))


CFL = Headline(
    "CFL",
    (
        Truth(
            "Theorem 1 and Corollary 1 hold, and Algorithm 1 finds the best cut",
            "cfl-theory",
        ),
        Truth(
            "For more than 10 groups the cut is right even with more noise than signal",
            "cfl-figure3",
            "for K > 10",
        ),
        Truth(
            "10 rounds are enough to tell groups apart by updates (separation gap over 0)",
            "cfl-figure7:mnist",
            "MNIST: 10 rounds",
        ),
        Truth(
            "20 data points of each client are enough on MNIST (separation gap over 0)",
            "cfl-figure6:mnist",
            "MNIST: 20 data points",
        ),
        Truth(
            "Recommended thresholds split only clusters whose clients need different models (30 pairs were tried)",
            "cfl-thresholds",
            "with eps1 about a tenth of the largest",
        ),
        Truth(
            "Newcomers walk down the parameter tree (built by fedclade's default) to their own group", "cfl-newcomers"
        ),
        Truth("With permuted labels on CIFAR-10 accuracy goes from 20 % to 60 %", "cfl-figure9:cifar10"),
        Truth("On news it lowers the perplexity from 42 to 36", "cfl-figure10"),
    ),
    ("printed", "by the text", "fedclade's default"),
    (
        text_row(
            "fewest data points of a client with which updates separate groups, MNIST",
            "cfl-figure6:mnist",
            "MNIST",
            POINTS_COLUMN,
        ),
        text_row("first round from which they do, MNIST", "cfl-figure7:mnist", "MNIST", ROUNDS_COLUMN),
        text_row("FedAvg, permuted labels, MNIST (%)", PERMUTED, "FedAvg", "MNIST accuracy"),
        text_row("CFL, permuted labels, MNIST (%)", PERMUTED, THRESHOLDS, "MNIST accuracy", "CFL"),
        text_row(
            "runs that find exactly the four groups there (%)", PERMUTED, THRESHOLDS, EXACT.format("MNIST"), "CFL"
        ),
        default_row("newcomers placed right, permuted labels (%)", "cfl-newcomers", "label-permutation", PLACED_COLUMN),
        default_row("newcomers placed right, swapped labels (%)", "cfl-newcomers", "label-swap", PLACED_COLUMN),
    ),
    "The text recommends thresholds (section V-B); fedclade's default has a rule of its own and needs none. Newcomers "
    "were placed in trees that the default has built.",
    "cfl-figure7-mnist-paper.svg",
    "MNIST, swapped labels: over 0 the best cut of the clients in two keeps every true group whole.",
)
SAVED = "{}: % of FedAvg's rounds saved"
MIXES = ("2C-1", "2C-2", "5C", "2C-1 sharp")


def session_row(data: str, mix: str) -> tuple[str, tuple[Cell | str, ...]]:
    """One session with ten clients: FedAvg's rounds printed and ours, and what is saved."""
    unit, row = f"abc-table1:{data.lower()}_N10", f"{data} {mix}, N=10, K=2"
    return f"{data} {mix}", (
        Cell(unit, "text", row, "FedAvg", printed=True),
        Cell(unit, "text", row, "FedAvg"),
        Cell(unit, "text", row, SAVED.format("ABC"), printed=True),
        *(
            Cell(unit, "text", row, SAVED.format(label))
            for label in ("ABC", "ABC, groups of drifts", "ABC, told the clusters", "least used")
        ),
    )


ABC = Headline(
    "ABC",
    (
        Truth(
            "On MNIST, ABC needs fewer rounds than FedAvg (ten clients)",
            "abc-table1:emnist_N10",
            "EMNIST, N=10: ABC needs",
        ),
        Truth("On Fashion-MNIST, too", "abc-table1:fmnist_N10", "FMNIST, N=10: ABC needs"),
        Truth(
            "On Fashion-MNIST, even with a network that was trained on MNIST",
            "abc-table1:fmnist_N10",
            "FMNIST, N=10: so does ABC with the network of EMNIST",
        ),
        Truth("It saves up to 75 % of the rounds, MNIST", "abc-table1:emnist_N10", "EMNIST, N=10: in its best"),
        Truth("It saves up to 75 % of the rounds, Fashion-MNIST", "abc-table1:fmnist_N10", "FMNIST, N=10: in its best"),
        Truth("Its curve is steadier, MNIST", "abc-figure6:emnist_N10", "EMNIST: ABC's curve is less wiggly"),
        Truth("Its curve is steadier, Fashion-MNIST", "abc-figure6:fmnist_N10", "FMNIST: ABC's curve is less wiggly"),
        Truth("The network's scores tell the clusters apart", "abc-figure5"),
        Truth("On CIFAR-10 it needs fewer rounds (ten clients)", "abc-table1:cifar10_N10"),
    ),
    (
        "FedAvg's rounds, printed",
        "FedAvg's rounds, ours",
        "ABC saves (%), printed",
        "ABC saves (%), ours",
        "groups of drifts, fedclade's default, save (%)",
        "ABC that is told the clusters saves (%)",
        "the least used save (%)",
    ),
    tuple(session_row(data, mix) for data in ("EMNIST", "FMNIST") for mix in MIXES),
    "Rounds up to the paper's target accuracy, means of three seeds; negative: more rounds than FedAvg. FedAvg draws "
    "participants at random; as in Algorithm 1 only the participants receive the new model, with FedAvg too. EMNIST "
    "is the paper's name of digits that are MNIST here. Our FedAvg is quicker than the printed one, whose step size "
    "is not known. Sharp: 99 % of a client's examples, instead of 90, are of its own half of the classes; the paper "
    "has no such mix.",
    "abc-figure6-fmnist_N10-paper.svg",
    "Fashion-MNIST, 2C-1, ten clients, only the picked receive the model: accuracy of the central model.",
)
HEADLINES: tuple[Headline, ...] = (FLT, CFL, ABC)
