"""Requests and replies as JSON and arrays: what a worker, or a site at the other end of a network, is sent."""

from collections.abc import Mapping
from typing import Any

from fedclade.nouns import ClientId, InputError, LocalTraining, Round, Rows
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
    verb = verb_named(header["verb"])
    least, most = verb.rows
    if not least <= len(rows) <= most:
        raise InputError(
            "a request does not fit its verb", where=verb.name, got=f"{len(rows)} models", need=f"{least} to {most}"
        )
    fields = made_from(verb.fields, header["fields"], where=verb.name)
    return AnyRequest(verb, header["client"], now, rows, fields)


def reply_header(reply: Reply, client: ClientId | None = None) -> dict[str, object]:
    """Everything of a reply but its arrays; in the name of this client, if one is given."""
    return {
        "verb": reply.verb,
        "client": client or reply.client,
        "round": reply.round,
        "examples": reply.examples,
    }


def read_reply(header: Header, arrays: Arrays) -> Reply:
    """The reply that these were made from; whether it is a good one is for the gate to say."""
    return Reply(header.get("verb"), header.get("client"), header.get("round"), header.get("examples"), arrays)  # type: ignore[arg-type]  # a client may say anything
