"""Training of a network for ABC: a federated run is recorded, a network is fitted to it, and made ready for a file."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedclade.core import InputError, LocalTraining, Row, Rows, generator, settings
from fedclade.core.settings import settings_table
from fedclade.core.training import SGD
from fedclade.data.examples import Source
from fedclade.methods.abc.attention import MAX_UNPROJECTED, PROJECTED_WIDTH
from fedclade.methods.abc.cosine_attention import RoundPair, fit_temperature, pair_of, prediction_error
from fedclade.nets import net_for
from fedclade.nets.weight_files import WeightFile
from fedclade_papers.attention_training.drift_recording import DriftRun, record_drifts, reference_of, run_with_server
from fedclade_papers.attention_training.network import HELD_OUT, DecoderHead, fit_network
from fedclade_papers.worlds.dominant import Dominant

TrainingCount = Annotated[int, Field(ge=1, le=10**6)]
AttentionProgress = Callable[[str], None]
"""Called with a line about progress."""


@settings
class AttentionTraining:
    """The run that is recorded, and what is learned from it."""

    kind: Literal["attention", "attention+"] = "attention"
    """The paper's network, or our cosine attention."""
    head: DecoderHead = "flatten"
    """Of the paper's: what its decoder reads."""
    mix: Literal["2C-1", "2C-2", "5C"] = "2C-1"
    clients: Annotated[int, Field(ge=3, le=10**5)] = 10
    examples: TrainingCount = 500
    """Of each client."""
    reference: TrainingCount = 1000
    """Examples of the server."""
    net: str = "abc_cnn"
    start: Literal["torch", "he"] = "he"
    """First weights of `abc_cnn`."""
    rounds: Annotated[int, Field(ge=4, le=10**6)] = 300
    steps: TrainingCount = 5
    """Of a client in a round."""
    batch: TrainingCount = 10
    lr: Annotated[float, Field(gt=0)] = 0.01
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9
    epochs: TrainingCount = 100
    """Of fitting, at most."""
    project: Annotated[int, Field(ge=0, le=10**6)] = 0
    """Numbers to project drifts to; 0: drifts as they are up to 20,000 numbers, longer ones to 1,024."""
    seed: Annotated[int, Field(ge=0)] = 0


def train_network(source: Source, how: AttentionTraining, progress: AttentionProgress = lambda _: None) -> WeightFile:
    """A network that is trained on a run of clients with examples of this source."""
    check_used(how)
    federation = Dominant(clients=how.clients, mix=how.mix, examples=how.examples).spread(source, how.seed)
    settings = {"start": how.start} if how.net == "abc_cnn" else {}
    net = net_for(how.net, federation.shape, federation.classes, settings)
    reference = reference_of(source, federation, how.reference, how.seed) if how.kind == "attention" else None
    local = LocalTraining(steps=how.steps, batch=how.batch, lr=how.lr, optimizer=SGD(momentum=how.momentum))
    run = partial(run_with_server, federation, reference, net, local=local, rounds=how.rounds, seed=how.seed)
    recipe: dict[str, object] = {"source": source.name, "world": "dominant", **settings_table(how)}
    if how.kind == "attention+":
        row, less = temperature(run, how, progress)
        unused = {"head", "epochs", "project", "reference"}
        used = {name: recipe[name] for name in sorted(recipe) if name not in unused}
        return WeightFile(how.kind, row, used | {"held_out_error": less})
    inputs = how.project or (net.size if net.size <= MAX_UNPROJECTED else PROJECTED_WIDTH)
    if inputs > net.size:
        raise InputError("drifts are shorter", where="project", got=str(how.project), need=f"{net.size} or fewer")
    seen = record_drifts(run, inputs, lambda number: progress(f"round {number}/{how.rounds}"))
    row, less = fit_network(
        seen.drifts,
        seen.reference,
        head=how.head,
        epochs=how.epochs,
        seed=how.seed,
        progress=lambda epoch, error: progress(f"epoch {epoch}/{how.epochs}, error on held-out rounds {error:.4f}"),
    )
    made = {"numbers": net.size, "inputs": inputs, "held_out_mse": less}
    return WeightFile(how.kind, row, recipe | made)


def check_used(how: AttentionTraining) -> None:
    """An error if a setting is given that this kind does not read."""
    usual = AttentionTraining()
    for name in ("head", "project", "reference", "epochs") if how.kind == "attention+" else ():
        if getattr(how, name) != getattr(usual, name):
            got = str(getattr(how, name))
            raise InputError(f"{name} is for another kind", where=f"attention.{name}", got=got, need='"attention"')


def temperature(run: DriftRun, how: AttentionTraining, progress: AttentionProgress) -> tuple[Row, float]:
    """The learned temperature, and its error on held-out rounds over that of equal attention to all."""
    pairs: list[RoundPair] = []
    before: list[Rows] = []

    def keep(number: int, drifts: Rows, _: Row) -> None:
        if before:
            pairs.append(pair_of(before.pop(), drifts))
        before.append(drifts)
        progress(f"round {number}/{how.rounds}")

    run(keep=keep)
    order = generator(how.seed, "held out").permutation(len(pairs))
    held, rest = np.split(order, [max(1, int(HELD_OUT * len(pairs)))])
    found = fit_temperature([pairs[number] for number in rest])
    unseen = [pairs[number] for number in held]
    return np.array([found], np.float32), prediction_error(found, unseen) / prediction_error(0.0, unseen)
