"""Early stopping: the models of the best round, by examples that nothing was trained on."""

import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclade as fc
from fedclade.client.examples import data_for, split_held_out
from fedclade.core import InputError, Round
from fedclade.core.task import Task
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.runs.early_stopping import BestRound, EarlyStopping, has_ended
from fedclade.runs.experiment import experiment_from
from fedclade.runs.loss_scale import loss_scale
from fedclade.store.events import EarlyStopEvent, EvaluationEvent, RoundEvent, ValidationEvent
from refusals import check_refused

STOP = EarlyStopping(share=0.3, patience=6)
train = partial(fc.train, net="mlp", evaluate_every=2, participation=1.0, workers=0, lr=0.3)


@pytest.fixture(scope="module")
def hard() -> Federation:
    """A tenth of the labels is right: who trains for long learns the others by heart."""
    rng = np.random.default_rng(0)
    data = {}
    for number in range(4):
        inputs = rng.normal(size=(60, 6)).astype(np.float32)
        right = (inputs[:, 0] > 0).astype(np.int64)
        data[f"c{number}"] = (inputs, np.where(rng.random(60) < 0.6, right, rng.integers(0, 2, 60)))
    return fc.data.from_arrays(data)


@pytest.fixture(scope="module")
def stopped(hard: Federation, tmp_path_factory: pytest.TempPathFactory) -> fc.Run:
    return train(hard, fc.Local(), rounds=60, early_stopping=STOP, out=tmp_path_factory.mktemp("stopped") / "run")


def test_a_run_ends_when_patience_does_and_keeps_the_best_round(stopped: fc.Run) -> None:
    losses = {event.round: event.loss for event in stopped.folder.events(ValidationEvent)}
    best = min(losses, key=lambda number: losses[number] or 9.0)
    rounds = [event.round for event in stopped.folder.events(RoundEvent)]
    assert list(losses) == rounds[1::2]  # every second one is evaluated
    assert stopped.result["rounds"] == rounds[-1] == best + 6 < 60
    reason = "no smaller validation loss for 6 rounds"
    assert stopped.result["early_stopping"] == {"kept": best, "loss": losses[best], "reason": reason}
    (event,) = stopped.folder.events(EarlyStopEvent)
    assert (event.round, event.kept, event.reason) == (rounds[-1], best, reason)
    assert stopped.training_notes == [f"ended after round {rounds[-1]}, {reason}; the models are those of round {best}"]


def test_the_verdict_and_the_report_are_of_the_models_that_are_kept(stopped: fc.Run, tmp_path: Path) -> None:
    kept = stopped.result["early_stopping"]["kept"]  # type: ignore[index]  # a table
    by_round = {event.round: event for event in stopped.folder.events(EvaluationEvent)}
    assert stopped.accuracy == by_round[kept].accuracy != list(by_round.values())[-1].accuracy
    report = fc.Comparison((stopped,)).report(tmp_path / "report.html")
    assert f"the models are those of round {kept}" in report.read_text()


def test_the_models_are_those_of_a_run_that_is_so_long(hard: Federation, stopped: fc.Run, tmp_path: Path) -> None:
    kept = stopped.result["early_stopping"]["kept"]  # type: ignore[index]  # a table
    short = train(hard, fc.Local(), rounds=kept, early_stopping=STOP, out=tmp_path / "short")
    assert short.result["model_hash"] == stopped.result["model_hash"]
    assert short.result["early_stopping"]["reason"] == "all rounds were played"  # type: ignore[index]  # a table


def test_the_test_part_decides_nothing(hard: Federation, stopped: fc.Run, tmp_path: Path) -> None:
    fewer = {
        client: replace(held, test=replace(held.test, index=held.test.index[:2])) for client, held in hard.data.items()
    }
    other = train(replace(hard, data=fewer), fc.Local(), rounds=60, early_stopping=STOP, out=tmp_path / "other")
    assert other.result["model_hash"] == stopped.result["model_hash"]
    assert other.result["early_stopping"] == stopped.result["early_stopping"]
    assert other.result["loss"] != stopped.result["loss"]


def test_what_is_held_out_is_held_out_from_every_other_verb(hard: Federation) -> None:
    now = Round(3, 0, held_out=0.3)
    data = hard["c1"]
    kept, held_out = split_held_out(data.train, now, "c1")
    assert len(held_out) == round(0.3 * len(data.train))
    assert sorted([*kept.index, *held_out.index]) == sorted(data.train.index)
    for verb in ("train", "train_best", "losses", "sketch", "scatter", "moments", "changed", "evaluate"):
        usable = data_for(verb, data, now, "c1")
        assert usable.train.index.tolist() == kept.index.tolist()
        assert usable.test is data.test
    assert data_for("validate", data, now, "c1").test.index.tolist() == held_out.index.tolist()
    later = split_held_out(data.train, replace(now, number=9), "c1")[1]
    assert later.index.tolist() == held_out.index.tolist()  # the same in every round
    assert data_for("train", data, Round(3, 0), "c1") is data


def test_one_example_is_trained_on_and_validated_on(hard: Federation) -> None:
    part = replace(hard["c0"].train, index=hard["c0"].train.index[:1])
    assert split_held_out(part, Round(1, 0, held_out=0.5), "c0") == (part, part)


def test_a_validation_loss_is_that_of_the_examples_set_aside(hard: Federation) -> None:
    """By hand, from the module: the mean negative logarithm of the probability of the right class."""
    net = net_for("logistic", hard.shape, hard.classes, task=hard.task)
    row, now = net.initial_row(0), Round(1, 0, held_out=0.3)
    with simulated_fleet(hard, net, workers=0) as fleet:
        scores = fleet.validate(fc.core.Assignment.of_one(row, hard.clients), now)
        sent = fleet.ledger.totals()["validate"]
    for client, loss, examples in zip(scores.clients, scores.losses, scores.examples, strict=True):
        part = split_held_out(hard[client].train, now, client)[1]
        logits = part.inputs.astype(np.float64) @ row[:12].reshape(2, 6).T + row[12:]
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        assert examples == len(part)
        assert loss == pytest.approx(-np.log(shares[np.arange(len(part)), part.labels]).mean(), rel=1e-5)
    assert sent[0] == 4 * 14 * 4  # four clients, 14 parameters of 4 bytes


def test_one_liar_does_not_decide() -> None:
    scale = loss_scale(Task(count=2))
    honest = [0.5, 0.6, 0.7]
    assert scale.mean(np.array([*honest, -1e300])) == pytest.approx(1.8 / 4)  # as if it were 0
    assert scale.mean(np.array([*honest, 1e300])) == pytest.approx((1.8 + 10 * np.log(2)) / 4)  # ten guesses


def test_patience_and_the_first_rounds() -> None:
    how = EarlyStopping(patience=3, min_rounds=8)
    best = BestRound().after(2, 0.5).after(4, 0.5).after(6, None).after(7, 0.6)
    assert best == BestRound(2, 0.5)  # the first of equals; a round that nobody validated is no better
    assert [number for number in range(1, 12) if has_ended(how, best, Round(number, 0, evaluated=number % 3 == 0))] == [
        9
    ]
    assert not has_ended(None, best, Round(90, 0, evaluated=True))


def test_it_is_a_table_or_true_in_toml_and_python() -> None:
    def read(value: object) -> EarlyStopping | None:
        data = {"source": "digits", "world": "iid"}
        made = experiment_from({"data": data, "run": {"early_stopping": value}})
        again = experiment_from(tomllib.loads(made.toml()))
        assert again == made
        return made.run.early_stopping

    assert read(True) == read({}) == EarlyStopping()
    assert read(False) is None
    assert read({"patience": 3}) == EarlyStopping(patience=3)
    check_refused("patience is not usable", read, {"patience": 0})
    check_refused("is not known", read, {"patients": 3})
    check_refused("true, false or a table", read, 7)
    check_refused("a run has fewer rounds", read, {"min_rounds": 101})


@pytest.mark.parametrize("given", [True, {"patience": 6, "share": 0.3}, STOP])
def test_it_is_given_in_python(given: Any, hard: Federation, tmp_path: Path) -> None:
    run = train(hard, fc.FedAvg(), rounds=4, early_stopping=given, out=tmp_path / "run")
    assert run.result["early_stopping"]["kept"] in (2, 4)  # type: ignore[index]  # a table
    with pytest.raises(InputError):
        train(hard, fc.FedAvg(), early_stopping=3, out=tmp_path / "other")  # type: ignore[arg-type]  # that is the test
