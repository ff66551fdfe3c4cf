"""A client's message is bounded before it is decoded; one that cannot be decoded is a missing reply.

Flower puts an array together from chunks, and a client writes the list that says which chunk comes where: a list of a
megabyte can name one chunk a hundred thousand times. It happens inside Flower's own call, before we see the message, so
the guard stands there. What Flower's server has already stored for a client is not bounded here: the proxy limits each
request.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx
from flwr.app import Array, Message
from flwr.serverapp import Grid
from flwr.supercore.inflatable.inflatable_object import (
    InflatableObject,
    get_object_body,
    get_object_children_ids_from_object_content,
)
from flwr.supercore.run import RunNotRunningException


def pull_replies(grid: Grid, messages: Sequence[str], max_bytes: int) -> Iterator[tuple[str, Message | str]]:
    """The answers to these messages that have arrived, or why one cannot be read; no array over `max_bytes`.

    One by one: Flower forgets all that it hands over in one call if one of them cannot be read.
    """
    for each in messages:
        try:
            with limit_array_bytes(max_bytes):
                found = list(grid.pull_messages([each]))
        except (httpx.HTTPError, OSError, RunNotRunningException):  # the server's own trouble, not the client's
            raise
        except Exception as error:
            yield each, f"its message cannot be read: {type(error).__name__}"
        else:
            yield from ((each, message) for message in found if message.metadata.reply_to_message_id == each)


@contextmanager
def limit_array_bytes(max_bytes: int) -> Iterator[None]:
    """Inside, Flower refuses to put together an array of more bytes."""
    original = Array.__dict__["inflate"]

    def inflate(cls: type[Array], content: bytes, children: dict[str, InflatableObject] | None = None) -> Array:
        places = json.loads(get_object_body(content, cls))["arraychunk_ids"]
        names = get_object_children_ids_from_object_content(content)
        sizes = {name: len(getattr(chunk, "data", b"")) for name, chunk in (children or {}).items()}
        if sum(sizes[names[place]] for place in places) > max_bytes:
            raise ValueError("an array is too large")
        made = original.__func__(cls, content, children)
        assert isinstance(made, Array)
        return made

    setattr(Array, "inflate", classmethod(inflate))  # noqa: B010  # the one place that Flower offers
    try:
        yield
    finally:
        setattr(Array, "inflate", original)  # noqa: B010  # as it was
