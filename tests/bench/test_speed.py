import math
from dataclasses import replace
from typing import Any

import pytest

from fedclade.bench import speed as speeds
from fedclade.bench.memory import GROUPS, MemoryPlan, memory
from fedclade.bench.peak import Peak
from fedclade.bench.scale import ScalePlan, scale
from fedclade.bench.workloads import WORKLOADS
from fedclade.client import path_name_for
from fedclade.core import FedcladeError

pytestmark = pytest.mark.slow

TINY = replace(WORKLOADS["W1"], name="tiny", sizes=lambda: (30, 25), quick=(2, 20))
PEAK = Peak(100.0, "fma", 90.0)


def test_measurements_of_a_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "MIN_TURN_SECONDS", 0.0)
    messages: list[str] = []
    found: dict[str, Any] = speeds.speed(TINY, None, PEAK, 2, messages.append)
    assert found["clients"] == 2
    assert found["steps"] == 3 + 3
    # 6,392,000 for ten examples: three products of 784 x 200 and of 200 x 10, but for the inputs of the first.
    assert found["flops_per_step"] == pytest.approx(639_200 * 55 / 6)
    legs = found["legs"]
    assert set(legs) == {"plain", "one", "two"}
    assert all(math.isfinite(value) and value > 0 for leg in legs.values() for value in leg.values())
    assert legs["plain"]["ratio_wall"] == legs["plain"]["ratio_cpu"] == 1
    assert found["difference"] < 1e-6 < found["moved"]
    assert found["same_for_any_workers"] is True
    assert messages == ["tiny random: first round", "tiny random: turn 1 of 2", "tiny random: turn 2 of 2"]


def test_ratios_are_taken_inside_a_turn() -> None:
    plain = [speeds.Turn(2.0, 1.0), speeds.Turn(20.0, 1.0), speeds.Turn(4.0, 1.0)]  # a neighbour came and went
    fleet = [speeds.Turn(1.0, 0.5), speeds.Turn(10.0, 0.5), speeds.Turn(2.0, 0.5)]
    found = speeds.turn_metrics(fleet, plain, steps=100, flops=25 * 10**9, peak=PEAK)
    assert found["ratio_wall"] == found["ratio_cpu"] == 2
    assert found["steps_per_second"] == 50
    assert found["peak_share"] == 0.5  # 25 GF in half a second, of 100 GF/s


def test_one_core_has_no_second_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speeds, "MIN_TURN_SECONDS", 0.0)
    monkeypatch.setattr(speeds, "cores", lambda: 1)
    found: dict[str, Any] = speeds.speed(TINY.shorten(), None, PEAK, 1, print)
    assert set(found["legs"]) == {"plain", "one"}
    assert found["two_against_one"] is found["same_for_any_workers"] is None
    assert found["path"] == path_name_for(TINY.build_net())


def test_memory_of_a_small_run() -> None:
    found: dict[str, Any] = memory(MemoryPlan(clients=10, rounds=1, workers=1), print)
    assert (found["clients"], found["groups"]) == (10, GROUPS)
    once, summed = found["resident_bytes"], found["summed_resident_bytes"]
    if once is not None:  # a system with /proc
        assert 50e6 < once <= summed < 5e9  # torch alone is more than the one; the other is far off


def test_a_run_that_fails_is_not_measured() -> None:
    with pytest.raises(FedcladeError, match=r"the run whose memory was to be measured failed: got .*participation"):
        memory(MemoryPlan(clients=10, participation=2.0), print)


def test_cost_by_clients_and_by_chosen() -> None:
    found: dict[str, Any] = scale(
        ScalePlan(client_counts=(20, 30), chosen_from=30, chosen_counts=(2, 4), rounds=2), print
    )
    by_clients, by_chosen = found["by_clients"], found["by_chosen"]
    assert [line["clients"] for line in by_clients] == [20, 30]
    assert [line["chosen"] for line in by_chosen] == [2, 4]
    assert all(line["round_seconds"] > 0 for line in (*by_clients, *by_chosen))
    assert all(line["run_round_seconds"] > 0 and line["build_seconds"] > 0 for line in by_clients)
