"""How much memory a whole run takes: 2,400 clients, the papers' perceptron, five groups with a model each.

The run is played by a process of its own, so that nothing of the bench is counted, and is watched from outside, its
workers with it. Run as a module this file is that process.
"""

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedclade.bench.speed import Tell
from fedclade.bench.workloads import WORKLOADS, ragged
from fedclade.fleet import Fleet
from fedclade.methods import Facts, First, Needs
from fedclade.nouns import Assignment, ClientId, FedcladeError, LocalTraining, Round, Rows, settings
from fedclade.runs.experiment import PYTHON, EngineSettings, Experiment, RunSettings
from fedclade.runs.run import start

GROUPS = 5
BETWEEN = 0.05  # seconds from one look at the memory to the next


@dataclass(frozen=True)
class Memory:
    """What a process and its children had in memory at the worst moment, in bytes."""

    shared_once: int
    """Proportional set size: pages that several of them have are counted once."""
    summed: int
    """Sum of resident set sizes: such pages are counted for each."""


@dataclass(frozen=True)
class Plan:
    """A federation of so many clients; how many of them train in each of so many rounds."""

    clients: int = 2_400
    participation: float = 1.0
    rounds: int = 2
    workers: int = 2

    def shortened(self) -> "Plan":
        """The same clients, of whom a tenth train."""
        return replace(self, participation=0.1)


@dataclass(frozen=True, eq=False)
class Planted:
    """A model for each group, and who is in which."""

    models: Rows
    home: dict[ClientId, int]


@settings
class FixedGroups:
    """A model for each of some groups that never change: the memory of a clustered method, without its search."""

    groups: int = GROUPS

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Planted, Facts]:
        home = {client: number % self.groups for number, client in enumerate(fleet.clients())}
        return Planted(np.stack([first(number) for number in range(self.groups)]), home), {}

    def round(self, state: Planted, fleet: Fleet, now: Round) -> tuple[Planted, Facts]:
        chosen = now.sample(fleet.clients())
        means = fleet.train_mean(self.assignment(state).only(chosen), now)
        return replace(state, models=means.rows), {"heard": len(means.heard)}

    def assignment(self, state: Planted) -> Assignment:
        return Assignment(state.models, state.home)

    def place(self, state: Planted, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round) -> tuple[Planted, Facts]:
        return replace(state, home={**state.home, **dict.fromkeys(newcomers, 0)}), {}


def memory(plan: Plan, tell: Tell) -> dict[str, object]:
    """The memory of such a run at its worst moment."""
    tell(f"memory: {plan.clients:,} clients, {GROUPS} groups, {plan.workers} workers")
    begin = time.perf_counter()
    words = [sys.executable, "-m", __name__, *(str(value) for value in vars(plan).values())]
    with tempfile.TemporaryFile("w+") as told:
        run = subprocess.Popen(words, stdout=told, stderr=subprocess.STDOUT)
        try:
            worst = watched(run)
        finally:
            run.kill()  # nothing, if it has ended
            run.wait()
        told.seek(0)
        if run.returncode:
            last = told.read().strip().rpartition("\n")[2]
            raise FedcladeError("the run whose memory was to be measured failed", got=last or f"code {run.returncode}")
    return {
        "workload": "memory",
        "net": "mlp 784-200-47",
        "clients": plan.clients,
        "groups": GROUPS,
        "workers": plan.workers,
        "examples": sum(ragged(plan.clients)),
        "resident_bytes": worst and worst.shared_once,
        "summed_resident_bytes": worst and worst.summed,
        "seconds": time.perf_counter() - begin,
    }


def watched(run: "subprocess.Popen[bytes]") -> Memory | None:
    """The worst moment of a process and its children until it ends; None where the system does not tell."""
    looks = []
    while run.poll() is None:
        if (now := resident(run.pid)) is not None:
            looks.append(now)
        time.sleep(BETWEEN)
    if not looks:
        return None
    return Memory(max(look.shared_once for look in looks), max(look.summed for look in looks))


def resident(pid: int) -> Memory | None:
    """What a process and all below it have in memory now; None where there is no /proc."""
    once, summed, seen = 0, 0, False
    waiting = [pid]
    while waiting:
        one = Path("/proc", str(waiting.pop()))
        try:
            lines = (one / "smaps_rollup").read_text().splitlines()
            tasks = [task / "children" for task in (one / "task").iterdir()]
            waiting += [int(child) for task in tasks for child in task.read_text().split()]
        except OSError:  # it has ended meanwhile, or this is another system
            continue
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines[1:] if line.endswith("kB")}
        once, summed, seen = once + sizes["Pss"], summed + sizes["Rss"], True
    return Memory(once, summed) if seen else None


def play(plan: Plan) -> None:
    """The run itself: every client has 20 to 200 random images; everybody is evaluated at the end."""
    work = replace(WORKLOADS["W2"], sizes=lambda: ragged(plan.clients))
    federation = work.federation()
    experiment = Experiment(
        data={"source": PYTHON, "world": federation.name, "clients": plan.clients},
        net={"name": "mlp", "hidden": 200, "dropout": 0.5},
        local=LocalTraining(epochs=1, batch=10, lr=0.01),
        method=FixedGroups(),
        run=RunSettings(rounds=plan.rounds, participation=plan.participation, evaluate_every=plan.rounds, seed=0),
        engine=EngineSettings(workers=plan.workers),
    )
    with tempfile.TemporaryDirectory(prefix="fedclade-") as folder:
        start(experiment, out=Path(folder, "run"), federation=federation)


if __name__ == "__main__":
    clients, participation, rounds, workers = sys.argv[1:]
    play(Plan(int(clients), float(participation), int(rounds), int(workers)))
