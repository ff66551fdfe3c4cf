"""A run that diverges ends with exit code 3 and one line that says what to do; everything else is printed as ever."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from cli.calling import call, output_of, parsed
from fedclade.core import Round
from fedclade.fleet import Fleet
from fedclade.methods import METHODS, Facts, MethodEntry
from fedclade.methods.fedavg import OneModel

EXPERIMENT = """
data = {source = "digits", world = "rotation", clients = 4, groups = 2}
net = {name = "logistic"}
local = {lr = 0.2, batch = 40}
run = {rounds = 3, participation = 1.0, evaluate_every = 1}
engine = {workers = 0}
"""


@pytest.fixture(autouse=True)
def experiment(here: Path) -> None:
    (here / "experiment.toml").write_text(EXPERIMENT)


def call_diverging(command: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """What a command prints, and its one line of error."""
    code, out, err = call(command, capsys)
    assert (code, err.count("\n")) == (3, 1)
    assert err.startswith("error: training diverged, ")
    assert "got a loss over 23, 10 times that of a guess, at 4 of 4 clients" in err
    assert "do: set a smaller local.lr, 0.1 at the most" in err
    return out, err


def test_run_and_resume(capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(call_diverging("run experiment.toml --set local.lr=1000 --out one --json", capsys)[0])
    assert result["diverged"] is True
    assert set(result["divergence"]) == {"reason", "advice"}
    assert "fedavg (diverged)" in call_diverging("resume one", capsys)[0]
    assert parsed("run experiment.toml --out good --json", capsys)["diverged"] is False
    states = {each["run"]: each["state"] for each in parsed("runs list . --json", capsys)["runs"]}  # type: ignore[attr-defined]
    assert states == {"one": "diverged", "good": "finished"}
    output_of("report one", capsys)
    assert "training diverged: a loss over 23" in Path("one/report.html").read_text()


class Growing(fc.FedAvg):
    """FedAvg whose weights are 30 times as large after every round."""

    def round(self, state: OneModel, fleet: Fleet, now: Round) -> tuple[OneModel, Facts]:
        state, facts = super().round(state, fleet, now)
        return replace(state, model=30 * state.model), facts


def test_compare_goes_on_with_the_other_methods(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS.registered_entries, "growing", MethodEntry(Growing, demo=False, finds_groups=False))
    methods = "-m growing -m fedavg"
    out, err = call_diverging(f"compare experiment.toml {methods} --out both", capsys)
    assert "growing (diverged)" in out
    assert "fedavg (diverged)" not in out
    assert "both/growing-seed0: got" in err
    table, _ = call_diverging(f"compare experiment.toml {methods} --out both --json", capsys)
    assert [line["diverged"] for line in json.loads(table)["methods"]] == [1, 0]
    assert "fedavg was best" in Path("both/report.html").read_text()


def test_own_data_and_their_baselines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    with (here / "sites.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["site", "a", "b", "fault"])
        for site in range(4):
            for values in rng.normal(size=(40, 2)):
                rows.writerow([f"s{site}", *values, "yes" if values[0] > values[1] else "no"])
    code, out, err = call(
        "run sites.csv --client site --label fault --set run.rounds=12 --set local.lr=1000 --out own", capsys
    )
    assert (code, err.count("\n")) == (3, 1)
    assert "error: training diverged, own and 2 more: got" in err
    for method in ("flt", "fedavg", "local"):
        assert f"\n{method} (diverged) " in out
        assert f"\nWarning: {method}, seed 0: training diverged: " in out
    assert "\nTraining diverged: flt, fedavg, local.\n" in out
