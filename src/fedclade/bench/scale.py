"""What a round costs as a federation grows: with the clients that it has, and with those that are chosen."""

import tempfile
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from fedclade.bench.speed import Tell
from fedclade.data import SOURCES, ClientData, Federation, Part
from fedclade.data.shares import named
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import FedAvg
from fedclade.nets import Net, net_for
from fedclade.nouns import LocalTraining, Round, generator
from fedclade.runs.experiment import PYTHON, EngineSettings, Experiment, RunSettings
from fedclade.runs.loop import Progress
from fedclade.runs.run import start

CHOSEN = 20
EXAMPLES = 40  # of a client, to learn from; it is tested with 5
MEMBERS = (100, 1_000, 10_000, 100_000)
MORE = (20, 40, 80, 160)
"""Chosen clients of `MEMBERS[2]`."""
LOCAL = LocalTraining(epochs=1, batch=10, lr=0.1)


class Enough(Exception):
    """A run has played as many rounds as are looked at; everything after them would only take time."""


@dataclass(frozen=True)
class Plan:
    """What is measured: federations of so many clients, and so many chosen ones of one of them."""

    members: tuple[int, ...] = MEMBERS
    more_of: int = MEMBERS[2]
    more: tuple[int, ...] = MORE
    rounds: int = 12

    def shortened(self) -> "Plan":
        """The same with fewer rounds."""
        return Plan(self.members, self.more_of, self.more, 5)


def scale(plan: Plan, tell: Tell) -> dict[str, object]:
    """Seconds of a round for each number of clients, and for each number of chosen ones."""
    lines = []
    SOURCES["digits"].load()  # once: not a part of what a federation costs
    for members in plan.members:
        tell(f"clients: {members:,} of them, {CHOSEN} chosen")
        begin = perf_counter()
        federation = crowd(members)
        built = perf_counter() - begin
        net = small_net(federation)
        lines.append(
            {
                "clients": members,
                "chosen": CHOSEN,
                "build_seconds": built,
                "round_seconds": of_method(federation, net, CHOSEN, plan.rounds),
                "run_round_seconds": of_run(federation, CHOSEN, plan.rounds),
            }
        )
    federation = crowd(plan.more_of)
    net = small_net(federation)
    chosen = []
    for number in plan.more:
        tell(f"clients: {plan.more_of:,} of them, {number} chosen")
        seconds = of_method(federation, net, number, plan.rounds)
        chosen.append({"clients": plan.more_of, "chosen": number, "round_seconds": seconds})
    return {
        "workload": "clients",
        "net": "mlp 64-200-10",
        "examples": EXAMPLES,
        "workers": 1,
        "by_clients": lines,
        "by_chosen": chosen,
    }


def crowd(members: int) -> Federation:
    """So many clients, each with some of scikit-learn's digits."""
    source = SOURCES["digits"].load()
    draw = generator(0, "bench", "crowd", members)
    held = draw.integers(len(source.train.labels), size=(members, EXAMPLES + 5))
    data = {
        client: ClientData(Part(source.train, some[:EXAMPLES]), Part(source.train, some[EXAMPLES:]))
        for client, some in zip(named(members), np.ascontiguousarray(held), strict=True)
    }
    return Federation(f"digits, {members} clients", data, source.classes)


def small_net(federation: Federation) -> Net:
    """The papers' perceptron on digits."""
    return net_for("mlp", federation.shape, federation.classes)


def of_method(federation: Federation, net: Net, chosen: int, rounds: int) -> float:
    """The middle of some rounds of FedAvg on a fleet with one worker, without the run around it."""
    method = FedAvg()
    share = chosen / len(federation)
    with simulated_fleet(federation, net, workers=1) as fleet:
        state, _ = method.start(fleet, lambda number: net.first(0, number), Round(0, 0, share, LOCAL))
        taken = []
        for number in range(1, rounds + 2):  # the first one warms up
            begin = perf_counter()
            state, _ = method.round(state, fleet, Round(number, 0, share, LOCAL))
            taken.append(perf_counter() - begin)
    return median(taken[1:])


def of_run(federation: Federation, chosen: int, rounds: int) -> float:
    """The middle of the same rounds in a run, with its checkpoints and tables; it is never evaluated."""
    at: list[float] = []

    def watch(_: Progress) -> None:
        at.append(perf_counter())
        if len(at) > rounds + 1:
            raise Enough

    experiment = Experiment(
        data={"source": PYTHON, "world": federation.name, "clients": len(federation)},
        net={"name": "mlp", "hidden": 200, "dropout": 0.5},
        local=LOCAL,
        method=FedAvg(),
        run=RunSettings(rounds=rounds + 3, participation=chosen / len(federation), evaluate_every=rounds + 3, seed=0),
        engine=EngineSettings(workers=1),
    )
    with tempfile.TemporaryDirectory(prefix="fedclade-") as folder, suppress(Enough):
        start(experiment, out=Path(folder, "run"), federation=federation, watch=watch)
    return median(later - earlier for earlier, later in pairwise(at))
