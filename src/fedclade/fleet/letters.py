"""A request as plain data: what a worker, or a site at the other end of a network, needs to answer it."""

from collections.abc import Mapping
from typing import Any

from fedclade.fleet.protocol import Ask
from fedclade.nouns import LocalTraining, Round, Rows


def header_of(ask: Ask) -> dict[str, object]:
    """Everything of a request but its models, as JSON can hold it."""
    return {
        "ask": ask.plain(),
        "now": ask.now.told(),
    }


def ask_of(header: Mapping[str, Any], rows: Rows) -> Ask:
    """The request that this header and these models were made from."""
    now = Round(**{**header["now"], "local": LocalTraining(**header["now"]["local"])})
    return Ask(**header["ask"], now=now, rows=rows)
