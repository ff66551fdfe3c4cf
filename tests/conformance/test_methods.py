"""What every registered method must do, whatever it is. A new method is checked here by being registered."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conformance.every_verb import EveryVerb
from conformance.flt_encoder import FLTEncoder
from conformance.playing import Stop, backwards, losing, lying, played
from fedclade.data import Federation
from fedclade.fleet.protocol import Reply
from fedclade.methods import METHODS, AnyMethod, register
from fedclade.nouns import Groups
from fedclade.runs.codec import pack, unpack
from fedclade.runs.loop import state_class

register("every-verb", EveryVerb, finds_groups=True)
register("flt-encoder", FLTEncoder)  # the planted groups differ in labels only, which points do not see


@pytest.fixture(params=sorted(METHODS))
def method(request: pytest.FixtureRequest) -> AnyMethod:
    return METHODS[request.param].made()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_says_what_it_is(name: str) -> None:
    assert METHODS[name].summary.endswith(".")


def test_learns_the_toy(method: AnyMethod, alike: Federation, tmp_path: Path) -> None:
    verdict, _ = played(method, alike, tmp_path / "run", rounds=6, participation=1.0)
    assert number(verdict, "accuracy") > 0.8  # chance is 0.1


@pytest.mark.parametrize("name", [name for name, known in METHODS.items() if known.finds_groups])
def test_finds_planted_groups(name: str, two_groups: Federation, tmp_path: Path) -> None:
    verdict, models = played(METHODS[name].made(), two_groups, tmp_path / "run", rounds=6, participation=1.0)
    assert number(verdict, "ari") == 1.0
    assert models.groups() == two_groups.truth


def test_resumes_byte_for_byte(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    whole, _ = played(method, two_groups, tmp_path / "whole")
    for after in (1, 2, 3, 4):  # 4: all rounds are played, and the verdict is not yet there
        with pytest.raises(Stop):
            played(method, two_groups, tmp_path / f"cut-{after}", stop_after=after)
        resumed, _ = played(method, two_groups, tmp_path / f"cut-{after}")
        assert without_time(resumed) == without_time(whole)


@pytest.mark.parametrize("workers", [1, 2])
def test_agrees_across_workers(method: AnyMethod, two_groups: Federation, tmp_path: Path, workers: int) -> None:
    alone, _ = played(method, two_groups, tmp_path / "alone", net="mlp", workers=0, rounds=2)
    spread, _ = played(method, two_groups, tmp_path / "spread", net="mlp", workers=workers, rounds=2)
    assert without_time(spread) == without_time(alone)


def test_ignores_the_order_of_replies(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    plain, _ = played(method, two_groups, tmp_path / "plain")
    turned, _ = played(method, two_groups, tmp_path / "turned", wire=backwards)
    assert without_time(turned) == without_time(plain)


def test_survives_silence(method: AnyMethod, alike: Federation, tmp_path: Path) -> None:
    verdict, models = played(
        method, alike, tmp_path / "run", rounds=6, participation=1.0, wire=losing("client-00", "client-03")
    )
    assert np.isfinite(models.rows).all()
    assert set(models.clients) == set(alike.clients)
    assert number(verdict, "accuracy") > 0.8


def test_takes_a_liar_for_silent(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    """A reply that the gate refuses changes no bit against the run in which that client said nothing."""
    silent, _ = played(method, two_groups, tmp_path / "silent", wire=losing("client-02"))
    for lie in (not_a_number, wrong_shape, too_many_examples):
        lied, _ = played(method, two_groups, tmp_path / lie.__name__, wire=lying("client-02", lie))
        assert lied["model_hash"] == silent["model_hash"]


def test_goes_on_when_a_round_is_lost(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    """Nobody answers the questions of the first round: the models stay, and the next round goes on from them."""
    verdict, models = played(
        method, two_groups, tmp_path / "run", wire=lambda replies: (reply for reply in replies if reply.round != 1)
    )
    assert np.isfinite(models.rows).all()
    assert verdict["rounds"] == 4


def test_never_sees_the_truth(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    honest, _ = played(method, two_groups, tmp_path / "honest")
    turned = Groups.from_labels({client: number % 3 for number, client in enumerate(two_groups.clients)})
    misled, _ = played(method, replace(two_groups, truth=turned), tmp_path / "misled")
    blind, _ = played(method, replace(two_groups, truth=None), tmp_path / "blind")
    assert misled["model_hash"] == blind["model_hash"] == honest["model_hash"]


def test_never_uses_test_data(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    """Other test parts, the same models."""
    honest, _ = played(method, two_groups, tmp_path / "honest")
    fewer = {
        client: replace(held, test=replace(held.test, index=held.test.index[:5]))
        for client, held in two_groups.data.items()
    }
    other, _ = played(method, replace(two_groups, data=fewer), tmp_path / "other")
    assert other["model_hash"] == honest["model_hash"]
    assert other["loss"] != honest["loss"]


def test_places_newcomers(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    _, models = played(method, two_groups, tmp_path / "run", late=("client-04",))
    assert set(models.clients) == set(two_groups.clients)
    assert np.isfinite(models.row_of("client-04")).all()


def test_leaves_its_state_alone(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    """A round returns a new state; the one it was given has the same bytes as before."""
    watched = Watched(method)
    played(watched, two_groups, tmp_path / "run", rounds=2)
    assert watched.rounds == 2


def test_another_seed_gives_other_models(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    one, _ = played(method, two_groups, tmp_path / "one", seed=1, rounds=2)
    two, _ = played(method, two_groups, tmp_path / "two", seed=2, rounds=2)
    assert one["model_hash"] != two["model_hash"]


class Watched:
    """A method whose state is packed before and after each round, and must come back from its packing."""

    def __init__(self, method: AnyMethod) -> None:
        self.method, self.rounds = method, 0
        self.start, self.assignment, self.place = method.start, method.assignment, method.place

    def round(self, state, fleet, now):  # type: ignore[no-untyped-def]  # passes everything on
        tree, arrays = pack(state)
        copies = {name: array.copy() for name, array in arrays.items()}
        after = self.method.round(state, fleet, now)
        again, same = pack(unpack(state_class(self.method), tree, copies))
        assert again == pack(state)[0] == tree
        assert all(np.array_equal(copies[name], array) for name, array in pack(state)[1].items())
        assert all(np.array_equal(copies[name], array) for name, array in same.items())
        self.rounds += 1
        return after


def not_a_number(reply: Reply) -> Reply:
    broken = {name: np.full(array.shape, np.nan, np.float32) for name, array in reply.arrays.items()}
    return replace(reply, arrays=broken)


def wrong_shape(reply: Reply) -> Reply:
    return replace(reply, arrays={name: array[None] for name, array in reply.arrays.items()})


def too_many_examples(reply: Reply) -> Reply:
    return replace(reply, examples=10**12)


def number(verdict: Mapping[str, object], name: str) -> float:
    value = verdict[name]
    assert isinstance(value, int | float)
    return float(value)


def without_time(verdict: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in verdict.items() if "seconds" not in name}
