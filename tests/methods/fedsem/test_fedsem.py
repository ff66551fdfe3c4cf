"""FedSEM: its E and M steps by hand, who is part of the clustering, and who comes late."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans

import fedclade as fc
from fedclade.core import Assignment, Groups
from fedclade.data import Federation
from fedclade.fleet import Updates
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods.fedsem.fedsem import FedSEMState, hold_back_centres
from fedclade.nets import net_for
from methods.fleets import fleet_of, now
from methods.pulling import Pulling


def state_of(rows: list[list[float]], home: dict[str, int], early: list[list[float]] | None = None) -> FedSEMState:
    centres = np.array(rows, np.float32)
    began = centres if early is None else np.array(early, np.float32)
    return FedSEMState(centres, home, ("a", "b", "c", "d"), np.zeros(centres.shape[1], np.float32), began, {}, {})


def updates_of(rows: dict[str, list[float]], examples: list[int]) -> Updates:
    made = np.array(list(rows.values()), np.float32)
    return Updates(tuple(rows), made, np.array(examples), np.zeros(len(rows)))


def test_a_step_by_hand() -> None:
    """Centres 0 and 10. a (2, weight 1) and b (5.5 -> 10) of centre 0: b changes. c (12, weight 3) stays.

    Then centre 0 is 2, and centre 1 is (5.5 + 3 * 12) / 4 = 10.375. d was not asked, and stays where it was.
    """
    state = state_of([[0], [10]], {"a": 0, "b": 0, "c": 1, "d": 1})
    after, moved = fc.FedSEM().em_step(state, updates_of({"a": [2], "b": [5.5], "c": [12]}, [1, 1, 3]), slice(None))
    assert after.centre_by_client == {"a": 0, "b": 1, "c": 1, "d": 1}
    assert moved == 1
    assert after.rows.tolist() == [[2], [10.375]]
    assert state.rows.tolist() == [[0], [10]]


def test_absent_clients_hold_their_centre_back() -> None:
    """As above, with d (4 examples) at centre 1, at 10: (4 * 10.375 + 4 * 10) / 8 = 10.1875. Centre 0 has nobody else.

    b, which changed, holds back neither; nor does e, which trains for the first time and is no part of a mean.
    """
    before = state_of([[0], [10]], {"a": 0, "b": 0, "c": 1, "d": 1})
    updates = updates_of({"a": [2], "b": [5.5], "c": [12], "e": [9]}, [1, 1, 3, 7])
    after, _ = fc.FedSEM(absent="stale").em_step(before, updates, slice(None))
    assert after.rows.tolist() == [[2], [10.375]]
    assert hold_back_centres(before, after, updates, {"a": 1, "b": 1, "c": 3, "d": 4}).tolist() == [[2], [10.1875]]
    assert hold_back_centres(before, after, updates, {"a": 1, "b": 1, "c": 3}).tolist() == [[2], [10.375]]  # d has left


def test_stale_counts_in_a_run(two_groups: Federation, tmp_path: Path) -> None:
    """With everybody in every round nobody is absent; with half of them it makes a difference."""
    for participation, same in ((1.0, True), (0.5, False)):
        train = partial(fc.train, two_groups, net="logistic", rounds=6, participation=participation, lr=0.1)
        usual = train(fc.FedSEM(clusters=2), out=tmp_path / f"usual{participation}").model_for("client-00")
        stale = train(fc.FedSEM(clusters=2, absent="stale"), out=tmp_path / f"stale{participation}").model_for(
            "client-00"
        )
        pairs = zip(usual.parameters(), stale.parameters(), strict=True)
        assert all(torch.allclose(one, other, rtol=0, atol=1e-6) for one, other in pairs) is same


def test_all_clients_are_clustered_as_published() -> None:
    """Points 10, 10, 0 and 0; a client goes half of the way to its own. K = 2, and all hold 0 at first.

    a trains, to 5: alone, for b, c and d hold 0 and are the other cluster. Then b trains, to 5, and is of a's cluster:
    (1 * 5 + 3 * 5) / 4 = 5. Then a trains, to 7.5, and b holds 5: (7.5 + 3 * 5) / 4 = 5.625. c comes late, and is
    clustered with the first model as soon as it is there.
    """
    fleet = Pulling({name: np.array([at], np.float32) for name, at in zip("abcd", (10, 10, 0, 0), strict=True)})
    fleet.count, fleet.away = {"b": 3}, {"c"}
    method = fc.FedSEM(clusters=2, absent="clustered")
    state, _ = method.start(fleet.fleet(), lambda _: np.zeros(1, np.float32), now(0))
    rows: list[list[float]] = []
    for number, trains in enumerate("aba", 1):
        fleet.away = {"c"} if number == 1 else set()
        state, facts = method.round(state, fleet.fleet(), replace(now(number), chosen=(trains,)))
        rows.append(state.rows[:, 0].tolist())
    assert rows == [[5, 0], [5, 0], [5.625, 0]]
    assert state.centre_by_client == {"a": 0, "b": 0, "c": 1, "d": 1}
    assert (facts["sizes"], facts["moved"]) == ([2, 2], 0)
    fleet.silent = {"a"}
    assert method.round(state, fleet.fleet(), replace(now(4), chosen=("a",)))[0] is state  # nobody answers


def test_the_first_clusters_are_those_of_scikit_learn_over_all_clients() -> None:
    """12 clients, of which 6 have trained: the six others are one point, and it is in a cluster like any other."""
    federation = fc.data.build(source="digits", world="label-permutation", clients=12, groups=2)
    method = fc.FedSEM(clusters=2, absent="clustered")
    trained = now(1, 0.5).sample(federation.clients)
    with fleet_of(federation) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        state, _ = method.round(state, fleet, now(1, 0.5, evaluated=True))
        updates = fleet.train(Assignment.of_one(first(0), trained), now(1, 0.5))
        rows = {client: first(0) for client in federation.clients} | dict(
            zip(updates.clients, updates.rows, strict=True)
        )
    labels = KMeans(2, n_init=20, random_state=0).fit_predict(np.stack(list(rows.values())))
    wanted = Groups.from_labels(dict(zip(rows, labels.tolist(), strict=True)))
    assert Groups.from_labels(state.centre_by_client) == wanted
    assert method.assignment(state).groups() == wanted  # nobody is asked to join: everybody has a centre


def test_a_centre_without_models_stays() -> None:
    after, _ = fc.FedSEM().em_step(state_of([[0], [10]], {"a": 0}), updates_of({"a": [1]}, [1]), slice(None))
    assert after.rows.tolist() == [[1], [10]]


def test_distances_may_be_those_of_the_last_layer() -> None:
    """On both numbers a is nearest to (0, 0); on the last alone to (9, 9)."""
    state, updates = state_of([[0, 0], [9, 9]], {"a": 0}), updates_of({"a": [0, 5]}, [1])
    assert fc.FedSEM().em_step(state, updates, slice(None))[0].centre_by_client == {"a": 0}
    assert fc.FedSEM().em_step(state, updates, slice(1, 2))[0].centre_by_client == {"a": 1}


def test_the_last_layer_is_where_it_stands(two_groups: Federation) -> None:
    with fleet_of(two_groups, "mlp") as (fleet, net, _):
        assert net.size == 64 * 200 + 200 + 2010
        assert fc.FedSEM(distance="last").compared_slice(fleet) == slice(64 * 200 + 200, net.size)
        assert fc.FedSEM().compared_slice(fleet) == slice(None)


def test_who_trains_first_late_is_compared_with_the_first_centres() -> None:
    """Centres have moved from 1 and 5 to 50 and 90; a model of 4.5 after one training is like the second."""
    state = state_of([[50], [90]], {"a": 0}, early=[[1], [5]])
    after, _ = fc.FedSEM().em_step(state, updates_of({"b": [4.5]}, [1]), slice(None))
    assert after.centre_by_client == {"a": 0, "b": 1}
    assert after.rows.tolist() == [[50], [90]]  # it is no part of a mean yet


def test_late_and_known_clients_keep_their_names() -> None:
    """b and d train for the first time, a and c do not; in each half positions are not those of the whole."""
    state = state_of([[50], [90]], {"a": 0, "c": 0}, early=[[1], [5]])
    updates = updates_of({"a": [88], "b": [0], "c": [52], "d": [6]}, [1, 1, 1, 1])
    after, moved = fc.FedSEM().em_step(state, updates, slice(None))
    assert after.centre_by_client == {"a": 1, "b": 0, "c": 0, "d": 1}
    assert moved == 1
    assert after.rows.tolist() == [[52], [88]]


@pytest.mark.parametrize("distance", ["all", "last"])
def test_only_who_has_trained_is_clustered(distance: str) -> None:
    """12 clients, 6 in a round, K = 2: eight first models are enough. The others have no centre until they train.

    A model that was never trained would be a heap of its own, and would take one of the two centres.
    """
    federation = fc.data.build(source="digits", world="label-permutation", clients=12, groups=2)
    assert federation.truth is not None
    method = fc.FedSEM(clusters=2, distance=distance)  # type: ignore[arg-type]  # one of two
    with fleet_of(federation) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        trained: set[str] = set()
        while not len(state.first_centres):
            number = 1 + len(trained) // 6
            trained |= set(now(number, 0.5).sample(federation.clients))
            state, _ = method.round(state, fleet, now(number, 0.5))
            assert set(state.centre_by_client) <= trained
        assert set(state.centre_by_client) == trained != set(federation.clients)
        planted = {client: federation.truth.labels[client] for client in trained}
        assert Groups.from_labels(state.centre_by_client) == Groups.from_labels(planted)
        updates = fleet.train(Assignment.of_one(first(0), federation.clients), now(number))
        for client, row in zip(updates.clients, updates.rows, strict=True):
            if client in now(number, 0.5).sample(federation.clients):
                near = int(np.linalg.norm(state.first_centres - row, axis=1).argmin())
                assert near == state.centre_by_client[client]
        state, _ = method.round(state, fleet, now(9, 0.5, evaluated=True))
        assert method.assignment(state).groups() == federation.truth  # everybody has trained now


def test_without_joining_late_ones_wait(two_groups: Federation) -> None:
    method = fc.FedSEM(clusters=1, all_join=False)
    with fleet_of(two_groups) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        for number in (1, 2, 3):
            state, _ = method.round(state, fleet, now(number, 1 / 6, evaluated=True))
        assert len(state.centre_by_client) < len(two_groups)
        assert set(method.assignment(state).clients) == set(two_groups.clients)


def test_nobody_waits_for_a_client_that_never_answers(two_groups: Federation) -> None:
    """Six clients, K = 2: eight first models would be wanted, and five can be had. They learn from round 2 on."""
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    mute = two_groups.clients[0]
    wire = partial(filter, lambda reply: reply.client != mute)
    with simulated_fleet(two_groups, net, workers=0, wire=wire) as fleet:
        method = fc.FedSEM(clusters=2)
        state = method.start(fleet, partial(net.initial_row, 3), now(0))[0]
        losses = []
        for number in range(1, 5):
            state, facts = method.round(state, fleet, now(number))
            losses.append(facts["loss"])
    assert losses == sorted(losses, reverse=True)  # type: ignore[type-var]  # numbers, as somebody answers
    assert set(state.centre_by_client) == set(two_groups.clients[1:])
    assert two_groups.truth is not None
    planted = {client: label for client, label in two_groups.truth.labels.items() if client != mute}
    assert Groups.from_labels(state.centre_by_client) == Groups.from_labels(planted)


def test_more_centres_than_clients_are_as_many_as_clients(two_groups: Federation) -> None:
    method = fc.FedSEM(clusters=9)
    with fleet_of(two_groups) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        state, _ = method.round(state, fleet, now(1))
        assert sorted(state.centre_by_client.values()) == list(range(6))
        updates = fleet.train(method.assignment(state), now(2))
        after, _ = method.round(state, fleet, now(2))
        for client, row in zip(updates.clients, updates.rows, strict=True):
            np.testing.assert_allclose(method.assignment(after).row_of(client), row, atol=1e-6)
