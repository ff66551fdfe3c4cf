"""What is watched is what happened, and the server's examples are nobody else's."""

from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import Assignment, InputError, LocalTraining, Round, Row, Rows
from fedclade.core.training import SGD
from fedclade.data import Federation
from fedclade.data.registry import source_named
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade_papers.attention_training.drift_recording import record_drifts, reference_of, run_with_server
from fedclade_papers.attention_training.train import AttentionTraining, train_network
from fedclade_papers.worlds.dominant import Dominant

DIGITS = source_named("digits").load()
LOCAL = LocalTraining(steps=2, batch=5, lr=0.1, optimizer=SGD(momentum=0.9))


@pytest.fixture(scope="module")
def clients() -> Federation:
    return Dominant(clients=4, examples=60).spread(DIGITS, 1)


def test_drifts_are_what_training_changed(clients: Federation) -> None:
    """Two rounds, against the fleet itself; the second starts from the mean of all, weighted by examples."""
    net = net_for("logistic", clients.shape, clients.classes)
    reference = reference_of(DIGITS, clients, 100, 1)
    seen: list[tuple[int, Rows, Row]] = []
    run = partial(run_with_server, clients, reference, net, local=LOCAL, rounds=2, seed=7)
    run(keep=lambda *reports: seen.append(reports))
    assert [number for number, _, _ in seen] == [1, 2]
    model = net.initial_row(7)
    with simulated_fleet(clients, net, workers=0) as fleet:
        for number, drifts, own in seen:
            updates = fleet.train(Assignment.of_one(model, fleet.clients()), Round(number, 7, local=LOCAL))
            np.testing.assert_allclose(drifts, updates.rows - model, rtol=0, atol=1e-7)
            assert 0 < np.linalg.norm(own) < 10 * np.linalg.norm(drifts, axis=1).max()
            model = ((updates.examples @ updates.rows.astype(np.float64)) / updates.examples.sum()).astype(np.float32)
    kept = record_drifts(run, net.size)
    assert (kept.drifts.shape, kept.reference.shape) == ((2, 4, net.size), (2, net.size))
    np.testing.assert_allclose((kept.drifts**2).sum(axis=2).mean(axis=1), 1, rtol=1e-5)  # root mean square length
    np.testing.assert_allclose(
        kept.reference[1] * np.linalg.norm(seen[1][2]) / np.linalg.norm(kept.reference[1]),
        seen[1][2],
        rtol=0,
        atol=1e-6,
    )
    assert record_drifts(run, 50).drifts.shape == (2, 4, 50)


def test_the_servers_examples_are_balanced_and_nobody_elses(clients: Federation) -> None:
    part = reference_of(DIGITS, clients, 100, 0)
    assert np.bincount(part.labels).tolist() == [10] * 10
    held = np.concatenate([each.index for data in clients.data.values() for each in (data.train, data.test)])
    assert not set(held.tolist()) & set(part.index.tolist())
    assert len(set(part.index.tolist())) == 100
    with pytest.raises(InputError, match="too few examples for the server"):
        reference_of(DIGITS, clients, 1790, 0)
    for count in (5, 105):
        with pytest.raises(InputError, match="need as many of each class: a multiple of 10"):
            reference_of(DIGITS, clients, count, 0)


def test_official_test_examples_come_first() -> None:
    source = fc.data.examples.Source("two pools", DIGITS.train, 10, test=DIGITS.train)
    part = reference_of(source, Dominant(clients=3, examples=50).spread(DIGITS, 0), 50, 0)
    assert part.pool is source.test


@pytest.mark.parametrize("kind", ["attention", "attention+"])
def test_a_network_is_trained_the_same_every_time(kind: Literal["attention", "attention+"]) -> None:
    how = AttentionTraining(kind=kind, clients=4, examples=60, rounds=6, net="logistic", seed=3)
    if kind == "attention":
        how = replace(how, reference=100, epochs=2, project=20)
    reports: list[str] = []
    one, other = train_network(DIGITS, how, reports.append), train_network(DIGITS, how)
    assert (one.kind, one.recipe["source"], one.recipe["seed"]) == (kind, "digits", 3)
    assert one.sha256 == other.sha256
    assert "round 6/6" in reports
    assert np.isfinite(one.weights).all()
    if kind == "attention":
        assert (one.recipe["inputs"], one.recipe["numbers"]) == (20, 650)
    else:
        assert len(one.weights) == 1
        assert one.weights[0] > 0


def test_drifts_are_not_made_longer() -> None:
    with pytest.raises(InputError, match="drifts are shorter, project: got 1000, need 650 or fewer"):
        train_network(DIGITS, AttentionTraining(net="logistic", examples=60, reference=100, project=1000))


@pytest.mark.parametrize("name", ["head", "project", "reference", "epochs"])
def test_what_a_kind_does_not_look_at_is_refused(name: str) -> None:
    value = "pooled" if name == "head" else 10
    with pytest.raises(InputError, match=f"{name} is for another kind"):
        train_network(DIGITS, AttentionTraining(kind="attention+", net="logistic", **{name: value}))  # type: ignore[arg-type]  # of any type
