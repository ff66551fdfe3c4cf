"""One entry of the table of verbs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias

from fedclade.wire.forms import Form
from fedclade.wire.message import Fields, Reply, Request

DeadlineName: TypeAlias = Literal["train", "losses", "evaluate", "sketch"]


@dataclass(frozen=True, kw_only=True)
class Verb(Generic[Fields]):
    """What can be asked of a client: the form of request and reply, and how long the server waits."""

    name: str
    """As it stands in messages and refusals."""
    fields: type[Fields]
    """What a request says beside the round and the models: a class of settings, with bounds."""
    forms: Callable[[Request[Fields]], Mapping[str, Form]]
    """The arrays that the reply to this request must have, and no others."""
    row_limits: tuple[int, int] = (0, 0)
    """How many rows are sent along, at the least and at the most."""
    row_kind: Literal["models", "weights"] = "models"
    """Models of the net, which a blind run hides; or weights of something else."""
    fault: Callable[[Request[Fields], Reply], str] = lambda _request, _reply: ""
    """What is wrong with a reply of the right form; empty if nothing is."""
    is_kept: Callable[[Reply], bool] = lambda _reply: True
    """Whether a good reply is used; one that is not counts as none."""
    deadline: DeadlineName = "sketch"
    """How long a reply may take: the engine's setting of this name, with `_seconds` behind it."""
    part: Literal["train", "test"] = "train"
    """Which of a client's examples a reply is about."""
    field_bytes: Callable[[Fields], int] = lambda _: 0
    """Bytes of the fields in the ledger: of numbers and names that grow with the data, or differ between clients."""
    label: str = ""
    """What the ledger calls it, if not by its name."""

    @property
    def ledger_label(self) -> str:
        return self.label or self.name


AnyVerb: TypeAlias = Verb[Any]
"""A verb with fields of its own."""
