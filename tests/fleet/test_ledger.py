"""Bytes are counted at the seam: by verb, up and down, by hand."""

from collections.abc import Iterator

import numpy as np
import pytest

from fedclade.core import Assignment, Round
from fedclade.data import Federation
from fedclade.fleet import Sketching
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.testing import drop_replies
from fedclade.wire import Reply

NOW = Round(number=1, seed=0)
MODEL = 650 * 4  # logistic regression of 64 inputs and 10 classes, float32


def test_every_verb_by_hand(alike: Federation) -> None:
    net = net_for("logistic", alike.shape, alike.classes)
    first = net.initial_row(0)
    some = alike.clients[:3]
    with simulated_fleet(alike, net, workers=0, wire=drop_replies("client-01")) as fleet:
        fleet.train(Assignment.of_one(first, some), NOW)
        fleet.train_mean(Assignment.of_one(first, some), NOW)
        fleet.losses(some, np.stack([first] * 5), NOW)
        fleet.sketch(some, Sketching("pixels", 4), NOW)
        whole = fleet.weights("fashion-mnist")
        fleet.sketch(some, Sketching("fashion-mnist", 2), NOW)
        fleet.sketch(some, Sketching("fashion-mnist", 2, whole, 1), NOW)
        fleet.train_mean(Assignment.of_one(whole, some), NOW, "fashion-mnist")
        fleet.sketch(some, Sketching("pixels", 4, basis=np.eye(3, 64, dtype=np.float32)), NOW)
        fleet.scatter(some, "pixels", NOW)
        fleet.train(Assignment.of_one(first, some), NOW, towards=first)
        fleet.moments(some, "public", 1, 0.0, NOW)
        fleet.data_changed(dict.fromkeys(some, 7), NOW)
        fleet.evaluate(Assignment.of_one(first, some), NOW)
    ledger = fleet.ledger
    # Down: to each of three clients. Up: from the two that were heard; a count and a loss beside each model.
    assert ledger.down == {
        "train": (3 + 6) * MODEL,  # once with a second model to be pulled to
        "train_mean": 3 * MODEL,
        "losses": 15 * MODEL,
        "sketch": 3 * 4 * (25_956 + 51_577 + 3 * 64),  # half of an autoencoder, or all of it; a middle, two components
        "tune": 3 * 4 * 51_577,
        "scatter": 0,
        "moments": 0,
        "changed": 3 * 8,
        "evaluate": 3 * MODEL,
    }
    assert ledger.up == {
        "train": 2 * 2 * (MODEL + 16),
        "train_mean": 2 * (MODEL + 16),
        "losses": 2 * (5 + 1) * 8,
        # Points; counts, token, examples.
        "sketch": 2 * (4 * 64 * 4 + 6 * 8) + 2 * 2 * (2 * 128 * 4 + 4 * 8) + 2 * (4 * 2 * 4 + 6 * 8),
        "tune": 2 * (4 * 51_577 + 16),
        "scatter": 2 * (64 * 65 // 2 * 4 + 65 * 8),  # a triangle; a sum for each feature, examples
        "moments": 2 * (10 * (32 + 1) * 4 + 12 * 8),  # means, variances; counts, token, examples
        "changed": 2 * 9,
        "evaluate": 2 * (1 + 1 + 2 + 10 * 10 + 10) * 8,  # examples, loss, score, confusion matrix, ranked pairs
    }
    # Asked, and never heard.
    assert ledger.by_client["client-01"] == 9 * MODEL + 8 + 4 * (25_956 + 2 * 51_577 + 3 * 64)
    assert ledger.trained == {"client-00", "client-02"}
    assert [client for _, client in ledger.silent] == ["client-01"] * 13


def test_a_refused_reply_is_recorded_once(alike: Federation) -> None:
    def broken(replies: Iterator[Reply]) -> Iterator[Reply]:
        for reply in replies:
            yield reply if reply.client != "client-01" else Reply("train", "client-01", 1, 0, reply.arrays)

    net = net_for("logistic", alike.shape, alike.classes)
    with simulated_fleet(alike, net, workers=0, wire=broken) as fleet:
        fleet.train_mean(Assignment.of_one(net.initial_row(0), alike.clients[:2]), NOW)
    (refusal,) = fleet.ledger.refused
    assert refusal.client == "client-01"
    assert refusal.reason.startswith("examples: got 0")
    assert fleet.ledger.silent == []


@pytest.mark.parametrize("clients", [2, 5])
def test_a_mean_costs_the_server_one_row(alike: Federation, clients: int) -> None:
    """Whatever the number of clients, `train_mean` gives back one row for each model sent."""
    net = net_for("logistic", alike.shape, alike.classes)
    with simulated_fleet(alike, net, workers=0) as fleet:
        means = fleet.train_mean(Assignment.of_one(net.initial_row(0), alike.clients[:clients]), NOW)
    assert means.rows.shape == (1, 650)
    assert len(means.heard) == clients
