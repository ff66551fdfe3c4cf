"""A round knows its number, how clients train in it, and all randomness.

Randomness is a function of (run seed, round, client, purpose). No generator is kept: a run that is killed and resumed,
or spread over other workers, draws the same numbers.
"""

import hashlib
import json
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from fedclade.core.ids import ClientId
from fedclade.core.training import LocalTraining


def generator(*key: int | str) -> np.random.Generator:
    """The generator that belongs to this key: the same key, the same numbers."""
    plain = [each if isinstance(each, str) else operator.index(each) for each in key]  # numpy's whole numbers too
    digest = hashlib.blake2b(json.dumps(plain).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


@dataclass(frozen=True)
class Round:
    """Now: what a method and a client may know of the round that they are in."""

    number: int
    """1 for the first; 0 is what happens before it."""
    seed: int
    participation: float = 1.0
    """The share of the clients that a round asks (rho), over 0 and at most 1."""
    local: LocalTraining = field(default_factory=LocalTraining)
    """How clients train in this round: its `lr` is as the schedule has made it."""
    proximal: float = 0.0
    """FedProx's mu: how hard local training is pulled back to where it started."""
    evaluated: bool = False
    """Whether models are evaluated after this round: a method that makes models for use makes them now."""
    validation: float = 0.0
    """The share of its training examples that a client does not train on, and takes losses on instead."""
    held_out: float = 0.0
    """The share of its training examples that a client sets aside: a run, not a method, validates models on them."""
    dropout: bool = True
    """Whether a net that drops units in training does so; not where a gradient is wanted."""
    chosen: tuple[ClientId, ...] | None = None
    """The clients that take part; None: they are drawn."""
    lr_scale: float = 1.0
    """What the schedule has multiplied the step size by."""

    def generator(self, purpose: str, client: ClientId = "") -> np.random.Generator:
        """Randomness for one purpose of one client (or of the server) in this round."""
        return generator(self.seed, self.number, purpose, client)

    def sample(self, clients: Iterable[ClientId]) -> tuple[ClientId, ...]:
        """The clients that take part, in sorted order: the chosen ones, or some drawn without replacement."""
        everybody = sorted(clients)
        if not everybody:
            return ()
        if self.chosen is not None:
            return tuple(sorted(set(self.chosen).intersection(everybody)))
        count = self.participant_count(len(everybody))
        picked = self.generator("participation").choice(len(everybody), size=count, replace=False)
        return tuple(everybody[number] for number in sorted(picked))

    def participant_count(self, clients: int) -> int:
        """How many of so many take part: max(int(rho M), 1)."""
        return min(clients, max(int(self.participation * clients + 1e-9), 1))  # 0.29 * 100 is 28.999...
