"""One workload on the simulated fleet with one and with two workers, and in the plain loop, turn by turn.

Turns are interleaved, so that a neighbour on the machine slows all of them alike, and ratios are taken inside a turn.
Processor time stands beside the clock's, because on a busy machine it is the steadier of the two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time

import numpy as np

from fedclade.bench.nets import training_flops
from fedclade.bench.peak import Peak
from fedclade.bench.plain import PlainLoop
from fedclade.bench.workloads import Workload
from fedclade.client import path_name_for
from fedclade.core import Assignment, Round, Row
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import cores, simulated_fleet

WORKERS = (1, 2)
MIN_TURN_SECONDS = 0.5  # seconds of a turn: a round that is shorter is played again and again

Tell = Callable[[str], None]
"""Called with what is being done, to be shown."""


@dataclass(frozen=True)
class Turn:
    """The time of one round, in seconds."""

    wall: float
    cpu: float


def speed(work: Workload, source: str | None, peak: Peak, repeats: int, tell: Tell) -> dict[str, object]:
    """The measurements of one workload, on random examples or on those of a source."""
    net = work.build_net()
    federation = work.federation(source)
    clients = federation.clients
    start = net.initial_row(0)
    plain = PlainLoop(net)
    steps = work.local.epochs * sum(-(-len(federation[client].train) // work.local.batch) for client in clients)
    examples = work.local.epochs * sum(len(federation[client].train) for client in clients)
    flops = examples * training_flops(net, federation[clients[0]].train.inputs[0])

    def at(number: int) -> Round:
        return Round(number, 0, 1.0, work.local)

    with (
        simulated_fleet(federation, net, workers=WORKERS[0]) as one,
        simulated_fleet(federation, net, workers=WORKERS[1]) as two,
    ):

        def by_fleet(fleet: Fleet, number: int) -> Row:
            row: Row = fleet.train_mean(Assignment.of_one(start, clients), at(number)).rows[0]
            return row

        legs: dict[str, tuple[Callable[[int], Row], Callable[[], float]]] = {
            "plain": (lambda number: plain.mean(start, federation, clients, at(number)), lambda: 0.0),
            "one": (lambda number: by_fleet(one, number), lambda: one.transport.cpu_seconds),
        }
        if cores() >= WORKERS[1]:  # a fleet has never more workers than there are cores
            legs["two"] = (lambda number: by_fleet(two, number), lambda: two.transport.cpu_seconds)
        tell(f"{federation.name}: first round")
        first = {name: play(1) for name, (play, _) in legs.items()}  # warms everything, and is compared
        turns: dict[str, list[Turn]] = {name: [] for name in legs}
        for repeat in range(repeats):
            tell(f"{federation.name}: turn {repeat + 1} of {repeats}")
            for name, (play, others) in legs.items():
                turns[name].append(time_rounds(play, others))
    return {
        "workload": work.name,
        "summary": work.summary,
        "data": source or "random",
        "net": net.name,
        "path": path_name_for(net),
        "clients": len(clients),
        "steps": steps,
        "flops_per_step": flops / steps,
        "repeats": repeats,
        "legs": {name: turn_metrics(turns[name], turns["plain"], steps, flops, peak) for name in legs},
        "two_against_one": median(a.wall / b.wall for a, b in zip(turns["one"], turns["two"], strict=True))
        if "two" in turns
        else None,
        "difference": float(np.abs(first["one"] - first["plain"]).max()),
        "moved": float(np.abs(first["plain"] - start).max()),
        "same_for_any_workers": bool(np.array_equal(first["one"], first["two"])) if "two" in first else None,
    }


def time_rounds(play: Callable[[int], object], others: Callable[[], float]) -> Turn:
    """A round's seconds, on the clock and of all processors: the mean over as many rounds as make a fair turn."""
    rounds, wall, cpu = 0, perf_counter(), process_time() + others()
    while rounds == 0 or perf_counter() - wall < MIN_TURN_SECONDS:
        rounds += 1
        play(rounds + 1)
    return Turn((perf_counter() - wall) / rounds, (process_time() + others() - cpu) / rounds)


def turn_metrics(turns: list[Turn], plain: list[Turn], steps: int, flops: int, peak: Peak) -> dict[str, float]:
    """Medians over the turns; ratios are medians too, of the ratios inside each turn."""
    wall, cpu = median(turn.wall for turn in turns), median(turn.cpu for turn in turns)
    return {
        "steps_per_second": steps / wall,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "peak_share": flops / cpu / (peak.gflops * 1e9),
        "ratio_wall": median(a.wall / b.wall for a, b in zip(plain, turns, strict=True)),
        "ratio_cpu": median(a.cpu / b.cpu for a, b in zip(plain, turns, strict=True)),
    }
