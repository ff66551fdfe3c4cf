"""FLT's tables 5 to 10, read from runs made up by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedclade.data import Federation
from fedclade.nouns import Assignment
from fedclade.papers import flt_table5, flt_table6, flt_table7, flt_table8, flt_table9, flt_table10
from fedclade.papers.flt import OURS, TEN
from fedclade.papers.found import Found
from fedclade.papers.item import Item, Terms
from fedclade.papers.plans import experiment_of
from fedclade.papers.verdicts import of_line, of_outcome
from papers import printed
from papers.doubles import all_hold, climbed, found_in, holds, line, ran, stands
from papers.printed import DATA_SETS, NETS, Table, columns, rows

# --- table 5 ---------------------------------------------------------------------------------------------------------


def blocks() -> list[tuple[int, float, int]]:
    """Clients, participation, epochs."""
    return [(clients, share, epochs) for clients in (100, 500) for share in (0.2, 0.5) for epochs in (1, 5)]


def test_table_5_with_the_papers_own_numbers(tmp_path: Path) -> None:
    page = rows(printed.TABLE_5)
    found = found_in(tmp_path, flt_table5.ITEM.settings(Terms(tmp_path)))
    for clients, share, epochs in blocks():
        half, end = (page[f"{clients}, {share}, {epochs}, {rounds}"] for rounds in (50, 100))
        curves = {label: {4: half[place], 8: end[place]} for place, label in enumerate(flt_table5.METHODS)}
        climbed(found, f"s2-cifar10-M{clients}-rho{share}-E{epochs}", curves)
    outcome = flt_table5.ITEM.read(found)
    assert len(outcome.lines) == 48
    for name, numbers in page.items():
        clients_, share_, epochs_, rounds_ = name.split(", ")
        for label, number in zip(("FedSEM", "FLT (Enc1)", "FLT (Enc2)"), numbers, strict=True):
            one = line(outcome, f"M={clients_}, rho={share_}, E={epochs_}, T={rounds_}", f"{label} accuracy")
            assert one.printed == number
            assert one.ours == pytest.approx(number)
            assert of_line(one) == "reproduced"
    assert all_hold(outcome)
    assert of_outcome(outcome) == "reproduced"


@pytest.mark.parametrize("helps", ["ahead of FedSEM", "rounds", "participants", "epochs", ""])
def test_table_5_one_thing_at_a_time(helps: str, tmp_path: Path) -> None:
    """50 % everywhere, and three points more where one thing is more: only the claim about that one holds."""
    found = found_in(tmp_path, flt_table5.ITEM.settings(Terms(tmp_path)))
    for clients, share, epochs in blocks():
        base = 50 + 3 * (helps == "participants" and share == 0.5) + 3 * (helps == "epochs" and epochs == 5)
        curves = {}
        for label in ("FedSEM", "FLT (Enc1)", "FLT (Enc2)"):
            half = base + 3.0 * (helps == "ahead of FedSEM" and label != "FedSEM")
            curves[label] = {4: half, 8: half + 3 * (helps == "rounds")}
        climbed(found, f"s2-cifar10-M{clients}-rho{share}-E{epochs}", curves)
    outcome = flt_table5.ITEM.read(found)
    for words in ("ahead of FedSEM", "rounds", "participants", "epochs"):
        assert holds(outcome, words) == {words == helps}
    if not helps:
        assert of_outcome(outcome) == "not reproduced"


# --- table 6 ---------------------------------------------------------------------------------------------------------

# The paper's table 13, the half that encodes: 16 filters of 3 x 3 x 1, 4 of 3 x 3 x 16, 196 to 128; with biases.
ENCODER = (16 * 9 + 16) + (4 * 9 * 16 + 4) + (196 * 128 + 128)
# The other half: 128 to 196, 16 filters of 2 x 2 x 4, one of 2 x 2 x 16. Both together are printed.
DECODER = (128 * 196 + 196) + (4 * 16 * 4 + 16) + (16 * 4 + 1)
PERCEPTRON = 784 * 200 + 200 + 200 * 10 + 10  # table 11 for MNIST
ONE_WAY = 20 * PERCEPTRON * 10  # rho M W T: 20 of 100 clients, ten rounds
ONCE = 100 * ENCODER + 5 * 100 * 128  # M W_enc + k M e


def ledgers(folder: Path, **numbers: int) -> Found:
    """Runs that sent so many numbers of four bytes, one half of them up."""
    found = found_in(folder, flt_table6.ITEM.settings(Terms(folder)))
    for label, count in numbers.items():
        ran(found, "communication", label, result={"bytes_up": 2 * count, "bytes_down": 2 * count})
    return found


def test_the_sizes_of_table_6_are_the_papers() -> None:
    assert ENCODER + DECODER == 51_577  # "Total params: 51,577"
    assert PERCEPTRON + 52 * 200 + 52 == 169_462  # table 11 with 62 classes


def test_table_6_as_the_formulas_say(tmp_path: Path) -> None:
    """31.802 million one way: FedSEM sends 63.604, IFCA 190.812 with C = 5, FLT 2.6596 more than FedSEM."""
    assert (ONE_WAY, ONCE) == (31_802_000, 2_659_600)
    found = ledgers(tmp_path, FLT=ONCE + 2 * ONE_WAY, FedSEM=2 * ONE_WAY, IFCA=6 * ONE_WAY)
    outcome = flt_table6.ITEM.read(found)
    expected = {"FLT": 66.2636, "FedSEM": 63.604, "IFCA": 190.812}
    for label, millions in expected.items():
        (one,) = [each for each in outcome.lines if each.row == label]
        assert [one.printed, one.ours] == pytest.approx([millions, millions])
        assert of_line(one) == "reproduced"
    assert all_hold(outcome)
    assert of_outcome(outcome) == "reproduced"


def test_table_6_otherwise(tmp_path: Path) -> None:
    """FLT sends four times what it may send once, IFCA no more than FedSEM: 13 % and 67 % off."""
    found = ledgers(tmp_path, FLT=4 * ONCE + 2 * ONE_WAY, FedSEM=2 * ONE_WAY, IFCA=2 * ONE_WAY)
    outcome = flt_table6.ITEM.read(found)
    assert holds(outcome, "FLT", "once") == {False}
    assert holds(outcome, "IFCA") == {False}
    one_more = ledgers(tmp_path / "more", FLT=ONCE + 2 * ONE_WAY, FedSEM=2 * ONE_WAY, IFCA=7 * ONE_WAY)
    assert holds(flt_table6.ITEM.read(one_more), "IFCA") == {False}  # 3.5 instead of 3
    assert [of_line(each) for each in outcome.lines if each.row == "FedSEM"] == ["reproduced"]
    assert [of_line(each) for each in outcome.lines if each.row == "FLT"] == ["not reproduced"]
    assert of_outcome(outcome) == "not reproduced"


# --- tables 7 to 10 --------------------------------------------------------------------------------------------------

TRAINED: list[tuple[Item, str, str, Table, Table]] = [
    (
        item,
        f"{scenario}-{names[0]}",
        words,
        columns(page, names, train=True),
        columns(page, names, train=False),
    )
    for item, scenario, page, names, words in (
        (flt_table7.ITEM, "s1", printed.TABLE_7, DATA_SETS, "MNIST "),
        (flt_table8.ITEM, "s2", printed.TABLE_8, DATA_SETS, "MNIST "),
        (flt_table9.ITEM, "s3", printed.TABLE_9, NETS, "MLP "),
        (flt_table10.ITEM, "s4", printed.TABLE_10, NETS, "MLP "),
    )
]


def always(answers: dict[str, int]) -> Assignment:
    """Linear models of 64 pixels that give everybody one answer, whatever the picture."""
    rows_ = np.zeros((10, 650), np.float32)
    rows_[np.arange(10), 640 + np.arange(10)] = 1
    return Assignment(rows_, answers)


def shares_of(federation: Federation, answers: dict[str, int]) -> list[float]:
    """In percent: how often each client's answer is right on what it trained on."""
    return [100 * float((federation[each].train.labels == answers[each]).mean()) for each in federation.clients]


@pytest.mark.parametrize(("item", "name", "words", "train", "test"), TRAINED, ids=[each[0].name for each in TRAINED])
def test_training_accuracy(item: Item, name: str, words: str, train: Table, test: Table, tmp_path: Path) -> None:
    """On digits, five clients with two classes each. FLT's models answer with a class of their client: half is right.

    Those of the others say 0, which four of five clients do not have.
    """
    (whole,) = [each for each in item.settings(Terms(tmp_path)) if each.name == name]
    small = {"source": "digits", "world": "classes", "clients": 5, "groups": 5}
    setting = replace(whole, data=small, net={"name": "logistic"}, encoders=(), others={})
    labels = [label for label in whole.methods if label != "CFL"]
    setting = replace(setting, methods={label: {"name": "fedavg"} for label in labels})
    found = found_in(tmp_path, [setting], seeds=1)
    column = train[name.partition("-")[2]]
    told = test[name.partition("-")[2]]
    hero = next(label for label in column if label.startswith("FLT"))
    experiment = experiment_of(setting, hero)
    federation = experiment.federation()
    own = {each: int(federation[each].train.labels[0]) for each in federation.clients}
    zero = dict.fromkeys(federation.clients, 0)
    for label in labels:
        accuracy, variance = told.get(label, told[hero])
        ran(
            found,
            name,
            label,
            result={"accuracy": accuracy / 100, "accuracy_variance": variance, "ari": 1.0, "group_count": 10},
            models=always(own if label.startswith("FLT") else zero),
            asked=experiment.toml(),
        )
    outcome = item.read(found)
    best, rest = shares_of(federation, own), shares_of(federation, zero)
    assert np.mean(best) == pytest.approx(50, abs=5)
    assert np.mean(rest) == pytest.approx(10, abs=1)
    for label in labels:
        right = best if label.startswith("FLT") else rest
        accuracy_line = line(outcome, label, f"{words}train accuracy")
        variance_line = line(outcome, label, f"{words}train variance")
        assert accuracy_line.ours == pytest.approx(sum(right) / 5)
        assert not accuracy_line.aside  # all have learned something, by their test accuracy
        assert variance_line.ours == pytest.approx(np.var(right), rel=1e-5)
        if label in column:
            assert (accuracy_line.printed, variance_line.printed) == column[label]
            assert line(outcome, label, f"{words}accuracy").printed == told[label][0]
            assert line(outcome, label, f"{words}variance").printed == told[label][1]
            assert of_line(line(outcome, label, f"{words}accuracy")) == "reproduced"
        else:
            assert label in (OURS, TEN)
            assert accuracy_line.printed is None
    assert holds(outcome, "FLT", "FedAvg", "%") == {True}
    assert stands(outcome)
    assert of_outcome(outcome) == "same direction"  # training accuracies are far from the printed ones
