"""Requests and replies as JSON and arrays: what a worker, or a site at the other end of a network, is sent."""

from collections.abc import Mapping
from typing import Any

from fedclade.nouns import InputError, LocalTraining, Round, Rows
from fedclade.nouns.settings import made_from, plain
from fedclade.wire.message import AnyRequest, Arrays, Reply
from fedclade.wire.verbs import verb_named

Header = Mapping[str, Any]
"""A JSON object."""


def round_header(now: Round) -> dict[str, object]:
    """What clients are told of a round."""
    return now.told()


def read_round(header: Header) -> Round:
    """The round that this was made from."""
    return Round(**{**header, "local": LocalTraining(**header["local"])})


def request_header(request: AnyRequest) -> dict[str, object]:
    """Everything of a request but the round and the models."""
    return {"verb": request.verb.name, "client": request.client, "fields": plain(request.fields)}


def read_request(header: Header, now: Round, rows: Rows) -> AnyRequest:
    """The request that this header, round and models were made from; an error if they are not those of its verb."""
    verb = verb_named(header.get("verb"))
    client, fields = header.get("client"), header.get("fields")
    least, most = verb.rows
    if rows.ndim != 2 or not least <= len(rows) <= most:
        got = f"{len(rows)} models" if rows.ndim == 2 else f"shape {rows.shape}"
        raise InputError("a request does not fit its verb", where=verb.name, got=got, need=f"{least} to {most}")
    if not isinstance(client, str) or not isinstance(fields, Mapping):
        raise InputError("a request has no client or no fields", where=verb.name, need="a name and a table")
    return AnyRequest(verb, client, now, rows, made_from(verb.fields, fields, where=verb.name))


def reply_header(reply: Reply) -> dict[str, object]:
    """Everything of a reply but its arrays."""
    return {"verb": reply.verb, "client": reply.client, "round": reply.round, "examples": reply.examples}


def read_reply(header: Header, arrays: Arrays) -> Reply:
    """The reply that these were made from; whether it is a good one is for the gate to say."""
    return Reply(header.get("verb"), header.get("client"), header.get("round"), header.get("examples"), arrays)  # type: ignore[arg-type]  # a client may say anything
