"""A site answers only requests that are made out to it."""

from functools import partial

import pytest

from fedclade.core import InputError, Round
from fedclade.data import Federation
from fedclade.fleet.site import ModelSpec, SiteClient, answer, enrol
from fedclade.nets import net_for
from fedclade.wire import Request
from fedclade.wire.codec import request_header, round_header
from fedclade.wire.verbs import EVALUATE, EvaluateFields

NOW = Round(1, seed=0)


def test_a_request_for_another_client_is_not_answered(alike: Federation) -> None:
    """What a client draws depends on its name: asked under many, it would give many draws of its noise."""
    net = net_for("logistic", alike.shape, alike.classes)
    spec = ModelSpec({"name": "logistic"}, alike.shape, alike.task).header()
    held = SiteClient("client-00", partial(alike.data_at, "client-00"))
    rows = net.initial_row(0)[None]
    mine, other = (
        {
            **spec,
            "request": request_header(Request(EVALUATE, name, NOW, rows, EvaluateFields(counts=100, sums=10))),
            "now": round_header(NOW),
        }
        for name in ("client-00", "client-01")
    )
    reply, arrays = answer(mine, {"rows": rows}, held, None)
    assert (reply["client"], set(arrays)) == ("client-00", {"loss", "score", "counts", "sums"})
    with pytest.raises(InputError, match="for another client"):
        answer(other, {"rows": rows}, held, None)
    assert enrol({**spec, "number": 0}, {}, held)["client"] == "client-00"
