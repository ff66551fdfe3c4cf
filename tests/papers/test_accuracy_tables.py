"""FLT's tables of accuracies, read from runs made up by hand: the paper's own numbers, others, and worse ones."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade.papers import flt_table1, flt_table2, flt_table3, flt_table4
from fedclade.papers.accuracy import half_to_double
from fedclade.papers.flt import OURS, TEN
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Terms
from fedclade.papers.verdicts import of_line, of_outcome
from papers import printed
from papers.doubles import all_hold, found_in, holds, line, ran, scored, stands
from papers.printed import DATA_SETS, NETS, Table, columns

WORDS = {"mnist": "MNIST ", "cifar10": "CIFAR-10 ", "mlp": "MLP ", "leaf_cnn": "CNN "}
TABLES: list[tuple[Item, str, Table]] = [
    (flt_table1.ITEM, "s1", columns(printed.TABLE_1, DATA_SETS)),
    (flt_table2.ITEM, "s2", columns(printed.TABLE_2, DATA_SETS)),
    (flt_table3.ITEM, "s3", columns(printed.TABLE_3, NETS)),
    (flt_table4.ITEM, "s4", columns(printed.TABLE_4, NETS)),
]
every_table = pytest.mark.parametrize(("item", "scenario", "page"), TABLES, ids=lambda each: getattr(each, "name", ""))


def runs(folder: Path, item: Item, scenario: str, page: Table, *, less: float = 0.0, ari: float = 1.0) -> Found:
    """The item's runs with the numbers of the page, or so many points less; what is not printed has those of FLT."""
    found = found_in(folder, item.settings(Terms(folder)), seeds=1)
    for name, column in page.items():
        setting = f"{scenario}-{name}"
        scores = {label: (column[label][0] - less, column[label][1]) for label in column if was_run(found, name, label)}
        flt = next(label for label in column if label.startswith("FLT"))
        write(found, setting, {**dict.fromkeys(found.labels(setting), scores[flt]), **scores}, ari)
    return found


def was_run(found: Found, name: str, label: str) -> bool:
    """CFL with the CNN of scenario 3 is too large: it is printed, and not run."""
    return (name, label) != ("leaf_cnn", "CFL") or not found.has("s3-leaf_cnn")


def of_other_task(found: Found) -> bool:
    """Writers of MNIST stand in for those of FEMNIST, where a folder with data has those only."""
    return found.settings[0].data["source"] == "mnist-writers"


def write(found: Found, setting: str, scores: Mapping[str, tuple[float, float]], ari: float = 1.0) -> None:
    assert set(scores) == set(found.labels(setting))
    scored(found, setting, scores, ari=dict.fromkeys(scores, ari), group_count=dict.fromkeys(scores, 10.0))


@every_table
def test_the_papers_own_numbers_reproduce_it(item: Item, scenario: str, page: Table, tmp_path: Path) -> None:
    """Every printed number is a line, and ours is the same. The item stands.

    It is reproduced as a whole, but for sentences of the paper that its own numbers do not bear out.
    """
    found = runs(tmp_path, item, scenario, page)
    outcome = item.read(found)
    shown = {(each.row, each.column): each for each in outcome.lines if not each.column.endswith("ARI")}
    for name, column in page.items():
        for method, numbers in column.items():
            for figure, number in zip(("accuracy", "variance"), numbers, strict=True):
                if (name, method) == ("leaf_cnn", "CFL"):
                    continue
                one = shown.pop((method, f"{WORDS[name]}{figure}"))
                assert one.printed == number
                assert one.ours == pytest.approx(number)
                assert of_line(one) == "reproduced" or of_other_task(found)
    unprinted = {row for row, _ in shown} - {"CFL"}
    assert unprinted == {OURS, TEN} & {row for row, _ in shown}
    assert all(each.printed is None for (row, _), each in shown.items() if row in unprinted)
    assert holds(outcome, "FLT", "FedAvg", "%") == {True}
    assert stands(outcome)
    assert of_outcome(outcome) == ("reproduced" if all_hold(outcome) and not of_other_task(found) else "same direction")


@every_table
def test_a_point_less_is_reproduced(item: Item, scenario: str, page: Table, tmp_path: Path) -> None:
    """But of another task, writers of digits instead of letters and digits: that has only a direction."""
    found = runs(tmp_path, item, scenario, page, less=1)
    judged = [each for each in item.read(found).lines if each.column.endswith("accuracy") and each.printed]
    wanted = "same direction" if of_other_task(found) else "reproduced"
    assert {of_line(each) for each in judged if each.ours} == {wanted}


@every_table
def test_three_points_less_have_the_same_direction(item: Item, scenario: str, page: Table, tmp_path: Path) -> None:
    """Three points are more than the two of the rule; who is ahead of whom is as printed."""
    outcome = item.read(runs(tmp_path, item, scenario, page, less=3))
    judged = [each for each in outcome.lines if each.column.endswith("accuracy") and each.printed and each.ours]
    assert len(judged) == sum(len(column) for column in page.values()) - (scenario == "s3")
    for each in judged:
        assert each.printed is not None
        assert each.ours == pytest.approx(each.printed - 3)
        assert of_line(each) == "same direction"
    assert holds(outcome, "FLT", "FedAvg", "%") == {True}
    assert stands(outcome)
    assert of_outcome(outcome) == "same direction"


@every_table
def test_an_flt_behind_fedavg_does_not_reproduce_it(item: Item, scenario: str, page: Table, tmp_path: Path) -> None:
    """FedAvg has 90 %, every FLT has 60 %: no claim that compares them holds, nor is a line as printed."""
    found = found_in(tmp_path, item.settings(Terms(tmp_path)), seeds=1)
    for name in page:
        setting = f"{scenario}-{name}"
        scores = {label: (60.0 if label.startswith("FLT") else 90.0, 10.0) for label in found.labels(setting)}
        write(found, setting, scores, ari=0.2)
    outcome = item.read(found)
    assert holds(outcome, "FLT", "FedAvg", "%") == {False}
    for name, column in page.items():
        for label in column:
            if label.startswith("FLT") and column[label][0] > column["FedAvg"][0]:
                assert of_line(line(outcome, label, f"{WORDS[name]}accuracy")) == "not reproduced"
    assert of_outcome(outcome) == "not reproduced"


def test_writers_of_digits_are_another_task(tmp_path: Path) -> None:
    """The same points less are reproduced of FEMNIST, and have a direction of MNIST's writers."""
    for source, verdict in (("femnist", "reproduced"), ("mnist-writers", "same direction")):
        item = flt_table3.ITEM
        settings = [replace(each, data={**each.data, "source": source}) for each in item.settings(Terms(tmp_path))]
        found = found_in(tmp_path / source, settings, seeds=1)
        page = TABLES[2][2]
        for name, column in page.items():
            scores = {label: (both[0] - 1, both[1]) for label, both in column.items() if was_run(found, name, label)}
            write(found, f"s3-{name}", {**dict.fromkeys(found.labels(f"s3-{name}"), scores["FLT"]), **scores})
        judged = [each for each in item.read(found).lines if each.column.endswith("accuracy") and each.printed]
        assert {of_line(each) for each in judged if each.ours} == {verdict}


@pytest.mark.parametrize(("item", "name"), [(flt_table1.ITEM, "s1-mnist"), (flt_table4.ITEM, "s4-mlp")])
def test_as_published_there_is_nothing_of_ours(item: Item, name: str, tmp_path: Path) -> None:
    settings = [each for each in item.settings(Terms(tmp_path, published=True)) if each.name == name]
    found = found_in(tmp_path, settings, seeds=1)
    write(found, name, dict.fromkeys(found.labels(name), (90.0, 1.0)))
    outcome = item.read(found)
    assert OURS not in {each.row for each in outcome.lines}
    assert not any("class moments" in claim.text for claim in outcome.claims)
    assert holds(outcome, "FedAvg") == {False}


def test_as_good_as_others_is_not_ahead(tmp_path: Path) -> None:
    """Writers: FLT has what everybody has, or 0.4 points more, or 0.6."""
    for more, ahead in ((0.0, False), (0.4, False), (0.6, True)):
        found = found_in(tmp_path / str(more), flt_table3.ITEM.settings(Terms(tmp_path)), seeds=1)
        for setting in found.settings:
            scores = dict.fromkeys(found.labels(setting.name), (80.0, 10.0))
            write(found, setting.name, {**scores, "FLT": (80.0 + more, 10.0)})
        assert holds(flt_table3.ITEM.read(found), "FLT is ahead of") == {ahead}


def test_a_part_has_its_own_lines_only(tmp_path: Path) -> None:
    settings = [each for each in flt_table1.ITEM.settings(Terms(tmp_path)) if each.name == "s1-mnist"]
    found = found_in(tmp_path, settings, seeds=1)
    write(found, "s1-mnist", dict.fromkeys(found.labels("s1-mnist"), (90.0, 1.0)))
    outcome = flt_table1.ITEM.read(found)
    assert {each.column for each in outcome.lines} == {"MNIST accuracy", "MNIST variance", "MNIST ARI"}
    aris = {each.row: (each.printed, each.ours) for each in outcome.lines if each.column == "MNIST ARI"}
    assert aris == dict.fromkeys(set(found.labels("s1-mnist")) - {"FedAvg", "Local"}, (None, 1.0))
    assert holds(outcome, "FLT (Enc1)", "FedAvg", "%") == {False}  # equal is not far ahead
    assert holds(outcome, "ahead of Local") == {False}
    assert holds(outcome, "as good as FedSEM") == {True}


def test_who_has_learned_nothing_does_not_count(tmp_path: Path) -> None:
    """In scenario 2 the same answer to everything has 13.3 %: 18 % are not far ahead of FedAvg's 7 %, 19 % are."""
    for flt, far in ((18.0, False), (19.0, True)):
        settings = [each for each in flt_table2.ITEM.settings(Terms(tmp_path)) if each.name == "s2-cifar10"]
        found = found_in(tmp_path / str(flt), settings, seeds=1)
        scores = dict.fromkeys(found.labels("s2-cifar10"), (flt, 1.0))
        write(found, "s2-cifar10", {**scores, "FedAvg": (7.0, 19.18), "Local": (13.5, 1.0)})
        outcome = flt_table2.ITEM.read(found)
        assert holds(outcome, "far ahead of FedAvg") == {far}
        aside = {each.row for each in outcome.lines if each.column == "CIFAR-10 accuracy" and each.aside}
        assert aside == {"FedAvg", "Local"}
        (note,) = outcome.notes
        assert note.startswith("CIFAR-10: the models of FedAvg, Local are no better")
        (told,) = [claim.told for claim in outcome.claims if "(Enc1) is far ahead" in claim.text]
        assert told == f"FLT (Enc1) {flt:.1f} %, FedAvg 7.0 %, the same answer to everything 13.3 %"


def test_encoders_that_differ(tmp_path: Path) -> None:
    """97 and 95 % are more than a point apart, 97 and 96.5 % are not."""
    for second, same in ((95.0, False), (96.5, True)):
        settings = [each for each in flt_table1.ITEM.settings(Terms(tmp_path)) if each.name == "s1-mnist"]
        found = found_in(tmp_path / str(second), settings, seeds=1)
        scores = dict.fromkeys(found.labels("s1-mnist"), (80.0, 1.0))
        write(found, "s1-mnist", {**scores, "FLT (Enc1)": (97.0, 1.0), "FLT (Enc2)": (second, 1.0)})
        assert holds(flt_table1.ITEM.read(found), "encoder") == {same}


def test_groups_that_are_not_found(tmp_path: Path) -> None:
    """All accuracies as printed, and an adjusted Rand index of 0.94: the claims about groups fail, the others hold."""
    outcome = flt_table4.ITEM.read(runs(tmp_path, flt_table4.ITEM, "s4", TABLES[3][2], ari=0.94))
    assert holds(outcome, "groups", "ARI") == {False}
    assert holds(outcome, "FedAvg", "%") == {True}
    assert of_outcome(outcome) == "not reproduced"


def test_a_number_that_was_not_run_is_shown_beside_nothing(tmp_path: Path) -> None:
    """CFL with the CNN: 76.68 is printed."""
    outcome = flt_table3.ITEM.read(runs(tmp_path, flt_table3.ITEM, "s3", TABLES[2][2]))
    missing = line(outcome, "CFL", "CNN accuracy")
    assert (missing.printed, missing.ours, of_line(missing)) == (76.68, None, "")


def test_seeds_are_a_mean_and_a_deviation(tmp_path: Path) -> None:
    """80 and 84 %: 82 and 2; FLT's 96 and 97 %: 96.5 and 0.5. Variances 4 and 10: 7 and 3."""
    settings = [each for each in flt_table1.ITEM.settings(Terms(tmp_path)) if each.name == "s1-mnist"]
    found = found_in(tmp_path, settings, seeds=2)
    for label in found.labels("s1-mnist"):
        for seed, (base, best, variance) in enumerate(((0.80, 0.96, 4.0), (0.84, 0.97, 10.0))):
            reached = best if label.startswith("FLT") else base
            ran(found, "s1-mnist", label, seeds=[seed], result={"accuracy": reached, "accuracy_variance": variance})
    outcome = flt_table1.ITEM.read(found)
    fedavg, flt = (line(outcome, label, "MNIST accuracy") for label in ("FedAvg", "FLT (Enc1)"))
    assert [fedavg.ours, fedavg.deviation] == pytest.approx([82, 2])
    assert [flt.ours, flt.deviation] == pytest.approx([96.5, 0.5])
    spread = line(outcome, "FedAvg", "MNIST variance")
    assert [spread.ours, spread.deviation] == pytest.approx([7, 3])


@pytest.mark.parametrize(
    ("ours", "near"), [(49.0, False), (50.0, True), (100.0, True), (200.0, True), (201.0, False)], ids=str
)
def test_a_variance_may_be_half_or_twice_the_printed_one(ours: float, near: bool) -> None:
    assert (abs(ours - 100) <= half_to_double(100, ours)) is near
