"""Requests and replies as JSON and arrays: what is sent to a worker, or to a site at the other end of a network."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fedclade.core import InputError, LocalTraining, Round, Rows
from fedclade.core.settings import build_settings, settings_table
from fedclade.wire.message import AnyRequest, Arrays, Reply
from fedclade.wire.verbs import verb_named

Header = Mapping[str, Any]
"""A JSON object."""


def round_header(now: Round) -> dict[str, object]:
    """What clients may know of a round: everything but which others take part."""
    return {name: value for name, value in asdict(now).items() if name != "chosen"}


def read_round(header: Header) -> Round:
    return Round(**{**header, "local": build_settings(LocalTraining, header["local"], where="local")})


def request_header(request: AnyRequest) -> dict[str, object]:
    """Everything of a request but the round and the models."""
    return {"verb": request.verb.name, "client": request.client, "fields": settings_table(request.fields)}


def read_request(header: Header, now: Round, rows: Rows) -> AnyRequest:
    """The request that this header, round and models were made from; an error if they are not those of its verb."""
    verb = verb_named(header.get("verb"))
    client, fields = header.get("client"), header.get("fields")
    least, most = verb.row_limits
    if rows.ndim != 2 or not least <= len(rows) <= most:
        got = f"{len(rows)} models" if rows.ndim == 2 else f"shape {rows.shape}"
        raise InputError("a request does not fit its verb", where=verb.name, got=got, need=f"{least} to {most}")
    if not isinstance(client, str) or not isinstance(fields, Mapping):
        raise InputError("a request has no client or no fields", where=verb.name, need="a name and a table")
    return AnyRequest(verb, client, now, rows, build_settings(verb.fields, fields, where=verb.name))


def reply_header(reply: Reply) -> dict[str, object]:
    """Everything of a reply but its arrays."""
    return {"verb": reply.verb, "client": reply.client, "round": reply.round, "examples": reply.examples}


def read_reply(header: Header, arrays: Arrays) -> Reply:
    """The reply that these were made from, not yet checked."""
    return Reply(header.get("verb"), header.get("client"), header.get("round"), header.get("examples"), arrays)  # type: ignore[arg-type]  # a client may say anything
