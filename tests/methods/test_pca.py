"""PCA+kM+HC: the groups it finds and does not find, what each client is asked, and its training."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.nouns import InputError
from fedclade.relate.agreement import adjusted_rand
from fedclade.runs.folder import RunFolder
from fedclade.testing import drop_replies, play_run
from fedclade.wire import Reply
from methods.fleets import fleet_of, now


@pytest.fixture(scope="module")
def classes() -> Federation:
    """Four groups of five clients, each with digits of its own."""
    return fc.data.build(source="digits", world="classes", clients=20, groups=4)


def found_in(federation: Federation, method: fc.PCA) -> float:
    assert federation.truth is not None
    with fleet_of(federation) as (fleet, _, first):
        return adjusted_rand(method.start(fleet, first, now(0))[0].home, federation.truth.labels)


@pytest.mark.parametrize("distance", ["nearest", "matched"])
def test_groups_of_classes_are_found_in_one_basis(distance: str, classes: Federation) -> None:
    assert found_in(classes, fc.PCA(components=32, distance=distance)) == 1  # type: ignore[arg-type]  # one of three


def test_they_are_not_found_in_bases_of_ones_own(classes: Federation) -> None:
    """FLT's published code: even with the right number given, places in other axes are not comparable."""
    assert found_in(classes, fc.PCA(components=32, basis="own")) < 0.5
    assert found_in(classes, fc.PCA(components=32, basis="own", groups=4)) < 0.8
    assert found_in(classes, fc.PCA(components=32, groups=4)) == 1


def test_clients_alike_are_one_group_and_train_as_fedavg(alike: Federation, tmp_path: Path) -> None:
    _, ours = play_run(fc.PCA(), alike, tmp_path / "pca")
    _, theirs = play_run(fc.FedAvg(), alike, tmp_path / "fedavg")
    assert len(ours.rows) == 1
    assert ours.rows.tobytes() == theirs.rows.tobytes()


def test_absent_clients_hold_their_group_back(classes: Federation) -> None:
    """One round moves a group's model by its participants' share of the group's examples."""
    moved, half = {}, now(1, 0.5)
    for absent in ("participants", "stale"):
        method = fc.PCA(components=32, absent=absent)
        with fleet_of(classes) as (fleet, _, first):
            state = method.start(fleet, first, now(0))[0]
            moved[absent] = method.round(state, fleet, half)[0].rows - state.rows
            chosen, home = half.sample(fleet.clients()), state.home
    sizes = {client: len(classes[client].train) for client in classes.clients}
    heard, everybody = (
        np.bincount([home[one] for one in whom], [sizes[one] for one in whom], minlength=4)
        for whom in (chosen, classes.clients)
    )
    assert 0 < heard.sum() < everybody.sum()
    expected = (heard / everybody)[:, None] * moved["participants"]
    np.testing.assert_allclose(moved["stale"], expected, rtol=0, atol=1e-6)


def test_who_has_left_holds_nobody_back(classes: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fleet is asked for the examples of who is there, as one of real sites must be."""
    method = fc.PCA(components=32, absent="stale")
    with fleet_of(classes) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        there = tuple(client for client in fleet.clients() if client != "client-07")
        monkeypatch.setattr(Fleet, "clients", lambda _: there)
        asked: list[tuple[str, ...]] = []
        examples = fleet.examples

        def watched(_: Fleet, clients: tuple[str, ...]) -> dict[str, int]:
            asked.append(clients)
            return dict(examples(clients))

        monkeypatch.setattr(Fleet, "examples", watched)
        method.round(state, fleet, now(1, 0.5))
    assert asked == [there]


def test_what_crosses_the_wire(classes: Federation) -> None:
    """64 numbers an example: a triangle of 64 * 65 / 2 up; a middle and 10 components down; 5 points of 10 up."""
    with fleet_of(classes) as (fleet, _, first):
        fc.PCA(components=10).start(fleet, first, now(0))
    ledger = fleet.ledger
    assert ledger.up["scatter"] == 20 * (64 * 65 // 2 * 4 + 65 * 8)
    assert ledger.down["sketch"] == 20 * 11 * 64 * 4
    assert ledger.up["sketch"] == 20 * (5 * 10 * 4 + 7 * 8)


def test_the_basis_is_that_of_all_examples(classes: Federation) -> None:
    from sklearn.decomposition import PCA

    everything = np.concatenate([held.train.inputs.reshape(len(held.train), -1) for held in classes.data.values()])
    with fleet_of(classes) as (fleet, _, first):
        state = fc.PCA(components=10).start(fleet, first, now(0))[0]
    theirs = PCA(10).fit(everything)
    np.testing.assert_allclose(state.basis[0], theirs.mean_, atol=1e-4)
    likeness = np.abs((state.basis[1:] * theirs.components_).sum(axis=1))
    np.testing.assert_allclose(likeness[:6], 1, atol=1e-3)  # later ones have nearly equal variances


def test_who_comes_late_or_was_silent_is_placed(classes: Federation, tmp_path: Path) -> None:
    assert classes.truth is not None
    late = classes.truth.members[2][0]
    _, models = play_run(fc.PCA(components=32), classes, tmp_path / "late", late=(late,), participation=1.0, rounds=2)
    assert models.groups() == classes.truth
    quiet = drop_replies(classes.truth.members[1][0])
    _, models = play_run(fc.PCA(components=32), classes, tmp_path / "quiet", wire=quiet, participation=1.0, rounds=2)
    assert set(models.clients) == set(classes.clients)


def test_the_start_tells_what_was_found(classes: Federation, tmp_path: Path) -> None:
    play_run(fc.PCA(components=32), classes, tmp_path / "run", rounds=1)
    events = RunFolder.open(tmp_path / "run").events()
    first, second = [event["facts"] for event in events if event["event"] in ("start", "round")]
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert set(first["discovery"]) == {"variance_explained", "gate", "stability", "by_height_ratio", "by_gap"}
    assert first["discovery"]["gate"] > 0.25
    assert "discovery" not in second


def test_examples_too_large_for_a_basis_are_refused_before_anything_is_sent() -> None:
    """Images of 3 x 64 x 64 have 12,288 numbers: 302 MB of products from each client."""
    rng = np.random.default_rng(0)
    large = {name: (rng.normal(size=(6, 3, 64, 64)), np.arange(6) % 2) for name in "abcd"}
    with fleet_of(fc.data.from_arrays(large)) as (fleet, _, first):
        with pytest.raises(InputError, match=r'12288 numbers each, need at most 4096; do: method.basis = "own"'):
            fc.PCA().start(fleet, first, now(0))[0]
        assert set(fc.PCA(basis="own", components=4).start(fleet, first, now(0))[0].home) == set("abcd")


@pytest.mark.parametrize("distance", ["nearest", "matched", "smallest"])
def test_a_client_that_sends_huge_points_is_no_part_of_it(distance: str, classes: Federation) -> None:
    def lying(replies: Iterable[Reply]) -> Iterator[Reply]:
        for reply in replies:
            huge = {"points": np.full_like(reply.arrays["points"], 1e30)} if reply.verb == "sketch" else {}
            yield replace(reply, arrays={**reply.arrays, **huge}) if reply.client == liar else reply

    liar, net = classes.clients[0], net_for("logistic", classes.shape, classes.classes)
    with simulated_fleet(classes, net, workers=0, wire=lying) as fleet:
        method = fc.PCA(components=32, distance=distance, groups=4)  # type: ignore[arg-type]  # one of three
        state = method.start(fleet, partial(net.first, 3), now(0))[0]
    assert set(state.home) == set(classes.clients) - {liar}
