"""The settings of a run: `[run]` of an experiment."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from fedclade.core import InputError, settings
from fedclade.core.settings import optional_settings
from fedclade.runs.early_stopping import EarlyStopping


@settings
class RunSettings:
    """How many rounds, with which share of the clients, how often evaluated, from which seed."""

    rounds: Annotated[int, Field(ge=1, le=10**9)] = 100
    """Rounds of training."""
    """Rounds of training."""
    participation: Annotated[float, Field(gt=0, le=1)] = 0.2
    """The share of the clients that a round asks (rho)."""
    evaluate_every: Annotated[int, Field(ge=1, le=10**9)] = 5
    """Rounds between evaluations; the last round is always evaluated."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Decides everything that is drawn: the world, initial weights, participation, batches."""
    start_from: str = ""
    """The weights to start from: a file (.safetensors, .pt, .pth, .npz) or the folder of a run; empty: random ones."""
    early_stopping: Annotated[EarlyStopping | None, optional_settings(EarlyStopping)] = None
    """Ends a run where models no longer improve, and keeps the best ones; True: with its defaults."""

    @property
    def held_out(self) -> float:
        """The share of its training examples that each client sets aside."""
        return 0.0 if self.early_stopping is None else self.early_stopping.share

    @model_validator(mode="after")
    def check_early_stopping(self) -> Self:
        if self.early_stopping is not None and self.early_stopping.min_rounds > self.rounds:
            got, need = str(self.early_stopping.min_rounds), f"at most run.rounds, {self.rounds}"
            raise InputError("a run has fewer rounds", where="early_stopping.min_rounds", got=got, need=need)
        return self
