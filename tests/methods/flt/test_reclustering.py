"""Groups that are found again: what newcomers count for, and from where the encoder goes on."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import fedclade as fc
from fedclade.data import Federation
from fedclade.store.events import RoundEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import play_run
from methods.fleets import fleet_of, now


@pytest.mark.parametrize("settings", [{"flags": 1}, {"watch_updates": True}])
def test_newcomers_without_a_group_count_as_changed(settings: dict[str, object], tmp_path: Path) -> None:
    """No client's data change, and nobody raises a flag: the newcomers alone are the reason to find groups again."""
    federation = fc.data.build(
        source="digits", world="rotation", clients=16, groups=4, newcomers={"rounds": (2,), "origin": "new"}
    )
    method = fc.FLT(outlying_newcomers="global", **settings)  # type: ignore[arg-type]  # of the right types
    _, models = play_run(method, federation, tmp_path / "run", rounds=14)
    assert models.groups() == federation.truth
    trained = pq.read_table(tmp_path / "run" / "clients.parquet").to_pylist()
    assert {line["client"] for line in trained if line["took_part"]} >= set(federation.joins)


def test_nobody_is_left_untrained_for_ever() -> None:
    with pytest.raises(fc.FedcladeError, match=r"would never train.*got \"global\" alone, need tau, flags or"):
        fc.FLT(outlying_newcomers="global")


@pytest.mark.parametrize(("flags", "again"), [(2, True), (3, True), (4, False)])
def test_newcomers_count_against_lambda(flags: int, again: bool, tmp_path: Path) -> None:
    """Four newcomers raise their delta: more than lambda = 2 and 3, not more than 4. Nobody's data change."""
    federation = fc.data.build(
        source="digits", world="rotation", clients=16, groups=4, newcomers={"rounds": (2,), "origin": "new"}
    )
    assert len(federation.joins) == 4
    play_run(fc.FLT(reclustering="paper", flags=flags), federation, tmp_path / "run", rounds=4)
    rounds = RunFolder.open(tmp_path / "run").events(RoundEvent)
    assert [bool(each.facts["clustered_again"]) for each in rounds] == [False, again, False, False]


def test_fine_tuning_goes_on_from_the_latest_encoder(two_groups: Federation) -> None:
    """Algorithm 2: epochs of SGD "from their latest state". A second call from the first one's weights moves on."""
    tuned = fc.Encoder(joint_tuning_rounds=1)
    with fleet_of(two_groups) as (fleet, _, _):
        once = tuned.prepare(fleet, now(0))
        twice = tuned.prepare(fleet, now(0), once)
        again = tuned.prepare(fleet, now(0), fleet.weights(tuned.name))
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, twice)
