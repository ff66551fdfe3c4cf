"""IFCA: a round against the paper's lines written out, what is sent, and which start goes on."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.core import Assignment, ClientId, InputError, Row, Rows
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods.ifca import IFCAState
from fedclade.nets import net_for
from methods.fleets import LOCAL, fleet_of, now

SEPARATING = 2  # a seed of first models from which both clusters are found: from others one may stay empty


def losses_by_hand(federation: Federation, client: ClientId, rows: Rows) -> list[float]:
    """The mean cross-entropy of softmax regression, in plain torch."""
    held = federation[client].train
    inputs, labels = torch.from_numpy(held.inputs).flatten(1), torch.from_numpy(held.labels)
    found = []
    for row in torch.from_numpy(np.array(rows)):
        logits = inputs @ row[:640].view(10, 64).T + row[640:]
        found.append(float(torch.nn.functional.cross_entropy(logits, labels)))
    return found


def weighted(federation: Federation, rows: dict[ClientId, Row], clients: list[ClientId]) -> Row:
    counts = [len(federation[client].train) for client in clients]
    mean: Row = np.average([rows[client].astype(np.float64) for client in clients], axis=0, weights=counts)
    return mean


def own_rows(fleet: Fleet, rows: Rows, home: dict[ClientId, int], number: int) -> dict[ClientId, Row]:
    updates = fleet.train(Assignment(rows, home), now(number))
    return dict(zip(updates.clients, updates.rows, strict=True))


def test_every_start_and_every_cluster_begins_elsewhere(two_groups: Federation) -> None:
    method = fc.IFCA(clusters=3, restarts=2)
    with fleet_of(two_groups) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
    assert state.rows.shape == (6, 650)
    assert len({row.tobytes() for row in state.rows}) == 6


def test_a_round_is_the_papers(two_groups: Federation) -> None:
    """Each client takes the model of lowest loss and trains it; a model is the mean of those who took it."""
    method = fc.IFCA(clusters=2, restarts=1)
    with fleet_of(two_groups) as (fleet, net, _):
        state = method.start(fleet, partial(net.initial_row, SEPARATING), now(0))[0]
        for number in (1, 2, 3):
            losses = {client: losses_by_hand(two_groups, client, state.rows) for client in two_groups.clients}
            home = {client: int(np.argmin(own)) for client, own in losses.items()}
            rows = own_rows(fleet, state.rows, home, number)
            wanted = np.array(state.rows)
            for cluster in set(home.values()):
                wanted[cluster] = weighted(two_groups, rows, [each for each in home if home[each] == cluster])
            state, facts = method.round(state, fleet, now(number))
            assert {client: homes[0] for client, homes in state.clusters_by_client.items()} == home
            np.testing.assert_allclose(state.rows, wanted, atol=1e-6)
            assert facts["heard"] == len(two_groups)
        assert set(home.values()) == {0, 1}
        assert method.assignment(state).groups() == two_groups.truth


def test_all_models_are_sent_to_who_takes_part(two_groups: Federation) -> None:
    """Three of six clients take part: K = 4 models go down to each, one comes up: (K + 1) / 2 times FedAvg's bytes."""
    model = 650 * 4
    with fleet_of(two_groups) as (fleet, _, first):
        method, ledger = fc.IFCA(clusters=4, restarts=1), fleet.ledger
        state = method.start(fleet, first, now(0))[0]
        state, _ = method.round(state, fleet, now(1, 0.5))
        numbers = 8 * (1 + 1 + 4)  # examples, loss and K losses of each reply
        assert (ledger.down, ledger.up) == ({"train_best": 3 * 4 * model}, {"train_best": 3 * (model + numbers)})
        method.round(state, fleet, now(2, 0.5, evaluated=True))  # and to everybody, before models are evaluated
        assert (ledger.down["train_best"], ledger.down["losses"]) == ((3 + 3) * 4 * model, 6 * 4 * model)


def test_starts_of_one_cluster_are_compared_too(two_groups: Federation) -> None:
    """K = 1, three starts: the best is the one whose model has the lowest loss before the round."""
    with fleet_of(two_groups) as (fleet, _, first):
        method = fc.IFCA(clusters=1, restarts=3)
        state = method.start(fleet, first, now(0))[0]
        losses = np.array([losses_by_hand(two_groups, client, state.rows) for client in two_groups.clients])
        sizes = [len(two_groups[client].train) for client in two_groups.clients]
        after, facts = method.round(state, fleet, now(1))
    assert after.best_start == facts["best_start"] == int(np.average(losses, axis=0, weights=sizes).argmin())


def test_gradient_averaging_divides_by_all_participants(two_groups: Federation) -> None:
    """theta_j - lr / n * (sum of n_i g_i over those who chose j), n the examples of all participants."""
    method = fc.IFCA(clusters=2, restarts=1, averaging="gradients")
    with fleet_of(two_groups) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        wanted = torch.from_numpy(state.rows.astype(np.float64))
        total = sum(len(two_groups[client].train) for client in two_groups.clients)
        for client in two_groups.clients:
            chosen = int(np.argmin(losses_by_hand(two_groups, client, state.rows)))
            held = two_groups[client].train
            row = torch.from_numpy(np.array(state.rows[chosen])).double().requires_grad_()
            logits = torch.from_numpy(held.inputs).double().flatten(1) @ row[:640].view(10, 64).T + row[640:]
            torch.nn.functional.cross_entropy(logits, torch.from_numpy(held.labels)).backward()  # type: ignore[no-untyped-call]  # torch's
            assert row.grad is not None
            wanted[chosen] -= LOCAL.lr * len(held) / total * row.grad
        state, _ = method.round(state, fleet, now(1))
        np.testing.assert_allclose(state.rows, wanted.numpy(), atol=1e-6)


def test_shared_layers_learn_from_everybody(two_groups: Federation) -> None:
    method = fc.IFCA(clusters=2, restarts=1, shared=1)
    with fleet_of(two_groups, "mlp") as (fleet, net, first):
        cut = net.layers[0]
        state = method.start(fleet, first, now(0))[0]
        assert state.rows[0, :cut].tobytes() == state.rows[1, :cut].tobytes()
        assert state.rows[0, cut:].tobytes() != state.rows[1, cut:].tobytes()
        for number in (1, 2):
            before = state
            state, _ = method.round(state, fleet, now(number))
            home = {client: homes[0] for client, homes in state.clusters_by_client.items()}
            rows = own_rows(fleet, before.rows, home, number)
            everybody = weighted(two_groups, rows, list(two_groups.clients))
            for row in state.rows:
                np.testing.assert_allclose(row[:cut], everybody[:cut], atol=1e-6)


def test_the_start_with_the_lowest_training_loss_goes_on(two_groups: Federation) -> None:
    method = fc.IFCA(clusters=2, restarts=3, trial=2)
    with fleet_of(two_groups) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        for number in (1, 2):
            state, facts = method.round(state, fleet, now(number))
            assert facts["starts"] == 3
            assert len(state.rows) == 6
        tables = {client: losses_by_hand(two_groups, client, state.rows) for client in two_groups.clients}
        counts = [len(two_groups[client].train) for client in tables]
        lowest = [[min(table[2 * start : 2 * start + 2]) for table in tables.values()] for start in range(3)]
        best = int(np.argmin([np.average(own, weights=counts) for own in lowest]))
        alone = IFCAState(state.rows[2 * best : 2 * best + 2], dict.fromkeys(two_groups.clients, (0,)))
        wanted, _ = fc.IFCA(clusters=2, restarts=1).round(alone, fleet, now(3))
        after, facts = method.round(state, fleet, now(3))
        assert facts["starts"] == 1
        assert after.rows.tobytes() == wanted.rows.tobytes()
        assert after.clusters_by_client == wanted.clusters_by_client


def test_fedavg_comes_first_and_is_then_perturbed(two_groups: Federation) -> None:
    method = fc.IFCA(clusters=2, restarts=2, start_from="fedavg", warmup=2, perturbation=0.2)
    with fleet_of(two_groups) as (fleet, _, first):
        counted = fleet.begin(0)
        one, many = fc.FedAvg().start(fleet, first, now(0))[0], method.start(fleet, first, now(0))[0]
        one, many = fc.FedAvg().round(one, fleet, now(1))[0], method.round(many, counted, now(1))[0]
        assert many.rows.tobytes() == one.model[None].tobytes()
        one, _ = fc.FedAvg().round(one, fleet, now(2))
        many, facts = method.round(many, counted, now(2))
        assert facts["heard"] == 6
        assert len({row.tobytes() for row in many.rows}) == 4
        moved = (many.rows / one.model - 1).std(axis=1)
        assert moved == pytest.approx(0.2, abs=0.02)  # 650 draws: an error of 0.2 / sqrt(1300)
        assert "losses" not in counted.ledger.down  # of one model there is nothing to choose
        assert counted.ledger.down == {"train_mean": 2 * 6 * 650 * 4}
        later, _ = method.round(many, fleet, now(3, evaluated=True))
        assert set(later.clusters_by_client) == set(two_groups.clients)


def test_nobody_answers_and_nothing_changes(two_groups: Federation) -> None:
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    with simulated_fleet(two_groups, net, workers=0, wire=lambda _: ()) as silent:
        method = fc.IFCA(clusters=2, restarts=1)
        state = method.start(silent, lambda number: net.initial_row(3, number), now(0))[0]
        after, facts = method.round(state, silent, now(1))
    assert facts["heard"] == 0
    assert after.rows.tobytes() == state.rows.tobytes()


def test_empty_clusters_have_a_size_too(two_groups: Federation) -> None:
    with fleet_of(two_groups) as (fleet, _, first):
        method = fc.IFCA(clusters=9, restarts=2)
        _, facts = method.round(method.start(fleet, first, now(0))[0], fleet, now(1))
    sizes = np.array(facts["sizes"])
    assert (len(sizes), sizes.sum()) == (9, 6)


def test_clusters_that_would_share_every_layer_are_refused(two_groups: Federation, tmp_path: Path) -> None:
    """They would be one model, at the price of K."""
    with pytest.raises(InputError, match=r"method\.shared: got 2, need at most 1: this net has 2 layers"):
        fc.train(two_groups, fc.IFCA(shared=2), net="mlp", rounds=1, out=tmp_path / "all")
    assert not (tmp_path / "all").exists()
    fc.train(two_groups, fc.IFCA(shared=1), net="mlp", rounds=1, out=tmp_path / "some")
