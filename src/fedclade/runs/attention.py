"""Training a network for ABC: a federated run is watched, a network fitted to it, and made ready for a file."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedclade.data.examples import Source
from fedclade.data.worlds.dominant import Dominant
from fedclade.nets import net_for
from fedclade.nets.attention import HELD_OUT, Head, fitted
from fedclade.nets.shelf import Kept
from fedclade.nouns import InputError, LocalTraining, Row, Rows, generator, settings
from fedclade.nouns.settings import plain
from fedclade.relate.attention import LONGEST, PROJECTED
from fedclade.relate.cosine_attention import Pair, error, learnt, pair_of
from fedclade.runs.watched import Run, reference_of, watch_run, watched

Count = Annotated[int, Field(ge=1, le=10**6)]
Watch = Callable[[str], None]
"""Told how far it is."""


@settings
class AttentionTraining:
    """What is watched, and what is learnt from it."""

    kind: Literal["attention", "attention+"] = "attention"
    """The paper's network, or our cosine attention."""
    head: Head = "flatten"
    """Of the paper's: what its decoder reads."""
    mix: Literal["2C-1", "2C-2", "5C"] = "2C-1"
    clients: Annotated[int, Field(ge=3, le=10**5)] = 10
    examples: Count = 500
    """Of each client."""
    reference: Count = 1000
    """Examples of the server."""
    net: str = "abc_cnn"
    start: Literal["torch", "he"] = "he"
    """First weights of `abc_cnn`."""
    rounds: Annotated[int, Field(ge=4, le=10**6)] = 300
    steps: Count = 5
    """Of a client in a round."""
    batch: Count = 10
    lr: Annotated[float, Field(gt=0)] = 0.01
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    epochs: Count = 100
    """Of fitting, at the most."""
    project: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Numbers to project drifts to; 0: drifts as they are up to 20,000 numbers, longer ones to 1,024."""
    seed: Annotated[int, Field(ge=0)] = 0


def trained(source: Source, how: AttentionTraining, watch: Watch = lambda _: None) -> Kept:
    """A network that watched clients of this source."""
    check_used(how)
    federation = Dominant(clients=how.clients, mix=how.mix, examples=how.examples).spread(source, how.seed)
    settings = {"start": how.start} if how.net == "abc_cnn" else {}
    net = net_for(how.net, federation.shape, federation.classes, settings)
    reference = reference_of(source, federation, how.reference, how.seed) if how.kind == "attention" else None
    local = LocalTraining(steps=how.steps, batch=how.batch, lr=how.lr, momentum=how.momentum)
    run = partial(watch_run, federation, reference, net, local=local, rounds=how.rounds, seed=how.seed)
    told: dict[str, object] = {"source": source.name, "world": "dominant", **plain(how)}
    if how.kind == "attention+":
        row, less = temperature(run, how, watch)
        learnt_from = told.keys() - {"head", "epochs", "project", "reference"}
        return Kept(how.kind, row, {name: told[name] for name in sorted(learnt_from)} | {"held_out_error": less})
    inputs = how.project or (net.size if net.size <= LONGEST else PROJECTED)
    if inputs > net.size:
        raise InputError("drifts are shorter", where="project", got=str(how.project), need=f"{net.size} or fewer")
    seen = watched(run, inputs, lambda number: watch(f"round {number}/{how.rounds}"))
    row, less = fitted(
        seen.drifts,
        seen.reference,
        head=how.head,
        epochs=how.epochs,
        seed=how.seed,
        watch=lambda epoch, error: watch(f"epoch {epoch}/{how.epochs}, error on held-out rounds {error:.4f}"),
    )
    made = {"numbers": net.size, "inputs": inputs, "held_out_mse": less}
    return Kept(how.kind, row, told | made)


def check_used(how: AttentionTraining) -> None:
    """An error if something is asked for that the kind does not look at."""
    usual = AttentionTraining()
    for name in ("head", "project", "reference", "epochs") if how.kind == "attention+" else ():
        if getattr(how, name) != getattr(usual, name):
            got = str(getattr(how, name))
            raise InputError(f"{name} is for another kind", where=f"attention.{name}", got=got, need='"attention"')


def temperature(run: Run, how: AttentionTraining, watch: Watch) -> tuple[Row, float]:
    """The learnt temperature, and its error on held-out rounds over that of attending to everybody alike."""
    pairs: list[Pair] = []
    before: list[Rows] = []

    def keep(number: int, drifts: Rows, _: Row) -> None:
        if before:
            pairs.append(pair_of(before.pop(), drifts))
        before.append(drifts)
        watch(f"round {number}/{how.rounds}")

    run(keep=keep)
    order = generator(how.seed, "held out").permutation(len(pairs))
    held, rest = np.split(order, [max(1, int(HELD_OUT * len(pairs)))])
    found = learnt([pairs[number] for number in rest])
    unseen = [pairs[number] for number in held]
    return np.array([found], np.float32), error(found, unseen) / error(0.0, unseen)
