"""A site answers only requests that are made out to it."""

from functools import partial

import pytest

from fedclade.data import Federation
from fedclade.fleet.site import Held, ModelSpec, answer, enrol
from fedclade.nets import net_for
from fedclade.nouns import InputError, Round
from fedclade.wire import Request
from fedclade.wire.codec import request_header, round_header
from fedclade.wire.verbs import EVALUATE, NoFields

NOW = Round(1, seed=0)


def test_a_request_for_another_client_is_not_answered(alike: Federation) -> None:
    """What a client draws depends on its name: asked under many, it would give many draws of its noise."""
    net = net_for("logistic", alike.shape, alike.classes)
    spec = ModelSpec({"name": "logistic"}, alike.shape, alike.classes).header()
    held = Held("client-00", partial(alike.held, "client-00"))
    rows = net.first(0)[None]
    for name in ("client-00", "client-01"):
        request = request_header(Request(EVALUATE, name, NOW, rows, NoFields()))
        header = {**spec, "request": request, "now": round_header(NOW)}
        if name == "client-00":
            reply, arrays = answer(header, rows, held, None)
            assert (reply["client"], set(arrays)) == ("client-00", {"correct", "loss"})
        else:
            with pytest.raises(InputError, match="for another client"):
                answer(header, rows, held, None)
    assert enrol({**spec, "number": 0}, held)["client"] == "client-00"
