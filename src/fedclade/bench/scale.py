"""The cost of a round as a federation grows: by its clients, and by those that are chosen."""

import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from fedclade.bench.speed import Tell
from fedclade.bench.workloads import perceptron_experiment
from fedclade.core import LocalTraining, Round, generator
from fedclade.data import SOURCES, ClientData, Federation, Part
from fedclade.data.shares import client_names
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import FedAvg
from fedclade.nets import net_for
from fedclade.runs.loop import RunProgress
from fedclade.runs.run import start
from fedclade.runs.run_settings import RunSettings

CHOSEN = 20
EXAMPLES = 40  # of a client, to learn from; it is tested with 5
CLIENT_COUNTS = (100, 1_000, 10_000, 100_000)
CHOSEN_COUNTS = (20, 40, 80, 160)  # of `CLIENT_COUNTS[2]` clients
LOCAL = LocalTraining(epochs=1, batch=10, lr=0.1)


class EnoughRounds(Exception):
    """A run has played as many rounds as are measured."""


@dataclass(frozen=True)
class ScalePlan:
    """What is measured: federations of so many clients, and so many chosen ones of one of them."""

    client_counts: tuple[int, ...] = CLIENT_COUNTS
    chosen_from: int = CLIENT_COUNTS[2]
    chosen_counts: tuple[int, ...] = CHOSEN_COUNTS
    rounds: int = 12

    def shorten(self) -> "ScalePlan":
        return replace(self, rounds=5)


def scale(plan: ScalePlan, tell: Tell) -> dict[str, object]:
    """Seconds of a round for each number of clients, and for each number of chosen ones."""
    lines = []
    SOURCES["digits"].load()  # once: not a part of what a federation costs
    for members in plan.client_counts:
        tell(f"clients: {members:,} of them, {CHOSEN} chosen")
        begin = perf_counter()
        federation = digits_federation(members)
        line = {"clients": members, "chosen": CHOSEN, "build_seconds": perf_counter() - begin}
        line["round_seconds"] = method_round_seconds(federation, CHOSEN, plan.rounds)
        line["run_round_seconds"] = run_round_seconds(federation, CHOSEN, plan.rounds)
        lines.append(line)
    federation = digits_federation(plan.chosen_from)
    chosen = []
    for number in plan.chosen_counts:
        tell(f"clients: {plan.chosen_from:,} of them, {number} chosen")
        seconds = method_round_seconds(federation, number, plan.rounds)
        chosen.append({"clients": plan.chosen_from, "chosen": number, "round_seconds": seconds})
    how = {"workload": "clients", "net": "mlp 64-200-10", "examples": EXAMPLES, "workers": 1}
    return {**how, "by_clients": lines, "by_chosen": chosen}


def digits_federation(clients: int) -> Federation:
    """So many clients, each with some of scikit-learn's digits."""
    source = SOURCES["digits"].load()
    draw = generator(0, "bench", "crowd", clients)
    held = draw.integers(len(source.train.labels), size=(clients, EXAMPLES + 5))
    data = {
        client: ClientData(Part(source.train, some[:EXAMPLES]), Part(source.train, some[EXAMPLES:]))
        for client, some in zip(client_names(clients), np.ascontiguousarray(held), strict=True)
    }
    return Federation(f"digits, {clients} clients", data, source.classes)


def method_round_seconds(federation: Federation, chosen: int, rounds: int) -> float:
    """The median of some rounds of FedAvg on a fleet with one worker, without the run around it."""
    method, net = FedAvg(), net_for("mlp", federation.shape, federation.classes)
    share = chosen / len(federation)
    with simulated_fleet(federation, net, workers=1) as fleet:
        state, _ = method.start(fleet, lambda number: net.initial_row(0, number), Round(0, 0, share, LOCAL))
        taken = []
        for number in range(1, rounds + 2):  # the first one warms up
            begin = perf_counter()
            state, _ = method.round(state, fleet, Round(number, 0, share, LOCAL))
            taken.append(perf_counter() - begin)
    return median(taken[1:])


def run_round_seconds(federation: Federation, chosen: int, rounds: int) -> float:
    """The median of the same rounds in a run, with its checkpoints and tables; it is never evaluated."""
    at: list[float] = []

    def watch(_: RunProgress) -> None:
        at.append(perf_counter())
        if len(at) > rounds + 1:
            raise EnoughRounds

    run = RunSettings(rounds=rounds + 3, participation=chosen / len(federation), evaluate_every=rounds + 3, seed=0)
    experiment = perceptron_experiment(federation, FedAvg(), LOCAL, run, workers=1)
    with tempfile.TemporaryDirectory(prefix="fedclade-") as folder, suppress(EnoughRounds):
        start(experiment, out=Path(folder, "run"), federation=federation, progress=watch)
    return median(later - earlier for earlier, later in pairwise(at))
