"""PCA+kM+HC: the groups it finds and does not find, what each client is asked, and its training."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

import fedclade as fc
from fedclade.clustering.group_number import adjusted_rand
from fedclade.core import InputError
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods.pca_kmeans_hc import principal_components
from fedclade.nets import net_for
from fedclade.store.events import TrafficEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import drop_replies, play_run
from fedclade.wire import Reply
from methods.fleets import fleet_of, now


@pytest.fixture(scope="module")
def classes() -> Federation:
    """Four groups of five clients, each with digits of its own."""
    return fc.data.build(source="digits", world="classes", clients=20, groups=4)


def found_in(federation: Federation, method: fc.PCAKMeansHC) -> float:
    assert federation.truth is not None
    with fleet_of(federation) as (fleet, _, first):
        return adjusted_rand(method.start(fleet, first, now(0))[0].group_by_client, federation.truth.labels)


@pytest.mark.parametrize("distance", ["nearest", "matched"])
def test_groups_of_classes_are_found_in_one_basis(distance: str, classes: Federation) -> None:
    assert found_in(classes, fc.PCAKMeansHC(components=32, distance=distance)) == 1  # type: ignore[arg-type]  # one of three


def test_they_are_not_found_in_bases_of_ones_own(classes: Federation) -> None:
    """FLT's published code: even with the right number given, places in other axes are not comparable."""
    assert found_in(classes, fc.PCAKMeansHC(components=32, basis="own")) < 0.5
    assert found_in(classes, fc.PCAKMeansHC(components=32, basis="own", groups=4)) < 0.8
    assert found_in(classes, fc.PCAKMeansHC(components=32, groups=4)) == 1


def test_clients_alike_are_one_group_and_train_as_fedavg(alike: Federation, tmp_path: Path) -> None:
    _, ours = play_run(fc.PCAKMeansHC(), alike, tmp_path / "pca")
    _, theirs = play_run(fc.FedAvg(), alike, tmp_path / "fedavg")
    assert len(ours.rows) == 1
    assert ours.rows.tobytes() == theirs.rows.tobytes()


def test_absent_clients_hold_their_group_back(classes: Federation) -> None:
    """One round moves a group's model by its participants' share of the group's examples."""
    moved, half = {}, now(1, 0.5)
    for absent in ("participants", "stale"):
        method = fc.PCAKMeansHC(components=32, absent=absent)
        with fleet_of(classes) as (fleet, _, first):
            state = method.start(fleet, first, now(0))[0]
            moved[absent] = method.round(state, fleet, half)[0].rows - state.rows
            chosen, home = half.sample(fleet.clients()), state.group_by_client
    sizes = {client: len(classes[client].train) for client in classes.clients}
    heard, everybody = (
        np.bincount([home[one] for one in clients], [sizes[one] for one in clients], minlength=4)
        for clients in (chosen, classes.clients)
    )
    assert 0 < heard.sum() < everybody.sum()
    expected = (heard / everybody)[:, None] * moved["participants"]
    np.testing.assert_allclose(moved["stale"], expected, rtol=0, atol=1e-6)


def test_what_crosses_the_wire(classes: Federation) -> None:
    """64 numbers an example: a triangle of 64 * 65 / 2 up; a middle and 10 components down; 5 points of 10 up."""
    with fleet_of(classes) as (fleet, _, first):
        fc.PCAKMeansHC(components=10).start(fleet, first, now(0))
    ledger = fleet.ledger
    assert ledger.up["scatter"] == 20 * (64 * 65 // 2 * 4 + 65 * 8)
    assert ledger.down["sketch"] == 20 * 11 * 64 * 4
    assert ledger.up["sketch"] == 20 * (5 * 10 * 4 + 7 * 8)


def test_the_basis_is_that_of_all_examples(classes: Federation) -> None:
    everything = np.concatenate([held.train.inputs.reshape(len(held.train), -1) for held in classes.data.values()])
    with fleet_of(classes) as (fleet, _, first):
        state = fc.PCAKMeansHC(components=10).start(fleet, first, now(0))[0]
    theirs = PCA(10).fit(everything)
    np.testing.assert_allclose(state.basis[0], theirs.mean_, atol=1e-4)
    likeness = np.abs((state.basis[1:] * theirs.components_).sum(axis=1))
    np.testing.assert_allclose(likeness[:6], 1, atol=1e-3)  # later ones have nearly equal variances


def test_the_basis_of_a_line_by_hand() -> None:
    """(1, 1), (3, 3) and (5, 5): the middle is (3, 3), and all of the variance lies along the diagonal."""
    sums, products = np.array([9.0, 9.0]), np.full((2, 2), 35.0)
    basis, share = principal_components(3, sums, products, 1)
    np.testing.assert_allclose(basis, [[3, 3], [np.sqrt(0.5), np.sqrt(0.5)]], atol=1e-6)
    assert share == pytest.approx(1)
    assert basis.dtype == np.float32
    assert principal_components(3, sums, products, 128)[0].shape == (3, 2)  # never more components than features
    with pytest.raises(InputError, match="no basis of so few examples"):
        principal_components(1, np.ones(2), np.ones((2, 2)), 1)


def test_who_comes_late_or_was_silent_is_placed(classes: Federation, tmp_path: Path) -> None:
    assert classes.truth is not None
    late = classes.truth.members[2][0]
    play = partial(play_run, fc.PCAKMeansHC(components=32), classes, participation=1.0, rounds=2)
    _, models = play(tmp_path / "late", late=(late,))
    assert models.groups() == classes.truth
    _, models = play(tmp_path / "quiet", wire=drop_replies(classes.truth.members[1][0]))
    assert set(models.clients) == set(classes.clients)


def test_the_start_tells_what_was_found(classes: Federation, tmp_path: Path) -> None:
    play_run(fc.PCAKMeansHC(components=32), classes, tmp_path / "run", rounds=1)
    first, second = [event.facts for event in RunFolder.open(tmp_path / "run").events(TrafficEvent)]
    assert set(first["discovery"]) == {"variance_explained", "gate", "stability", "by_height_ratio", "by_gap"}
    assert first["discovery"]["gate"] > 0.25
    assert "discovery" not in second


def test_examples_too_large_for_a_basis_are_refused_before_anything_is_sent() -> None:
    """Images of 3 x 64 x 64 have 12,288 numbers: 302 MB of products from each client."""
    rng = np.random.default_rng(0)
    large = {name: (rng.normal(size=(6, 3, 64, 64)), np.arange(6) % 2) for name in "abcd"}
    with fleet_of(fc.data.from_arrays(large)) as (fleet, _, first):
        with pytest.raises(InputError, match=r'12288 numbers each, need at most 4096; do: method.basis = "own"'):
            fc.PCAKMeansHC().start(fleet, first, now(0))[0]
        own, _ = fc.PCAKMeansHC(basis="own", components=4).start(fleet, first, now(0))
        assert set(own.group_by_client) == set("abcd")


@pytest.mark.parametrize("distance", ["nearest", "matched", "smallest"])
def test_a_client_that_sends_huge_points_is_no_part_of_it(distance: str, classes: Federation) -> None:
    def lying(replies: Iterable[Reply]) -> Iterator[Reply]:
        for reply in replies:
            huge = {"points": np.full_like(reply.arrays["points"], 1e30)} if reply.verb == "sketch" else {}
            yield replace(reply, arrays={**reply.arrays, **huge}) if reply.client == liar else reply

    liar, net = classes.clients[0], net_for("logistic", classes.shape, classes.classes)
    with simulated_fleet(classes, net, workers=0, wire=lying) as fleet:
        method = fc.PCAKMeansHC(components=32, distance=distance, groups=4)  # type: ignore[arg-type]  # one of three
        state = method.start(fleet, partial(net.initial_row, 3), now(0))[0]
    assert set(state.group_by_client) == set(classes.clients) - {liar}
