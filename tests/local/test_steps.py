"""Steps in the place of epochs: so many full batches, drawn anew, on every path."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fedclade.data import ClientData, Federation, Part
from fedclade.local import Client
from fedclade.local.steps import drawn
from fedclade.nets import net_for
from fedclade.nouns import InputError, LocalTraining, Round, Row
from fedclade.wire import Request
from fedclade.wire.verbs import TRAIN, TrainFields


def at(number: int, batch: int, steps: int = 0) -> Round:
    return Round(number, 7, local=LocalTraining(batch=batch, steps=steps))


def positions(part: Part, now: Round) -> list[int]:
    found: list[int] = drawn(part, now, "a")[0].index.tolist()
    return found


def test_so_many_full_batches_are_drawn_and_other_ones_in_every_round(alike: Federation) -> None:
    part = alike[alike.clients[0]].train
    first = positions(part, at(1, steps=3, batch=20))
    assert len(first) == 60
    assert len(set(first)) == 60
    assert set(first) <= set(part.index.tolist())
    assert set(first) != set(positions(part, at(2, steps=3, batch=20)))
    assert first == positions(part, at(1, steps=3, batch=20))
    assert drawn(part, at(1, batch=20), "a") == (part, at(1, batch=20))


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
    whole = asked(client, made.first(0), data, at(1, batch=10**6))
    step = asked(client, made.first(0), data, at(1, batch=10**6, steps=1))
    np.testing.assert_allclose(step, whole, rtol=0, atol=1e-6)
    further = asked(client, made.first(0), data, at(1, batch=10**6, steps=4))
    assert np.linalg.norm(further - made.first(0)) > 2 * np.linalg.norm(step - made.first(0))


def asked(client: Client, row: Row, data: ClientData, now: Round) -> Row:
    request = Request(TRAIN, "a", now, row[None], TrainFields())
    reply = client.answer(request, data)
    (together,) = client.answers([request], lambda *_: data)
    np.testing.assert_array_equal(reply.arrays["row"], together.arrays["row"])
    assert reply.examples == together.examples == len(data.train)
    return np.asarray(reply.arrays["row"])


def test_epochs_and_steps_are_not_both_given() -> None:
    with pytest.raises(InputError, match=r"local\.epochs: got 2, need 1"):
        LocalTraining(epochs=2, steps=3)
