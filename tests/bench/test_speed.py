import math
from dataclasses import replace

import pytest

from fedclade.bench import speed as speeds
from fedclade.bench.memory import GROUPS, memory
from fedclade.bench.memory import Plan as MemoryPlan
from fedclade.bench.peak import Peak
from fedclade.bench.scale import Plan as ScalePlan
from fedclade.bench.scale import scale
from fedclade.bench.workloads import WORKLOADS
from fedclade.local import path_for
from fedclade.nouns import FedcladeError

pytestmark = pytest.mark.slow

TINY = replace(WORKLOADS["W1"], name="tiny", sizes=lambda: (30, 25), quick=(2, 20))
PEAK = Peak(100.0, "fma", 90.0)


def unheard(_: str) -> None:
    """Nobody listens."""


def test_figures_of_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "LEAST", 0.0)
    told: list[str] = []
    found = speeds.speed(TINY, None, PEAK, 2, told.append)
    assert found["clients"] == 2
    assert found["steps"] == 3 + 3
    # 6,392,000 for ten examples: three products of 784 x 200 and of 200 x 10, but for the inputs of the first.
    assert found["flops_per_step"] == pytest.approx(639_200 * 55 / 6)
    legs = found["legs"]
    assert isinstance(legs, dict)
    assert set(legs) == {"plain", "one", "two"}
    assert all(math.isfinite(value) and value > 0 for leg in legs.values() for value in leg.values())
    assert legs["plain"]["ratio_wall"] == legs["plain"]["ratio_cpu"] == 1
    assert isinstance(found["difference"], float)
    assert isinstance(found["moved"], float)
    assert found["difference"] < 1e-6 < found["moved"]
    assert found["same_for_any_workers"] is True
    assert told == ["tiny random: first round", "tiny random: turn 1 of 2", "tiny random: turn 2 of 2"]


def test_ratios_are_taken_inside_a_turn() -> None:
    plain = [speeds.Turn(2.0, 1.0), speeds.Turn(20.0, 1.0), speeds.Turn(4.0, 1.0)]  # a neighbour came and went
    fleet = [speeds.Turn(1.0, 0.5), speeds.Turn(10.0, 0.5), speeds.Turn(2.0, 0.5)]
    found = speeds.figures(fleet, plain, steps=100, flops=25 * 10**9, peak=PEAK)
    assert found["ratio_wall"] == found["ratio_cpu"] == 2
    assert found["steps_per_second"] == 50
    assert found["peak_share"] == 0.5  # 25 GF in half a second, of 100 GF/s


def test_one_core_has_no_second_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "LEAST", 0.0)
    monkeypatch.setattr(speeds, "cores", lambda: 1)
    found = speeds.speed(TINY.shortened(), None, PEAK, 1, unheard)
    assert set(found["legs"]) == {"plain", "one"}  # type: ignore[call-overload]  # a dict
    assert found["two_against_one"] is found["same_for_any_workers"] is None
    assert found["path"] == path_for(TINY.made_net())


@pytest.mark.slow
def test_memory_of_a_small_run() -> None:
    found = memory(MemoryPlan(clients=10, rounds=1, workers=1), unheard)
    assert (found["clients"], found["groups"]) == (10, GROUPS)
    once, summed = found["resident_bytes"], found["summed_resident_bytes"]
    if once is not None:  # a system with /proc
        assert isinstance(once, int)
        assert isinstance(summed, int)
        assert 50e6 < once <= summed < 5e9  # torch alone is more than the one; the other is far off


@pytest.mark.slow
def test_a_run_that_fails_is_not_measured() -> None:
    with pytest.raises(FedcladeError, match=r"the run whose memory was to be measured failed: got .*participation"):
        memory(MemoryPlan(clients=10, participation=2.0), unheard)


def test_cost_by_clients_and_by_chosen() -> None:
    found = scale(ScalePlan(members=(20, 30), more_of=30, more=(2, 4), rounds=2), unheard)
    by_clients, by_chosen = found["by_clients"], found["by_chosen"]
    assert isinstance(by_clients, list)
    assert isinstance(by_chosen, list)
    assert [line["clients"] for line in by_clients] == [20, 30]
    assert [line["chosen"] for line in by_chosen] == [2, 4]
    assert all(line["round_seconds"] > 0 for line in (*by_clients, *by_chosen))
    assert all(line["run_round_seconds"] > 0 and line["build_seconds"] > 0 for line in by_clients)
