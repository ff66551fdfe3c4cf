"""FLT's tables 1 to 4, read from runs made up by hand: the paper's own numbers, others, and worse ones."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade_papers import accuracy, flt_table1, flt_table2, flt_table3, flt_table4
from fedclade_papers.flt import OURS
from fedclade_papers.item import Item, Outcome, Terms
from fedclade_papers.run_results import ItemRuns, SeedStatistics
from papers import printed
from papers.doubles import found_in, holds, ran, runs_of, shown
from papers.printed import Table

WORDS = {"mnist": "MNIST ", "cifar10": "CIFAR-10 ", "mlp": "MLP ", "leaf_cnn": "CNN "}
NOT_RUN = ("s3-leaf_cnn", "CFL")  # too large: it is printed, and not run
ONE, TWO, THREE, FOUR = (each.ITEM for each in (flt_table1, flt_table2, flt_table3, flt_table4))
PAGES: dict[str, tuple[Item, Table]] = {
    "s1": (ONE, printed.TABLE_1),
    "s2": (TWO, printed.TABLE_2),
    "s3": (THREE, printed.TABLE_3),
    "s4": (FOUR, printed.TABLE_4),
}


def write(
    found: ItemRuns, setting: str, scores: Mapping[str, tuple[float, float]], ari: float = 1.0, groups: int = 10
) -> None:
    """Runs that end with these accuracies in percent, and variances."""
    assert set(scores) == set(found.labels(setting))
    for label, (score, variance) in scores.items():
        result = {"accuracy": score / 100, "accuracy_variance": variance, "ari": ari, "group_count": groups}
        ran(found, setting, label, result=result)


def read_page(
    folder: Path, scenario: str, *, less: float = 0.0, factor: float = 1.0, ari: float = 1.0, writers: str = "femnist"
) -> Outcome:
    """Read runs with the accuracies of a page or so many points less, and its variances by a factor.

    A method that is not printed has the numbers of FLT.
    """
    item, page = PAGES[scenario]
    sources = {"source": writers} if scenario == "s3" else {}
    settings = [replace(each, data={**each.data, **sources}) for each in item.settings(Terms(folder))]
    found = found_in(folder, settings, seeds=1)
    for name, column in page.items():
        setting = f"{scenario}-{name}"
        scores = {label: (one - less, factor * other) for label, (one, other) in column.items()}
        scores = {label: both for label, both in scores.items() if (setting, label) != NOT_RUN}
        flt = next(label for label in column if label.startswith("FLT"))
        write(found, setting, {**dict.fromkeys(found.labels(setting), scores[flt]), **scores}, ari)
    return item.read(found)


def read_one(folder: Path, item: Item, setting: str, scores: Mapping[str, float], others: float) -> Outcome:
    """Read the runs of one setting with these accuracies, and the last one for all other methods."""
    found = runs_of(folder, item, setting=setting, seeds=1)
    write(found, setting, {label: (scores.get(label, others), 1.0) for label in found.labels(setting)})
    return item.read(found)


@pytest.fixture(autouse=True)
def no_training_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs here have no models: accuracy on training examples is said to be 50 %. Another test makes it of models."""
    same = SeedStatistics(50.0, 0.0)
    monkeypatch.setattr(accuracy, "on_training_examples", lambda *_: (same, same))


@pytest.mark.parametrize("scenario", PAGES)
@pytest.mark.parametrize("less", [0, 1.9, 2.1])
def test_numbers_near_the_printed_ones(scenario: str, less: float, tmp_path: Path) -> None:
    """Every printed number is a line, of test and of training examples. FLT has its accuracy within two points."""
    outcome = read_page(tmp_path, scenario, less=less, factor=1.5)
    rows = {(each.row, each.column) for each in outcome.lines if not each.column.endswith("ARI")}
    for name, column in PAGES[scenario][1].items():
        for method in (each for each in column if (f"{scenario}-{name}", each) != NOT_RUN):
            score, variance = column[method]
            one, other = ((method, f"{WORDS[name]}{what}") for what in ("accuracy", "variance"))
            assert shown(outcome, *one) == (score, round(score - less, 9))
            assert shown(outcome, *other) == (variance, round(1.5 * variance, 9))
            rows -= {one, other}
            assert shown(outcome, method, f"{WORDS[name]}train accuracy")[1] == 50
    others = {row for row, column in rows if "train" not in column}
    assert others <= {"CFL", OURS}
    assert all(shown(outcome, *key)[0] is None for key in rows if key[0] == OURS)
    assert holds(outcome, "FLT", "FedAvg", "%") == {True}
    assert scenario != "s3" or holds(outcome, "varies less") == {True}
    assert scenario == "s3" or holds(outcome, "has the printed accuracy") == {less < 2}


@pytest.mark.parametrize("scenario", PAGES)
def test_an_flt_behind_fedavg(scenario: str, tmp_path: Path) -> None:
    """FedAvg has 90 %, every FLT has 60 %: no claim that compares them holds."""
    item, _ = PAGES[scenario]
    found = runs_of(tmp_path, item, seeds=1)
    for setting in found.settings:
        scores = {label: (60.0 if label.startswith("FLT") else 90.0, 10.0) for label in setting.methods}
        write(found, setting.name, scores, ari=0.2)
    assert holds(item.read(found), "FLT", "FedAvg", "%") == {False}


def test_what_is_printed_and_not_run(tmp_path: Path) -> None:
    assert shown(read_page(tmp_path, "s3"), "CFL", "CNN accuracy") == (76.68, None)


def test_only_what_the_paper_says_of_flt_decides(tmp_path: Path) -> None:
    """Rivals are beside it, and class moments are fedclade's own."""
    outcome = read_page(tmp_path, "s4")
    main = {claim.text for claim in outcome.claims if claim.main}
    assert main == {
        f"{net} {text}"
        for net, accuracy in (("MLP", "86.51"), ("CNN", "93.69"))
        for text in (
            f"FLT has the printed accuracy, {accuracy} % (within 2 points)",
            "FLT is 15 points ahead of FedAvg",
        )
    }
    assert {claim.by_paper for claim in outcome.claims if "class moments" in claim.text} == {False}
    assert {claim.by_paper for claim in outcome.claims if "class moments" not in claim.text} == {True}


def test_groups_that_are_not_found(tmp_path: Path) -> None:
    """All accuracies as printed, and an adjusted Rand index of 0.94: the claims about groups fail, the others hold."""
    outcome = read_page(tmp_path, "s4", ari=0.94)
    assert holds(outcome, "ARI") == {False}
    assert holds(outcome, "FedAvg", "%") == {True}


@pytest.mark.parametrize(
    ("item", "setting", "scores", "others", "words", "expected"),
    [
        (ONE, "s1-mnist", {}, 90.0, "far ahead of FedAvg", False),  # equal is not ahead
        (ONE, "s1-mnist", {}, 90.0, "ahead of Local", False),
        (ONE, "s1-mnist", {}, 90.0, "as good as FedSEM", True),
        (ONE, "s1-mnist", {"FLT (Enc1)": 97.0, "FLT (Enc2)": 95.0}, 80.0, "encoder", False),  # over a point apart
        (ONE, "s1-mnist", {"FLT (Enc1)": 97.0, "FLT (Enc2)": 96.5}, 80.0, "encoder", True),
        (TWO, "s2-cifar10", {"FedAvg": 7.0}, 18.0, "far ahead of FedAvg", False),  # 13.3 % is one answer to everything
        (TWO, "s2-cifar10", {"FedAvg": 7.0}, 19.0, "far ahead of FedAvg", True),
        (THREE, "s3-mlp", {"FLT": 80.4}, 80.0, "FLT is ahead of", False),
        (THREE, "s3-mlp", {"FLT": 80.6}, 80.0, "FLT is ahead of", True),
    ],
)
def test_a_claim_begins_at_its_margin(
    item: Item, setting: str, scores: dict[str, float], others: float, words: str, expected: bool, tmp_path: Path
) -> None:
    assert holds(read_one(tmp_path, item, setting, scores, others), words) == {expected}


def test_one_group_is_ahead_of_nothing_but_fedavg(tmp_path: Path) -> None:
    """All clients in one group have FedAvg's model."""
    found = runs_of(tmp_path, ONE, setting="s1-mnist", seeds=1)
    scores = {label: (99.0 if label.startswith("FLT") else 80.0, 1.0) for label in found.labels("s1-mnist")}
    write(found, "s1-mnist", scores, groups=1)
    outcome = ONE.read(found)
    assert holds(outcome, "far ahead of FedAvg") == {True}
    assert holds(outcome, "one model for everybody") == holds(outcome, "ahead of Local") == {False}


def test_a_part_has_its_own_lines_only(tmp_path: Path) -> None:
    """In scenario 2 the same answer to everything has 13.3 %: methods that have learned nothing are named."""
    outcome = read_one(tmp_path, TWO, "s2-cifar10", {"FedAvg": 7.0, "Local": 13.5}, 19.0)
    columns = ("accuracy", "variance", "ARI", "train accuracy", "train variance")
    assert {each.column for each in outcome.lines} == {f"CIFAR-10 {column}" for column in columns}
    with_groups = {each.row for each in outcome.lines if each.column == "CIFAR-10 ARI"}
    assert {each.row for each in outcome.lines} - with_groups == {"FedAvg", "Local"}
    assert outcome.notes[0].startswith("CIFAR-10: the models of FedAvg, Local are no better")


def test_seeds_are_a_mean_and_a_deviation(tmp_path: Path) -> None:
    """80 and 84 %: 82 and 2. Variances 4 and 10: 7 and 3."""
    found = runs_of(tmp_path, ONE, setting="s1-mnist", seeds=2)
    for label in found.labels("s1-mnist"):
        for seed, (score, variance) in enumerate(((0.80, 4.0), (0.84, 10.0))):
            result = {"accuracy": score, "accuracy_variance": variance, "ari": 1.0}
            ran(found, "s1-mnist", label, seeds=[seed], result=result)
    lines = [each for each in ONE.read(found).lines if each.row == "FedAvg" and "train" not in each.column]
    assert {each.column: [each.ours, each.deviation] for each in lines} == {
        "MNIST accuracy": pytest.approx([82, 2]),
        "MNIST variance": pytest.approx([7, 3]),
    }
