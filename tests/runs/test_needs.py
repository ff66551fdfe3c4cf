"""What a method declares is what it gets: a validation share, an annotation that only its state must be known by."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import fedclade as fc
from fedclade.core import Assignment, Round, Row, settings
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import Facts, Needs
from fedclade.nets import net_for
from fedclade.runs.method_state import state_class
from fedclade.store.events import RoundEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import play_run

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]  # only a type checker would look for it


@dataclass(frozen=True, eq=False)
class OneModel:
    model: Row
    clients: tuple[str, ...]


@settings
class Holding:
    """Clients keep a share aside; annotations name what is not there when the code runs."""

    def needs(self) -> Needs:
        return Needs(validation=0.5)

    def start(self, fleet: "Unknown", first: "Unknown", now: "Unknown") -> "tuple[OneModel, Facts]":  # noqa: ARG002
        return OneModel(first(0), fleet.clients()), {}

    def round(self, state, fleet, now):  # type: ignore[no-untyped-def]  # as a user may write it
        updates = fleet.train(Assignment.of_one(state.model, fleet.clients()), now)
        return replace(state, model=updates.rows.mean(axis=0)), {"examples": int(updates.examples.sum())}

    def assignment(self, state):  # type: ignore[no-untyped-def]
        return Assignment.of_one(state.model, state.clients)

    def place(self, state, newcomers, fleet, now):  # type: ignore[no-untyped-def]  # noqa: ARG002
        return replace(state, clients=state.clients + newcomers), {}


def test_a_validation_share_is_kept_aside(alike: Federation, tmp_path: Path) -> None:
    """Half of the examples, and an odd one: each client rounds for itself. Only the class of the state is needed."""
    assert state_class(Holding()) is OneModel
    play_run(Holding(), alike, tmp_path / "run", rounds=1, participation=1.0)
    (facts,) = [event.facts for event in RunFolder.open(tmp_path / "run").events(RoundEvent)]
    everything = sum(len(held.train) for held in alike.data.values())
    assert abs(facts["examples"] - everything / 2) <= len(alike)


def test_gaps_are_those_of_what_was_compared(two_groups: Federation, tmp_path: Path) -> None:
    """Half of the clients in a round, splits in every one, and everybody walks down before models are evaluated."""
    method = fc.CFL(rule="absolute", eps1=100.0, eps2=0.0)
    play_run(method, two_groups, tmp_path / "run", rounds=4)
    all_facts = [event.facts for event in RunFolder.open(tmp_path / "run").events(RoundEvent)]
    assert len(all_facts) == 4
    for facts in all_facts:
        assert len(facts["separation_gaps"]) == len(facts["clusters"]) > 0


def test_a_method_that_compares_nothing_has_no_gaps(two_groups: Federation) -> None:
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    seen: list[tuple[str, ...]] = []
    with simulated_fleet(two_groups, net, workers=0) as fleet:
        fleet = fleet.begin(0, lambda clients, _: seen.append(tuple(clients)))
        state, _ = fc.FedAvg().start(fleet, lambda number: net.initial_row(0, number), Round(0, 0))
        fc.FedAvg().round(state, fleet, Round(1, 0))
    assert seen == []
