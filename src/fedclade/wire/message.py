"""One request to one client, and one reply."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Round, Rows

if TYPE_CHECKING:
    from fedclade.wire.verb import Verb

Fields = TypeVar("Fields")
Arrays: TypeAlias = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class Request(Generic[Fields]):
    """What one client is asked."""

    verb: "Verb[Fields]"
    client: ClientId
    now: Round
    rows: Rows
    """The models, or other weights, sent along: (models, numbers)."""
    fields: Fields
    """What the verb needs beside them: a class of settings, see the verb's entry."""


AnyRequest: TypeAlias = Request[Any]
"""A request of any verb, for a transport, which does not look into its fields."""


@dataclass(frozen=True, eq=False)
class Reply:
    """What one client answered; the gate has not checked it yet."""

    verb: str
    client: ClientId
    round: int
    examples: int
    """How many examples it is about."""
    arrays: Arrays
    """What the verb gives: see its entry."""


@dataclass(frozen=True)
class Refusal:
    """A reply that the gate did not let through, or that never came."""

    client: ClientId
    verb: str
    """The verb that was asked, or "enrol"."""
    reason: str
    overflow: bool = False
    """Whether it has numbers that are not finite or too large, as training that diverges gives them."""


Arrival: TypeAlias = Reply | Refusal
"""What a transport brings back from a client: its reply, or why there is none."""
