"""What a method needs of its surroundings: one declared value, checked before there is a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedclade.core import Assignment, ClientId, LocalTraining, Rows


def no_check(_layers: Sequence[int], _local: LocalTraining) -> None:
    """Accept every net and every local training."""


@dataclass(frozen=True)
class Network:
    """An attention network."""

    kind: str
    """The form of its weights."""
    name: str
    """The name of a shipped one, or a file."""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a method cannot do without."""

    encoder: str = ""
    """The name or the file of the encoder that clients are sent."""
    tunes_encoder: bool = False
    """Whether clients train it further."""
    network: Network | None = None
    """The attention network that the server uses."""
    validation: float = 0.0
    """The share of its training examples that a client does not train on, and judges models by."""
    sees: str = ""
    """What of models the server must see as they are; then a run cannot be blind."""
    all_take_part: str = ""
    """Why every client must take part in every round; empty: they need not."""
    selects: bool = False
    """Whether it chooses the participants itself, so that `selection` cannot be set."""
    first_models: int = 1
    """How many different models it starts from; more than one cannot start from given weights."""
    check: Callable[[Sequence[int], LocalTraining], None] = no_check
    """An error if its settings do not go with a net of such layers, or with this local training."""
    common_models: Callable[[Any], Assignment] | None = None
    """From its state to what clients learn together, where each uses a model of its own: drifts are compared there."""
    model_path: Callable[[Any, ClientId], Rows] | None = None
    """From its state to all models of a client, general to special, where it has several: (models, parameters)."""
