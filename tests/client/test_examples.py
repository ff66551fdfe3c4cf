"""The examples of a round: a validation share that is never trained on, and steps in the place of epochs."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fedclade.client import Client
from fedclade.client.examples import draw_steps, orders, training_part, validation_part
from fedclade.core import InputError, LocalTraining, Round, Row
from fedclade.data import ClientData, Federation, Part
from fedclade.nets import net_for
from fedclade.wire import Request
from fedclade.wire.verbs import LOSSES, TRAIN, NoFields, TrainFields

NOW = Round(1, seed=3, validation=0.25)


def at(number: int, batch: int, steps: int = 0) -> Round:
    return Round(number, 7, local=LocalTraining(batch=batch, steps=steps))


def positions(part: Part, now: Round) -> list[int]:
    found: list[int] = draw_steps(part, now, "a")[0].index.tolist()
    return found


def test_so_many_full_batches_are_drawn_and_other_ones_in_every_round(alike: Federation) -> None:
    part = alike[alike.clients[0]].train
    first = positions(part, at(1, steps=3, batch=20))
    assert len(first) == 60
    assert len(set(first)) == 60
    assert set(first) <= set(part.index.tolist())
    assert set(first) != set(positions(part, at(2, steps=3, batch=20)))
    assert first == positions(part, at(1, steps=3, batch=20))
    assert draw_steps(part, at(1, batch=20), "a") == (part, at(1, batch=20))


def test_who_has_few_examples_goes_through_them_several_times(alike: Federation) -> None:
    part = replace(alike[alike.clients[0]].train, index=np.arange(7))
    counts = Counter(positions(part, at(1, steps=4, batch=5)))
    assert sum(counts.values()) == 20
    assert set(counts.values()) == {2, 3}
    assert Counter(positions(part, at(1, steps=3, batch=100))) == dict.fromkeys(range(7), 3)


@pytest.mark.parametrize("path", ["auto", "general"])
def test_a_step_is_one_step(alike: Federation, path: str) -> None:
    """One step on all examples moves a model as far as one epoch of one batch; the reply is about all of them."""
    made = net_for("logistic", alike.shape, alike.classes)
    data = alike[alike.clients[0]]
    client = Client(made, "general" if path == "general" else "auto")
    whole = asked(client, made.initial_row(0), data, at(1, batch=10**6))
    step = asked(client, made.initial_row(0), data, at(1, batch=10**6, steps=1))
    np.testing.assert_allclose(step, whole, rtol=0, atol=1e-6)
    further = asked(client, made.initial_row(0), data, at(1, batch=10**6, steps=4))
    assert np.linalg.norm(further - made.initial_row(0)) > 2 * np.linalg.norm(step - made.initial_row(0))


def asked(client: Client, row: Row, data: ClientData, now: Round) -> Row:
    request = Request(TRAIN, "a", now, row[None], TrainFields())
    reply = client.answer(request, data)
    (together,) = client.answer_all([request], lambda *_: data)
    np.testing.assert_array_equal(reply.arrays["row"], together.arrays["row"])
    assert reply.examples == together.examples == len(data.train)
    return np.asarray(reply.arrays["row"])


def test_epochs_and_steps_are_not_both_given() -> None:
    with pytest.raises(InputError, match=r"local\.epochs: got 2, need 1"):
        LocalTraining(epochs=2, steps=3)


def walked(number: int, count: int, batch: int, steps: int, client: str = "a") -> list[list[int]]:
    now = Round(number, 7, local=LocalTraining(batch=batch, steps=steps, steps_from="epochs"))
    return [order.tolist() for order in orders(count, now, client)]


def test_an_epoch_is_gone_through_once_over_its_rounds() -> None:
    """100 examples are 10 batches of 10: two rounds of 5 steps are one epoch, the next two another in another order."""
    rounds = [walked(number, 100, 10, 5) for number in (1, 2, 3, 4)]
    assert [[len(order) for order in each] for each in rounds] == [[50]] * 4
    assert sorted(rounds[0][0] + rounds[1][0]) == sorted(rounds[2][0] + rounds[3][0]) == list(range(100))
    assert rounds[0][0] + rounds[1][0] != rounds[2][0] + rounds[3][0]
    assert walked(1, 100, 10, 5) == rounds[0]
    assert walked(1, 100, 10, 5, "b") != rounds[0]


def test_a_round_goes_on_behind_the_end_of_an_epoch() -> None:
    """11 examples in batches of 5 are 5, 5 and 1; two steps a round: 5 + 5, then 1 and 5, then 5 + 1."""
    first, second, third = (walked(number, 11, 5, 2) for number in (1, 2, 3))
    assert [[len(order) for order in each] for each in (first, second, third)] == [[10], [1, 5], [6]]
    assert sorted(first[0] + second[0]) == sorted(second[1] + third[0]) == list(range(11))
    assert [len(order) for order in walked(1, 3, 5, 4)] == [3] * 4  # one batch is an epoch


@pytest.mark.parametrize("path", ["auto", "general"])
def test_two_rounds_of_half_an_epoch_train_on_each_example_once(path: str, alike: Federation) -> None:
    """With a step that hardly moves the model, drifts add up: two halves are one epoch, and two draws are not."""
    held = alike[alike.clients[0]]
    data = replace(held, train=replace(held.train, index=held.train.index[:40]))
    net = net_for("logistic", alike.shape, alike.classes)
    client, start = Client(net, "general" if path == "general" else "auto"), net.initial_row(0)

    def drift(number: int, local: LocalTraining) -> Row:
        return asked(client, start, data, Round(number, 7, local=replace(local, batch=4, lr=1e-3))) - start

    whole = drift(1, LocalTraining())
    halves = [drift(number, LocalTraining(steps=5, steps_from="epochs")) for number in (1, 2)]
    draws = [drift(number, LocalTraining(steps=5)) for number in (1, 2)]
    length = np.linalg.norm(whole)
    assert np.linalg.norm(sum(halves) - whole) < 0.01 * length
    assert np.linalg.norm(sum(draws) - whole) > 0.05 * length


def test_a_part_of_an_epoch_has_steps() -> None:
    with pytest.raises(InputError, match=r"local\.steps: got 0, need 1 or more"):
        LocalTraining(steps_from="epochs")


def test_the_two_shares_are_disjoint_and_the_same_in_every_round(alike: Federation) -> None:
    part = alike["client-00"].train
    kept, held_out = training_part(part, NOW, "client-00"), validation_part(part, NOW, "client-00")
    assert len(held_out) == round(0.25 * len(part))
    assert sorted([*kept.index, *held_out.index]) == sorted(part.index)
    later = replace(NOW, number=9)
    assert np.array_equal(validation_part(part, later, "client-00").index, held_out.index)
    assert not np.array_equal(validation_part(part, NOW, "client-01").index, held_out.index)


def test_without_a_share_everything_is_both(alike: Federation) -> None:
    part, now = alike["client-00"].train, replace(NOW, validation=0.0)
    assert training_part(part, now, "client-00") is validation_part(part, now, "client-00") is part


def test_who_has_one_example_uses_it_for_both(alike: Federation) -> None:
    part = replace(alike["client-00"].train, index=alike["client-00"].train.index[:1])
    assert training_part(part, NOW, "client-00") is part


@pytest.mark.parametrize("path", ["auto", "general"])
def test_held_out_examples_do_not_reach_training(alike: Federation, path: str) -> None:
    """The same model from the kept examples alone, and losses on the others alone."""
    net = net_for("logistic", alike.shape, alike.classes)
    client, held = Client(net, path), alike["client-00"]  # type: ignore[arg-type]  # one of the two
    now = replace(NOW, local=LocalTraining(epochs=2, lr=0.3))
    ask = Request(TRAIN, "client-00", now, net.initial_row(0)[None], TrainFields())
    losses_of = Request(LOSSES, "client-00", now, net.initial_row(0)[None], NoFields())
    alone = replace(held, train=training_part(held.train, now, "client-00"))
    reply = client.answer(ask, held)
    wanted = client.answer(replace(ask, now=replace(now, validation=0.0)), alone)
    assert np.array_equal(reply.arrays["row"], wanted.arrays["row"])
    assert reply.examples == wanted.examples == len(alone.train)
    (both,) = client.answer_all([ask], lambda *_: held)
    assert np.array_equal(both.arrays["row"], reply.arrays["row"])
    losses = client.answer(losses_of, held)
    others = replace(held, train=validation_part(held.train, now, "client-00"))
    wanted = client.answer(replace(losses_of, now=replace(now, validation=0.0)), others)
    assert np.array_equal(losses.arrays["losses"], wanted.arrays["losses"])
    assert losses.examples == len(others.train)
