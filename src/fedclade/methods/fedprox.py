"""FedProx: FedAvg with clients that are held back from drifting away (Li et al., 2020).

A client minimises its own loss plus mu/2 |w - w_t|^2, where w_t is the model that it was sent. With mu = 0 this is
FedAvg. A client may also stop early: its inexact answer counts like any other (the paper's stragglers).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import Assignment, ClientId, InputError, LocalTraining, Round, Rows, settings
from fedclade.fleet import Fleet, Means
from fedclade.methods.fedavg import FedAvg, OneModel
from fedclade.methods.mixing import Absent, mix_rows, weighted_mean
from fedclade.methods.needs import Needs
from fedclade.methods.protocol import Facts, First
from fedclade.methods.proximal import check_pull


@settings
class FedProx:
    """FedAvg with a pull back to the common model while a client trains."""

    mu: Annotated[float, Field(ge=0)] = 0.01
    """How hard clients are pulled back; under 2 / local.lr."""
    stragglers: Annotated[float, Field(ge=0, le=1)] = 0.0
    """The share of participants that do less work: from one epoch, or step, up to what `local` asks for, at random."""
    absent: Absent = "participants"
    """As in FedAvg."""

    def needs(self) -> Needs:
        return Needs(check=self.check_local)

    def check_local(self, _: Sequence[int], local: LocalTraining) -> None:
        """An error if the pull is too strong, or if no client can do less work than is asked for."""
        check_pull(self.mu, local, "method.mu")
        if self.stragglers and (local.steps or local.epochs) == 1:
            need = "2 or more, or local.steps"
            raise InputError("stragglers cannot do less than one epoch", where="local.epochs", got="1", need=need)
        if self.stragglers and local.steps_from == "epochs":  # where a round goes on is a function of its number alone
            got, need = '"epochs", and stragglers', '"draws"'
            raise InputError("stragglers cannot go on inside an epoch", where="local.steps_from", got=got, need=need)

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[OneModel, Facts]:
        return FedAvg(absent=self.absent).start(fleet, first, now)

    def round(self, state: OneModel, fleet: Fleet, now: Round) -> tuple[OneModel, Facts]:
        now = replace(now, proximal=self.mu)
        if not self.stragglers:
            return FedAvg(absent=self.absent).round(state, fleet, now)
        chosen, everybody = now.sample(fleet.clients()), Assignment.of_one(state.model, fleet.clients())
        work = self.draw_work(chosen, now)
        parts = [
            fleet.train_mean(
                everybody.restrict([each for each in chosen if work[each] == local]), replace(now, local=local)
            )
            for local in dict.fromkeys(work.values())
        ]
        means = combined_means(everybody.rows, parts)
        rows = mix_rows(means, self.absent, lambda: everybody, fleet)
        facts: Facts = {"asked": len(chosen), "heard": len(means.heard), "loss": means.loss}
        return replace(state, model=rows[0]), facts

    def draw_work(self, chosen: Sequence[ClientId], now: Round) -> dict[ClientId, LocalTraining]:
        """How much each participant trains in this round."""
        rng, local = now.generator("stragglers"), now.local
        slow = set(rng.permutation(len(chosen))[: round(self.stragglers * len(chosen))].tolist())
        whole = local.steps or local.epochs
        amounts = [
            int(rng.integers(1, whole, endpoint=True)) if number in slow else whole for number in range(len(chosen))
        ]
        less = [replace(local, steps=each) if local.steps else replace(local, epochs=each) for each in amounts]
        return dict(zip(chosen, less, strict=True))

    def assignment(self, state: OneModel) -> Assignment:
        return FedAvg().assignment(state)

    def place(
        self, state: OneModel, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[OneModel, Facts]:
        return FedAvg().place(state, newcomers, fleet, now)


def combined_means(sent: Rows, parts: Sequence[Means]) -> Means:
    """The mean of all replies to several requests for one model."""
    examples = sum((part.examples for part in parts), np.zeros(1, np.int64))
    heard = [part for part in parts if part.heard]
    if not heard:
        return Means(sent, examples, (), float("nan"))
    weights = [int(part.examples[0]) for part in heard]
    row = weighted_mean(np.concatenate([part.rows for part in heard]), weights).astype(np.float32)
    loss = float(np.average([part.loss for part in heard], weights=weights))
    return Means(row[None], examples, tuple(client for part in heard for client in part.heard), loss)
