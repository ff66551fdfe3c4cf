"""Rounds to a target accuracy, by who chooses the participants: ABC's table 1, with the choices beside it.

    python benchmarks/abc_rounds.py mnist 2C-1 --clients 10 --chosen 2 --steps 25

prints the median over seeds of the rounds until the mean accuracy of the clients reaches the target, and of the models
sent up until then, check-ins included. It needs the data set: see `fedclade data list`.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter, process_time

import fedclade as fc
from fedclade.core import Assignment, LocalTraining, Round, Row
from fedclade.core.training import SGD
from fedclade.data import Federation
from fedclade.fleet import Fleet, Scores
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import ABC, FedAvg, Selection, SelectionState, select_participants
from fedclade.methods.abc.abc import ABCState
from fedclade.nets import net_for

TARGETS = {"mnist": (0.85, 0.90, 0.93), "fashion-mnist": (0.65, 0.70, 0.75)}
Play = Callable[[Fleet, Round], Row]
"""One round of somebody who remembers: the new model."""


class FedAvgWithSelection:
    """FedAvg, its participants chosen by a selection."""

    def __init__(self, how: Selection, fleet: Fleet, first: Row, now: Round) -> None:
        self.how, self.standing = how, SelectionState()
        self.state = FedAvg().start(fleet, lambda _: first, now)[0]

    def __call__(self, fleet: Fleet, now: Round) -> Row:
        if self.how.selection != "random":
            models = FedAvg().assignment(self.state)
            self.standing, now, _ = select_participants(self.how, self.standing, models, fleet, now)
        self.state, _ = FedAvg().round(self.state, fleet, now)
        return self.state.model


class ByScore:
    """ABC; or with the planted groups, which only an oracle knows."""

    def __init__(self, method: ABC, fleet: Fleet, first: Row, now: Round, truth: dict[str, int] | None = None) -> None:
        self.method = method
        self.state: ABCState = method.start(fleet, lambda _: first, now)[0]
        if truth is not None:
            self.state = replace(
                self.state, selection=replace(self.state.selection, group_by_client=truth, last_check_in=1)
            )

    def __call__(self, fleet: Fleet, now: Round) -> Row:
        self.state, _ = self.method.round(self.state, fleet, now)
        return self.state.common.model


def chooser(name: str, federation: Federation, fleet: Fleet, first: Row, now: Round, network: str) -> Play:
    """Somebody who plays rounds, by name."""
    if name in ("random", "balanced"):
        return FedAvgWithSelection(Selection(selection=name), fleet, first, now)  # type: ignore[arg-type]  # one of them
    if name == "oracle":
        assert federation.truth is not None
        return ByScore(ABC(check_in=10**9), fleet, first, now, dict(federation.truth.labels))
    network_file = network if name == "attention" else ""
    return ByScore(ABC(score=name, network=network_file), fleet, first, now)  # type: ignore[arg-type]  # one of them


def rounds_to_targets(name: str, federation: Federation, asked: argparse.Namespace, seed: int) -> list[tuple[int, int]]:
    """Rounds and uploads until each target; the most rounds plus one if it was not reached."""
    net = net_for("abc_cnn", federation.shape, federation.classes, {"start": "he"})
    local = LocalTraining(batch=10, lr=0.01, steps=asked.steps, optimizer=SGD(momentum=0.9))
    with simulated_fleet(federation, net, workers=asked.workers) as fleet:
        now = Round(0, seed, asked.chosen / asked.clients, local)
        play = chooser(name, federation, fleet, net.initial_row(seed), now, asked.network)
        found: list[tuple[int, int]] = []
        for number in range(1, asked.most + 1):
            now = replace(now, number=number)
            model = play(fleet, now)
            scores = fleet.evaluate(Assignment.of_one(model, fleet.clients()), now)
            sent = round(
                sum(size for verb, size in fleet.ledger.up.items() if verb != "evaluate") / (4 * net.size + 16)
            )
            while len(found) < len(asked.targets) and accuracy_of(scores) >= asked.targets[len(found)]:
                found.append((number, sent))
            if len(found) == len(asked.targets):
                break
    return found + [(asked.most + 1, sent)] * (len(asked.targets) - len(found))


def accuracy_of(scores: Scores) -> float:
    """Over all examples of all clients."""
    return float(scores.correct.sum() / scores.examples.sum())


def medians(runs: Sequence[Sequence[tuple[int, int]]], which: int) -> list[float]:
    """Over runs, for each target."""
    return [median(pair[which] for pair in at_target) for at_target in zip(*runs, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", choices=sorted(TARGETS))
    parser.add_argument("mix", choices=["2C-1", "2C-2", "5C"])
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--chosen", type=int, default=2)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--most", type=int, default=400)
    parser.add_argument("--targets", type=float, nargs="+")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--network", default="", help="a network for `attention`: see `fedclade attention train`")
    parser.add_argument("--by", nargs="+", default=["random", "balanced", "pca", "groups", "oracle"])
    asked = parser.parse_args()
    asked.targets = sorted(asked.targets or TARGETS[asked.source])
    found: dict[str, list[list[tuple[int, int]]]] = {name: [] for name in asked.by}
    begin, cpu = perf_counter(), process_time()
    for seed in range(asked.seeds):
        federation = fc.data.build(
            source=asked.source, world="dominant", clients=asked.clients, mix=asked.mix, seed=seed
        )
        for name in asked.by:
            found[name].append(rounds_to_targets(name, federation, asked, seed))
    line = {
        "source": asked.source,
        "mix": asked.mix,
        "clients": asked.clients,
        "chosen": asked.chosen,
        "steps": asked.steps,
        "targets": asked.targets,
        "rounds": {name: medians(each, 0) for name, each in found.items()},
        "uploads": {name: medians(each, 1) for name, each in found.items()},
        "each": found,
        "seconds": round(perf_counter() - begin),
        "cpu_seconds": round(process_time() - cpu),
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
