import math
import re
from dataclasses import replace

import pytest

from cli.calling import call, error_of, parsed
from fedclade.bench import memory, scale, speed
from fedclade.bench.workloads import WORKLOADS

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workload of two small clients, and small federations."""
    monkeypatch.setattr(speed, "MIN_TURN_SECONDS", 0.0)
    small = replace(WORKLOADS["W1"], name="W0", sizes=lambda: (30, 25), real_sources=("digits",))
    monkeypatch.setitem(WORKLOADS, "W0", small)
    plan, scale_plan = memory.MemoryPlan(clients=10, rounds=1, workers=1), scale.ScalePlan((20,), 20, (2,), 2)
    monkeypatch.setattr(memory.MemoryPlan, "shorten", lambda _: plan)
    monkeypatch.setattr(scale.ScalePlan, "shorten", lambda _: scale_plan)


def test_json_has_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed("bench --workload W0 --quick --repeats 1 --json", capsys)
    assert set(found) == {"machine", "peak", "quick", "skipped", "speed"}
    peak, machine, speeds = found["peak"], found["machine"], found["speed"]
    assert isinstance(peak, dict)
    assert set(peak) == {"gflops", "by", "gemm_gflops"}
    assert isinstance(machine, dict)
    assert {"cores", "packages", "processor", "load", "load_after"} <= set(machine)
    assert isinstance(speeds, list)
    assert [one["data"] for one in speeds] == ["random"]
    for leg in speeds[0]["legs"].values():
        assert {"steps_per_second", "wall_seconds", "cpu_seconds", "peak_share", "ratio_wall", "ratio_cpu"} == set(leg)
        assert all(math.isfinite(value) and value > 0 for value in leg.values())


def test_a_person_gets_a_table_and_progress(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call("bench -w W0 --quick --repeats 1", capsys)
    assert code == 0
    assert "plain loop" in out
    assert "2 workers" in out
    assert "W0 random: mlp, path " in out
    assert "W0 random: turn 1 of 1" in err


@pytest.mark.slow
def test_memory_and_clients_are_workloads_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call("bench -w memory -w clients --quick", capsys)
    assert code == 0
    assert "memory: 10 clients, 5 groups, 1 workers" in out
    assert "round in a run ms" in out
    assert "clients: 20 of them, 2 chosen" in err


def test_real_examples_that_are_not_here_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("FEDCLADE_DATA", str(tmp_path_factory.mktemp("empty")))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setitem(WORKLOADS, "W0", replace(WORKLOADS["W0"], real_sources=("mnist",)))
    code, out, err = call("bench -w W0 --data real --repeats 1", capsys)
    assert (code, out) == (2, "")
    assert "nothing that was asked for can be measured here, --data real: got W0 real: none of mnist is here" in err
    found = parsed("bench -w W0 --data both --quick --repeats 1 --json", capsys)
    assert found["skipped"] == {"W0 real": "none of mnist is here"}
    assert [one["data"] for one in found["speed"]] == ["random"]  # type: ignore[attr-defined]


def test_an_unknown_workload_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    err = error_of("bench --workload memmory", capsys)
    assert re.match('error: the workload is not known, --workload: got "memmory".*did you mean "memory"', err)
