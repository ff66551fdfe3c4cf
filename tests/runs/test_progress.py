"""How far a run is: what a callback is reported, what it may do, and what is shown where."""

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import fedclade as fc
from fedclade.api import Settings
from fedclade.data import Federation
from fedclade.methods import AnyMethod
from fedclade.runs.loop import RunProgress
from fedclade.runs.progress_display import ProgressText, show_progress
from fedclade.store.events import EvaluationEvent
from refusals import check_refused

QUICK: Settings = {"rounds": 4, "participation": 1.0, "evaluate_every": 2, "lr": 0.2, "workers": 0}
TRAIN = """
import fedclade as fc
federation = fc.data.build(source="digits", world="iid", clients=3)
fc.train(federation, fc.FedAvg(), net="logistic", rounds=40, workers=0, out="run", progress=True)
"""


class Enough(Exception):
    """The user has seen enough."""


def stop_after(number: int) -> Callable[[RunProgress], None]:
    def callback(now: RunProgress) -> None:
        if now.round == number:
            raise Enough

    return callback


def test_a_callback_is_reported_of_every_round(two_groups: Federation, tmp_path: Path) -> None:
    seen: list[RunProgress] = []
    run = fc.train(two_groups, fc.FLT(), net="logistic", out=tmp_path / "run", callback=seen.append, **QUICK)
    assert [now.round for now in seen] == [1, 2, 3, 4]
    evaluated = {event.round: event for event in run.folder.events(EvaluationEvent)}
    for now in seen:
        assert (now.rounds, now.clients, now.method, now.seed) == (4, 6, "flt", 0)
        assert Path(now.run) == run.path
        if now.round in evaluated:
            assert (now.accuracy, now.metric) == (evaluated[now.round].accuracy, "accuracy")
            assert now.metrics == evaluated[now.round].metrics
        else:
            assert (now.accuracy, now.metric, now.metrics) == (None, "", {})
    with pytest.raises(FrozenInstanceError):
        seen[0].round = 9  # type: ignore[misc]  # the mistake that is tested
    assert fc.RunProgress is RunProgress


@pytest.mark.parametrize("number", [1, 3, 4])
def test_what_a_callback_raises_ends_the_run_which_can_be_resumed(
    two_groups: Federation, tmp_path: Path, number: int
) -> None:
    settings: Any = {**QUICK, "workers": 1}
    whole = fc.train(two_groups, fc.FedAvg(), net="logistic", out=tmp_path / "whole", **settings)
    with pytest.raises(Enough):
        fc.train(two_groups, fc.FedAvg(), net="logistic", out=tmp_path / "run", callback=stop_after(number), **settings)
    seen: list[int] = []
    run = fc.resume(tmp_path / "run", federation=two_groups, callback=lambda now: seen.append(now.round))
    assert seen == list(range(number + 1, 5))
    assert run.result["model_hash"] == whole.result["model_hash"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_callback_of_compare_knows_the_run(two_groups: Federation, tmp_path: Path, jobs: int) -> None:
    seen: list[RunProgress] = []
    methods: list[AnyMethod] = [fc.FedAvg(), fc.Local()]
    both: Any = {"net": "logistic", "jobs": jobs, "seeds": 2, **QUICK}
    done = fc.compare(two_groups, methods, out=tmp_path, callback=seen.append, **both)
    reported = {(now.method, now.seed, Path(now.run)): now.accuracy for now in seen if now.round == 4}
    assert reported == {(run.result["method"], run.result["seed"], run.path): run.accuracy for run in done.runs}
    with pytest.raises(Enough):
        fc.compare(two_groups, methods, out=tmp_path / "again", callback=stop_after(2), **both)
    again = fc.compare(two_groups, methods, out=tmp_path / "again", **both)
    hashes = [[run.result["model_hash"] for run in each.runs] for each in (done, again)]
    assert hashes[0] == hashes[1]


def test_progress_is_true_or_false_and_a_callback_can_be_called(two_groups: Federation, tmp_path: Path) -> None:
    wrong: Any = print
    check_refused(
        "progress is not usable.* do: give a function as callback", fc.train, two_groups, fc.FedAvg(), progress=wrong
    )
    wrong = 3
    check_refused("the callback is not usable.*got 3", fc.compare, two_groups, [fc.FedAvg()], callback=wrong)
    assert not list(tmp_path.iterdir())


def test_the_text_has_the_metric_of_the_last_evaluation() -> None:
    text = ProgressText()
    assert text.of(RunProgress(1, 20, None, 5)) == "round 1/20, 5 clients"
    assert (
        text.of(RunProgress(2, 20, 0.5, 5, {"accuracy": 0.5}, "accuracy")) == "round 2/20, 5 clients, accuracy 50.0 %"
    )
    assert text.of(RunProgress(3, 20, None, 4)) == "round 3/20, 4 clients, accuracy 50.0 %"
    assert text.of(RunProgress(4, 20, None, 4, {"mae": 1.0, "rmse": 12.3456}, "rmse")).endswith(", RMSE 12.35")
    assert text.of(RunProgress(5, 20, None, 4, {"rmse": None}, "rmse")).endswith(", RMSE -")


def test_a_pipe_has_a_line_for_each_tenth_of_the_rounds(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TRAIN], cwd=tmp_path, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert [line.partition(",")[0] for line in lines] == [f"fedavg: round {number}/40" for number in range(4, 41, 4)]
    assert done.stdout == ""


def test_a_run_of_few_rounds_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress() as callback_for:
        for number in (1, 2, 3):
            callback_for("run")(RunProgress(number, 3, None, 5))
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_a_terminal_has_one_line_that_is_rewritten(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    assert process.wait() == 0
    assert seen.count(b"\n") <= 2
    assert b"\r" in seen
    assert b"round 40/40, 3 clients, accuracy" in seen


def test_a_notebook_has_one_output_that_is_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython is not a dependency: its `display` is written down as its documentation has it."""
    outputs: list[list[str]] = []

    def display(value: dict[str, str], *, raw: bool, display_id: bool) -> object:
        assert raw
        assert display_id
        texts = [value["text/plain"]]
        outputs.append(texts)

        def update(value: dict[str, str], *, raw: bool) -> None:
            assert raw
            texts.append(value["text/plain"])

        return SimpleNamespace(update=update)

    ipython, shown = ModuleType("IPython"), ModuleType("IPython.display")
    vars(ipython)["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    vars(shown)["display"] = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    with show_progress() as callback_for:
        callback = callback_for("flt")
        for number in range(1, 1001):
            callback(RunProgress(number, 1000, None, 5))
    (texts,) = outputs
    assert texts[0] == "flt"
    assert texts[-1] == "flt: round 1000/1000, 5 clients"
    assert len(texts) < 50
