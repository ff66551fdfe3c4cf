"""A fleet in a world that changes: its clients, and their data, are those of the round."""

from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import Assignment, InputError, Round
from fedclade.data import Federation, build
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.store.events import NewcomersEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import Interrupted, play_run


def changing_world(newcomers_in: int, drift_in: int) -> Federation:
    newcomers, drift = {"rounds": (newcomers_in,), "share": 0.25}, {"round": drift_in}
    return build(source="digits", world="rotation", clients=8, groups=2, newcomers=newcomers, drift=drift)


def test_newcomers_can_be_asked_from_their_round_on() -> None:
    federation = build(source="digits", world="iid", clients=6, newcomers={"rounds": (3,), "share": 0.34})
    net = net_for("logistic", federation.shape, federation.classes)
    with simulated_fleet(federation, net, workers=0) as fleet:
        assert len(fleet.clients()) == 4
        late = next(iter(set(federation.clients) - set(fleet.clients())))
        model = Assignment.of_one(net.initial_row(0), (late,))
        with pytest.raises(InputError, match=f'no client "{late}"'):
            fleet.evaluate(model, Round(2, 0))
        fleet = fleet.begin(3)
        assert fleet.clients() == federation.clients
        assert fleet.evaluate(model, Round(3, 0)).clients == (late,)


@pytest.mark.parametrize("workers", [0, 2])
def test_training_uses_the_data_of_the_round(workers: int) -> None:
    federation = build(source="digits", world="rotation", clients=6, groups=2, drift={"round": 2, "share": 0.3})
    (one, *_) = federation.changes[0].data
    net = net_for("logistic", federation.shape, federation.classes)
    start = Assignment.of_one(net.initial_row(0), (one,))
    swapped = fc.data.Federation("swapped", {one: federation.data_at(one, 2)}, federation.classes)
    with (
        simulated_fleet(federation, net, workers=workers) as fleet,
        simulated_fleet(swapped, net, workers=0) as by_hand,
    ):
        assert not np.array_equal(fleet.train(start, Round(1, 0)).rows, by_hand.train(start, Round(1, 0)).rows)
        assert np.array_equal(fleet.train(start, Round(2, 0)).rows, by_hand.train(start, Round(2, 0)).rows)


def test_a_run_places_newcomers_and_judges_by_the_truth_of_the_round(tmp_path: Path) -> None:
    federation = changing_world(newcomers_in=3, drift_in=4)
    verdict, models = play_run(fc.Local(), federation, tmp_path / "run")
    assert set(models.clients) == set(federation.clients)
    events = RunFolder.open(tmp_path / "run").events(NewcomersEvent)
    assert [(event.round, len(event.clients)) for event in events] == [(3, 2)]
    truth = federation.truth_at(4)
    assert truth is not None
    assert len(verdict["accuracy_by_planted_group"]) == len(truth)  # type: ignore[arg-type]


def test_a_run_in_a_changing_world_resumes_to_the_same_models(tmp_path: Path) -> None:
    federation = changing_world(newcomers_in=2, drift_in=3)
    whole, _ = play_run(fc.FedAvg(), federation, tmp_path / "whole")
    for after in (1, 2, 3):
        with pytest.raises(Interrupted):
            play_run(fc.FedAvg(), federation, tmp_path / str(after), stop_after=after)
        resumed, _ = play_run(fc.FedAvg(), federation, tmp_path / str(after))
        assert resumed["model_hash"] == whole["model_hash"]
