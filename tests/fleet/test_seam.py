"""The seam is narrow: an update passes few hands, and a new verb is an entry of the table and a handler."""

import os
import sys
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import fedclade as fc
from fedclade.client import handlers
from fedclade.client.client import Client
from fedclade.client.handlers import HANDLERS
from fedclade.client.kernel import Kernel
from fedclade.core import LocalTraining, Round, settings
from fedclade.data import ClientData, Federation
from fedclade.fleet import Fleet
from fedclade.fleet.fleet import same_rows
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import Net, net_for
from fedclade.wire import Request, Verb
from fedclade.wire.forms import number_form
from fedclade.wire.verbs import VERBS, verb_named

NOW = Round(number=1, seed=0, local=LocalTraining(epochs=1, batch=10, lr=0.1))


def test_an_update_passes_eight_hands(alike: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    """From FedAvg's round to the kernel; every function on the way is a place to look for what became of it."""
    net = net_for("mlp", alike.shape, alike.classes)
    if Client(net).path.name != "kernel" and not os.environ.get("CI"):
        pytest.skip("there is no compiled kernel here")
    seen: list[list[str]] = []
    train = Kernel.train

    def watched(self: Kernel, *given: Any) -> Any:
        frame: FrameType | None = sys._getframe(1)
        hands: list[str] = []
        while frame is not None and frame.f_code.co_qualname != "FedAvg.round":
            hands.append(frame.f_code.co_qualname)
            frame = frame.f_back
        seen.append([*reversed(hands), "Kernel.train"])
        return train(self, *given)

    monkeypatch.setattr(Kernel, "train", watched)
    with simulated_fleet(alike, net, workers=0) as fleet:
        state, _ = fc.FedAvg().start(fleet, partial(net.initial_row, 0), NOW)
        fc.FedAvg().round(state, fleet, NOW)
    assert len(seen) == len(alike)
    assert all(len(hands) <= 8 for hands in seen), seen[0]


@settings
class MeanFields:
    """Which input is meant."""

    place: int


MEAN = Verb(name="mean", fields=MeanFields, forms=lambda _: {"mean": number_form(min_value=0, max_value=1)})


def answer_mean(_: Client, request: Request[MeanFields], data: ClientData) -> tuple[int, dict[str, Any]]:
    inputs = data.train.inputs.reshape(len(data.train), -1)
    return len(data.train), {"mean": np.array(inputs[:, request.fields.place].mean(), np.float64)}


@pytest.fixture
def with_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole of a new verb: its entry, and its handler."""
    monkeypatch.setitem(VERBS, MEAN.name, MEAN)
    monkeypatch.setitem(HANDLERS, MEAN.name, HANDLERS["changed"])  # put back what is registered now
    handlers.handles(MEAN)(answer_mean)


def ask_mean(fleet: Fleet, federation: Federation) -> list[float]:
    replies = fleet.ask(MEAN, same_rows(federation.clients), MeanFields(place=20), NOW)
    return [float(reply.arrays["mean"]) for reply in replies]


def by_hand(federation: Federation) -> list[float]:
    flat = [held.train.inputs.reshape(len(held.train), -1) for held in federation.data.values()]
    return [float(each[:, 20].mean(dtype=np.float64)) for each in flat]


@pytest.mark.usefixtures("with_mean")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_new_verb_reaches_workers(alike: Federation, workers: int) -> None:
    net = net_for("logistic", alike.shape, alike.classes)
    with simulated_fleet(alike, net, workers=workers) as fleet:
        assert ask_mean(fleet, alike) == pytest.approx(by_hand(alike), abs=1e-6)
    assert (fleet.ledger.up, fleet.ledger.down) == ({"mean": 6 * (8 + 8)}, {"mean": 0})


@pytest.mark.usefixtures("with_mean")
def test_a_new_verb_reaches_sites(alike: Federation) -> None:
    pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")
    from conformance.loopback import loopback

    net: Net = net_for("logistic", alike.shape, alike.classes)
    with loopback(alike, "logistic")(net) as fleet:
        assert ask_mean(fleet.begin(0), alike) == pytest.approx(by_hand(alike), abs=1e-6)


def test_every_verb_has_a_handler() -> None:
    assert set(HANDLERS) == set(VERBS)
    for name, verb in VERBS.items():
        assert verb_named(name) is verb
        assert verb.row_limits[0] <= verb.row_limits[1]


@pytest.mark.parametrize("name", ["", "trains", None, 7, ["train"]])
def test_another_word_is_no_verb(name: object) -> None:
    with pytest.raises(fc.FedcladeError, match="there is no such verb"):
        verb_named(name)
