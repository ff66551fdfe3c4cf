"""The verbs of the simulated fleet, against the same thing computed by hand."""

import numpy as np
import pytest
import torch

from fedclade.core import Assignment, InputError, Round
from fedclade.data import Federation
from fedclade.fleet import Sketching
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import Net, net_for

NOW = Round(number=1, seed=0)


@pytest.fixture(scope="module")
def net(alike: Federation) -> Net:
    return net_for("logistic", alike.shape, alike.classes)


def test_a_mean_is_the_weighted_mean_of_the_updates(two_groups: Federation, net: Net) -> None:
    """train_mean gives what train gives, averaged by hand within each start row."""
    starts = Assignment(
        np.stack([net.initial_row(0), net.initial_row(1), net.initial_row(2)]),
        {"client-00": 1, "client-01": 0, "client-02": 1, "client-03": 1, "client-05": 0},
    )
    with simulated_fleet(two_groups, net, workers=0) as fleet:
        updates, means = fleet.train(starts, NOW), fleet.train_mean(starts, NOW)
    row = dict(zip(updates.clients, updates.rows.astype(np.float64), strict=True))
    count = {client: len(two_groups[client].train) for client in updates.clients}
    for number, members in ((0, ("client-01", "client-05")), (1, ("client-00", "client-02", "client-03"))):
        by_hand = sum(count[client] * row[client] for client in members) / sum(count[client] for client in members)
        np.testing.assert_allclose(means.rows[number], by_hand, rtol=0, atol=1e-7)
    assert np.array_equal(means.rows[2], starts.rows[2])  # nobody started from it
    assert means.examples.tolist()[2] == 0
    assert means.heard == tuple(sorted(count))


def test_the_models_sent_out_stay_as_they_were(two_groups: Federation, net: Net) -> None:
    row = net.initial_row(0)
    kept = row.copy()
    with simulated_fleet(two_groups, net, workers=0) as fleet:
        starts = Assignment.of_one(row, fleet.clients())
        fleet.train(starts, NOW)
        fleet.train_mean(starts, NOW)
        fleet.evaluate(starts, NOW)
    assert np.array_equal(row, kept)


def test_losses_and_scores_by_hand(two_groups: Federation, net: Net) -> None:
    rows = np.stack([net.initial_row(0), net.initial_row(1)])
    with simulated_fleet(two_groups, net, workers=1) as fleet:
        losses = fleet.losses(("client-03", "client-01"), rows, NOW)
        scores = fleet.evaluate(Assignment(rows, {"client-01": 1, "client-03": 0}), NOW)
    assert losses.clients == ("client-03", "client-01")  # the order of the request
    for place, client in enumerate(losses.clients):
        held = two_groups[client]
        for number, row in enumerate(rows):
            logits = net.module(row)(torch.from_numpy(held.train.inputs))
            by_hand = torch.nn.functional.cross_entropy(logits, torch.from_numpy(held.train.labels))
            assert losses.table[place, number] == pytest.approx(by_hand.item(), rel=1e-5)
    for client, number in (("client-01", 1), ("client-03", 0)):
        held = two_groups[client]
        guessed = net.module(rows[number])(torch.from_numpy(held.test.inputs)).argmax(dim=1).numpy()
        place = scores.clients.index(client)
        assert scores.score[place, 0] == int((guessed == held.test.labels).sum())
        assert scores.examples[place] == len(held.test)


def test_sketches_stand_for_all_examples(two_groups: Federation, net: Net) -> None:
    with simulated_fleet(two_groups, net, workers=1) as fleet:
        found = fleet.sketch(("client-00", "client-02"), Sketching("pixels", 4), NOW)
    assert set(found.points) == {"client-00", "client-02"}
    for client, points in found.points.items():
        assert points.shape == (4, 64)
        assert found.counts[client].sum() == len(two_groups[client].train)


def test_moments_are_those_of_each_clients_own_data(two_groups: Federation, net: Net) -> None:
    with simulated_fleet(two_groups, net, workers=1) as fleet:
        described = fleet.moments(("client-02", "client-00"), "pixels", 1, 0.0, NOW)
        flags = fleet.data_changed({**described.tokens, "client-01": 5}, NOW)
    assert described.moments.clients == ("client-02", "client-00")
    part = two_groups["client-02"].train
    for label in range(10):
        own = part.inputs[part.labels == label].reshape(-1, 64)
        assert described.moments.counts[0, label] == len(own)
        np.testing.assert_allclose(described.moments.means[0, label], own.mean(axis=0), rtol=0, atol=1e-6)
    assert flags.changed == {"client-02": False, "client-00": False, "client-01": True}


def test_an_unknown_client_is_an_error(two_groups: Federation, net: Net) -> None:
    with simulated_fleet(two_groups, net, workers=0) as fleet, pytest.raises(InputError, match='no client "nobody"'):
        fleet.evaluate(Assignment.of_one(net.initial_row(0), ("nobody",)), NOW)


def test_the_fleet_knows_no_truth(two_groups: Federation, net: Net) -> None:
    """Nothing that can be reached from a fleet is the federation, whose truth is for metrics only."""
    with simulated_fleet(two_groups, net, workers=0) as fleet:
        assert not any(value is two_groups or value is two_groups.truth for value in vars(fleet).values())
