"""Requests and replies come back from their headers as they were; what does not fit a verb is refused."""

import json
from typing import Any

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import LocalTraining, Round
from fedclade.wire import Reply, Request
from fedclade.wire import verbs as wire
from fedclade.wire.codec import read_reply, read_request, read_round, reply_header, request_header, round_header

NOW = Round(4, 9, 0.5, LocalTraining(epochs=3, lr=0.2, blind=True), 0.1, evaluated=True, chosen=("a", "b"))
ROWS = np.ones((1, 3), np.float32)


def over_json(value: object) -> Any:
    return json.loads(json.dumps(value))


@pytest.mark.parametrize(
    "fields",
    [
        (wire.TRAIN, wire.TrainFields(encoder="convae")),
        (wire.LOSSES, wire.NoFields()),
        (wire.EVALUATE, wire.EvaluateFields(counts=9, sums=3)),
        (wire.SKETCH, wire.SketchFields(encoder="pixels", points=5, features=64, own_components=3)),
        (wire.SCATTER, wire.EncodedFields(encoder="pixels", features=64)),
        (wire.MOMENTS, wire.MomentFields(encoder="public", features=32, classes=10, min_examples=2, noise=0.5)),
        (wire.CHANGED, wire.ChangedFields(token=-(2**63))),
    ],
    ids=lambda pair: pair[0].name,
)
def test_a_request_comes_back(fields: tuple[Any, Any]) -> None:
    verb, asked = fields
    rows = ROWS[: verb.row_limits[1]]
    header = over_json(request_header(Request(verb, "a", NOW, rows, asked)))
    again = read_request(header, NOW, rows)
    assert (again.verb, again.client, again.fields) == (verb, "a", asked)


def test_a_round_comes_back_without_who_else_takes_part() -> None:
    again = read_round(over_json(round_header(NOW)))
    assert again.chosen is None
    assert (again.number, again.seed, again.local, again.proximal, again.evaluated) == (4, 9, NOW.local, 0.1, True)


def test_a_reply_comes_back() -> None:
    arrays = {"loss": np.array(0.5)}
    again = read_reply(over_json(reply_header(Reply("train", "a", 4, 10, arrays))), arrays)
    assert (again.verb, again.client, again.round, again.examples) == ("train", "a", 4, 10)


@pytest.mark.parametrize(
    ("changes", "rows", "message"),
    [
        ({"verb": "steal"}, 1, "there is no such verb"),
        ({"verb": ["train"]}, 1, "there is no such verb"),
        ({}, 0, "got 0 models, need 1 to 2"),
        ({}, 3, "got 3 models, need 1 to 2"),
        ({"client": 5}, 1, "no client or no fields"),
        ({"fields": []}, 1, "no client or no fields"),
        ({"fields": {"encoder": 7}}, 1, "encoder is not usable"),
        ({"fields": {"encoder": "", "more": 1}}, 1, "is not known"),
        ({"verb": "sketch", "fields": {"encoder": "pixels", "points": 0, "features": 2}}, 1, "points is not usable"),
        ({"verb": "sketch", "fields": {"encoder": "pixels", "points": 10**7, "features": 2}}, 1, "points is not"),
        ({"verb": "moments", "fields": {"encoder": "pixels", "features": 2}}, 0, "classes is missing"),
    ],
)
def test_what_does_not_fit_its_verb_is_refused(changes: dict[str, object], rows: int, message: str) -> None:
    header = {**request_header(Request(wire.TRAIN, "a", NOW, ROWS, wire.TrainFields())), **changes}
    with pytest.raises(fc.FedcladeError, match=message):
        read_request(header, NOW, np.ones((rows, 3), np.float32))
