"""One entry of the table of verbs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias

from fedclade.wire.forms import Form
from fedclade.wire.message import AnyRequest, Fields, Reply, Request

DeadlineName: TypeAlias = Literal["train", "losses", "evaluate", "sketch"]


def no_fault(_request: AnyRequest, _reply: Reply) -> str:
    """Nothing that the forms do not see."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Verb(Generic[Fields]):
    """What can be asked of a client: the form of request and reply, and how long one waits."""

    name: str
    """As it stands in messages and refusals."""
    fields: type[Fields]
    """What a request says beside the round and the models: a class of settings, with bounds."""
    forms: Callable[[Request[Fields]], Mapping[str, Form]]
    """The arrays that the reply to this request must have, and no others."""
    rows: tuple[int, int] = (0, 0)
    """How many are sent along, at the least and at the most."""
    rows_are: Literal["models", "weights"] = "models"
    """Models of the net, which a blind run hides; or weights of something else."""
    fault: Callable[[Request[Fields], Reply], str] = no_fault
    """What is wrong with a reply of the right form; empty if nothing is."""
    deadline: DeadlineName = "sketch"
    """How long a reply may take: the engine's setting of this name, with `_seconds` behind it."""
    part: Literal["train", "test"] = "train"
    """Which of a client's examples a reply is about."""
    field_bytes: int = 0
    """What the fields weigh in the ledger: only what differs from client to client."""
    label: str = ""
    """What the ledger calls it, if not by its name."""

    @property
    def ledger_label(self) -> str:
        return self.label or self.name


AnyVerb: TypeAlias = Verb[Any]
"""A verb with fields of its own."""
