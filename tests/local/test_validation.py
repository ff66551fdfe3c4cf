"""A client's validation share: never trained on, always the same, and where losses are taken."""

from dataclasses import replace

import numpy as np
import pytest

from fedclade.data import Federation
from fedclade.local import Client
from fedclade.local.validation import judged, learned
from fedclade.nets import net_for
from fedclade.nouns import LocalTraining, Round
from fedclade.wire import Request
from fedclade.wire.verbs import LOSSES, TRAIN, NoFields, TrainFields

NOW = Round(1, seed=3, validation=0.25)


def test_the_two_shares_are_disjoint_and_the_same_in_every_round(alike: Federation) -> None:
    part = alike["client-00"].train
    kept, held_out = learned(part, NOW, "client-00"), judged(part, NOW, "client-00")
    assert len(held_out) == round(0.25 * len(part))
    assert sorted([*kept.index, *held_out.index]) == sorted(part.index)
    later = replace(NOW, number=9)
    assert np.array_equal(judged(part, later, "client-00").index, held_out.index)
    assert not np.array_equal(judged(part, NOW, "client-01").index, held_out.index)


def test_without_a_share_everything_is_both(alike: Federation) -> None:
    part, now = alike["client-00"].train, replace(NOW, validation=0.0)
    assert learned(part, now, "client-00") is judged(part, now, "client-00") is part


def test_who_has_one_example_uses_it_for_both(alike: Federation) -> None:
    part = replace(alike["client-00"].train, index=alike["client-00"].train.index[:1])
    assert learned(part, NOW, "client-00") is part


@pytest.mark.parametrize("path", ["auto", "general"])
def test_held_out_examples_do_not_reach_training(alike: Federation, path: str) -> None:
    """The same model from the kept examples alone, and losses on the others alone."""
    net = net_for("logistic", alike.shape, alike.classes)
    client, held = Client(net, path), alike["client-00"]  # type: ignore[arg-type]  # one of the two
    now = replace(NOW, local=LocalTraining(epochs=2, lr=0.3))
    ask = Request(TRAIN, "client-00", now, net.first(0)[None], TrainFields())
    losses_of = Request(LOSSES, "client-00", now, net.first(0)[None], NoFields())
    alone = replace(held, train=learned(held.train, now, "client-00"))
    reply = client.answer(ask, held)
    wanted = client.answer(replace(ask, now=replace(now, validation=0.0)), alone)
    assert np.array_equal(reply.arrays["row"], wanted.arrays["row"])
    assert reply.examples == wanted.examples == len(alone.train)
    (both,) = client.answers([ask], lambda *_: held)
    assert np.array_equal(both.arrays["row"], reply.arrays["row"])
    losses = client.answer(losses_of, held)
    others = replace(held, train=judged(held.train, now, "client-00"))
    wanted = client.answer(replace(losses_of, now=replace(now, validation=0.0)), others)
    assert np.array_equal(losses.arrays["losses"], wanted.arrays["losses"])
    assert losses.examples == len(others.train)
