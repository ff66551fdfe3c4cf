"""Training that diverges is told from training that goes well, or badly."""

import json
from dataclasses import replace
from functools import partial
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclade as fc
from fedclade.core.task import Task
from fedclade.data import ClientData, Federation, Part, Pool
from fedclade.fleet import Ledger, Scores
from fedclade.methods import AnyMethod
from fedclade.runs.divergence import DivergenceWatch, divergence_of
from fedclade.runs.loss_scale import loss_scale
from fedclade.runs.run import resume
from fedclade.store.events import DivergedEvent, EvaluationEvent, RoundEvent
from fedclade.store.run_folder import RunFolder
from fedclade.wire import Refusal

CLIENTS = tuple("abcdefgh")
TWO = Task(count=2)
GUESS = log(2)  # the loss of saying that both of two classes are as likely


def found(losses: list[float], training: list[float], task: Task = TWO, **ledger: Any) -> str:
    """What is said of clients with these test losses, who said these losses of their training."""
    clients, nothing = CLIENTS[: len(losses)], np.zeros((len(losses), 2))
    counts, sums = nothing.astype(np.int64), nothing
    scores = Scores(task, clients, np.ones(len(losses), np.int64), np.array(losses), nothing, counts, sums)
    said = dict(zip(CLIENTS, training, strict=False))
    heard = [5] * 10 + [0] * ledger.pop("silent", 0)  # in the rounds before
    past = [RoundEvent(round=number, took_part=count) for number, count in enumerate(heard, 1)]
    watch = DivergenceWatch(loss_scale(task, ledger.pop("first", None)), past)
    return divergence_of(watch, scores, Ledger(trained=set(said), losses=said, **ledger))


def refusals(clients: str, verb: str = "train") -> list[Refusal]:
    return [Refusal(client, verb, "row: NaN", overflow=True) for client in clients]


def test_a_loss_far_above_that_of_a_guess_has_diverged() -> None:
    assert not found([9.9 * GUESS] * 4, [5.0] * 4)
    said = found([10.1 * GUESS] * 4, [5.0] * 4)
    assert said == "a loss over 6.93, 10 times that of a guess, at 4 of 4 clients (the median is 7)"


def test_overfitting_is_not_divergence() -> None:
    """Noise that is known by heart: the training examples fit, and the others are wrong with great confidence."""
    assert not found([29 * GUESS] * 4, [0.01] * 4)
    assert found([31 * GUESS] * 4, [0.01] * 4)  # but no fitting explains this


@pytest.mark.parametrize(("far", "of", "diverged"), [(1, 8, False), (2, 8, True), (1, 2, False), (2, 2, True)])
def test_a_quarter_of_the_clients_is_enough_and_never_one_of_several(far: int, of: int, diverged: bool) -> None:
    assert bool(found([1e6] * far + [0.1] * (of - far), [5.0] * of)) == diverged


def test_one_client_alone_is_enough_where_there_is_no_other() -> None:
    assert found([1e6], [1e6])


def test_one_liar_decides_nothing() -> None:
    assert not found([1e300] + [0.5] * 3, [1e300] + [0.4] * 3)
    assert found([-1e300] + [1e3] * 3, [-1e300] + [1e3] * 3)


def test_replies_with_numbers_that_are_not_finite_count() -> None:
    assert not found([0.5] * 4, [0.4] * 3, refused=refusals("d"))  # one of four that were asked
    said = found([0.5] * 4, [0.4] * 2, refused=refusals("cd"))
    assert said == "models of 2 of 4 clients with numbers that are not finite or too large"
    assert not found([0.5] * 4, [], refused=refusals("a"))  # the only one that was asked may be broken
    assert found([0.5] * 4, [], refused=refusals("a"), silent=5)  # but not five times
    assert found([], [], refused=refusals("abcd", "evaluate"))
    malformed = [replace(each, overflow=False) for each in refusals("abcd")]
    assert not found([0.5] * 4, [], refused=malformed, silent=5)


def test_every_task_has_a_guess() -> None:
    assert loss_scale(Task(count=10)).guess == log(10)
    assert loss_scale(Task(kind="multi-label", labels="flags", count=5)).guess == log(2)
    assert loss_scale(Task(kind="regression", labels="number")).guess == 1.0  # standardised: of the mean
    assert loss_scale(Task(kind="reconstruction"), 0.3).guess == 0.3  # of the initial models
    own = Task(kind="own")
    assert found([16.1] * 4, [3.0] * 4, own, first=-2.0)  # -2 and nine times 2
    assert not found([15.9] * 4, [3.0] * 4, own, first=-2.0)
    assert not found([1e9] * 4, [3.0] * 4, own, first=0.0)  # nothing to compare with


METHODS: list[AnyMethod] = [fc.FedAvg(), fc.Local(), fc.IFCA(clusters=2), fc.CFL()]
train = partial(fc.train, net="mlp", evaluate_every=1, participation=1.0, workers=0)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_step_size_of_1000_ends_with_the_reason(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    with pytest.raises(fc.Diverged, match=r"a loss over 23, 10 times.*or models of.*|smaller local\.lr") as caught:
        train(two_groups, method, out=tmp_path / "run", rounds=40, lr=1000.0)
    assert caught.value.exit_code == 3
    folder = RunFolder.open(tmp_path / "run")
    folder.verify()  # it is complete
    result, rounds = folder.result(), [event.round for event in folder.events(RoundEvent)]
    assert result["diverged"] is True
    assert result["rounds"] == len(rounds)
    assert 5 <= len(rounds) < 40  # nobody waited for all rounds
    assert "0.1 at the most (it was 1000)" in str(result["divergence"])
    assert [event.round for event in folder.events(DivergedEvent)][-1] == rounds[-1]


def numbers(clients: int = 6) -> Federation:
    """A linear function of three inputs."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(clients * 40, 3)).astype(np.float32)
    labels = (inputs @ np.array([0.5, -0.8, 0.3], np.float32)).astype(np.float32)
    pool, task = Pool(inputs, labels), Task(kind="regression", labels="number", edges=(0.0,))
    places = np.arange(len(inputs)).reshape(clients, 40)
    held = {f"site-{n}": ClientData(Part(pool, rows[:30]), Part(pool, rows[30:])) for n, rows in enumerate(places)}
    return Federation("numbers", held, classes=2, task=task)


def test_a_regression_diverges_too(tmp_path: Path) -> None:
    assert not train(numbers(), fc.FedAvg(), out=tmp_path / "good", rounds=3, lr=0.05).has_diverged
    for lr in (3.0, 1000.0):  # losses that are far too large; and replies that are not finite
        with pytest.raises(fc.Diverged):
            train(numbers(), fc.FedAvg(), out=tmp_path / str(lr), rounds=3, lr=lr)


def noise(clients: int = 4, classes: int = 2) -> Federation:
    """Labels that nothing tells."""
    rng = np.random.default_rng(0)
    data = {
        f"c{number}": (rng.normal(size=(60, 8)).astype(np.float32), rng.integers(0, classes, 60))
        for number in range(clients)
    }
    return fc.data.from_arrays(data)


def test_noise_that_is_known_by_heart_ends_well(tmp_path: Path) -> None:
    run = train(noise(), fc.Local(), out=tmp_path / "run", rounds=60, lr=0.3, momentum=0.9)
    last = list(run.folder.events(EvaluationEvent))[-1]
    assert last.loss is not None
    assert last.loss > 5 * GUESS  # the guard is needed
    assert not run.has_diverged


def test_a_diverged_run_is_resumed_to_the_same_end(
    two_groups: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the last checkpoint and the verdict."""
    whole = tmp_path / "whole"
    with pytest.raises(fc.Diverged):
        train(two_groups, fc.FedAvg(), out=whole, rounds=40, lr=1000.0, net="logistic")
    with monkeypatch.context() as killed:
        killed.setattr(RunFolder, "finish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(fc.FedcladeError, match="interrupted"):
            train(two_groups, fc.FedAvg(), out=tmp_path / "cut", rounds=40, lr=1000.0, net="logistic")
    again = resume(tmp_path / "cut", federation=two_groups)
    timeless = [
        {name: value for name, value in result.items() if "seconds" not in name and name != "run"}
        for result in (RunFolder.open(whole).result(), again.result)
    ]
    assert timeless[0] == timeless[1]
    assert again.has_diverged


def test_a_comparison_goes_on_and_says_which_diverged(two_groups: Federation, tmp_path: Path) -> None:
    compared = fc.compare(
        two_groups, [fc.FedAvg(), fc.Local()], out=tmp_path / "both", rounds=2, lr=1000.0, workers=0, seeds=2
    )
    assert [run.has_diverged for run in compared.runs] == [True] * 4
    assert [line.diverged for line in compared.lines] == [2, 2]
    page = compared.report(tmp_path / "report.html").read_text()
    assert "Training diverged: fedavg, local." in page
    assert "fedavg (diverged)" in page
    assert json.loads((compared.runs[0].path / "result.json").read_text())["diverged"] is True
