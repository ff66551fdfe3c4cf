"""The memory of a whole run: 2,400 clients, the papers' perceptron, five groups with a model each.

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
from fedclade.bench.workloads import WORKLOADS, perceptron_experiment, power_law_sizes
from fedclade.core import Assignment, ClientId, FedcladeError, LocalTraining, Round, Rows, settings
from fedclade.fleet import Fleet
from fedclade.methods import Facts, First, Needs
from fedclade.runs.run import start
from fedclade.runs.run_settings import RunSettings

GROUPS = 5
POLL_SECONDS = 0.05  # seconds between two measurements of the memory


@dataclass(frozen=True)
class Memory:
    """Memory of a process and its children at the worst moment, in bytes."""

    shared_once: int
    """Proportional set size: pages that several of them have are counted once."""
    summed: int
    """Sum of resident set sizes: such pages are counted for each."""


@dataclass(frozen=True)
class MemoryPlan:
    """A federation of so many clients; how many of them train in each of so many rounds."""

    clients: int = 2_400
    participation: float = 1.0
    rounds: int = 2
    workers: int = 2

    def shorten(self) -> "MemoryPlan":
        return replace(self, participation=0.1)


@dataclass(frozen=True, eq=False)
class FixedGroupsState:
    """A model for each group, and the group of each client."""

    models: Rows
    group_by_client: dict[ClientId, int]


@settings
class FixedGroups:
    """A model for each of some groups that never change: the memory of a clustered method, without its search."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[FixedGroupsState, Facts]:
        group_by_client = {client: number % GROUPS for number, client in enumerate(fleet.clients())}
        return FixedGroupsState(np.stack([first(number) for number in range(GROUPS)]), group_by_client), {}

    def round(self, state: FixedGroupsState, fleet: Fleet, now: Round) -> tuple[FixedGroupsState, Facts]:
        chosen = now.sample(fleet.clients())
        means = fleet.train_mean(self.assignment(state).restrict(chosen), now)
        return replace(state, models=means.rows), {"heard": len(means.heard)}

    def assignment(self, state: FixedGroupsState) -> Assignment:
        return Assignment(state.models, state.group_by_client)

    def place(
        self, state: FixedGroupsState, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[FixedGroupsState, Facts]:
        return replace(state, group_by_client={**state.group_by_client, **dict.fromkeys(newcomers, 0)}), {}


def memory(plan: MemoryPlan, tell: Tell) -> dict[str, object]:
    """The memory of such a run at its worst moment."""
    tell(f"memory: {plan.clients:,} clients, {GROUPS} groups, {plan.workers} workers")
    begin = time.perf_counter()
    words = [sys.executable, "-m", __name__, *(str(value) for value in vars(plan).values())]
    with tempfile.TemporaryFile("w+") as output:
        run = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT)
        try:
            worst = peak_memory(run)
        finally:
            run.kill()  # nothing, if it has ended
            run.wait()
        output.seek(0)
        if run.returncode:
            last = output.read().strip().rpartition("\n")[2]
            raise FedcladeError("the run whose memory was to be measured failed", got=last or f"code {run.returncode}")
    return {
        **{"workload": "memory", "net": "mlp 784-200-47"},
        **{"clients": plan.clients, "groups": GROUPS, "workers": plan.workers},
        "examples": sum(power_law_sizes(plan.clients)),
        "resident_bytes": worst and worst.shared_once,
        "summed_resident_bytes": worst and worst.summed,
        "seconds": time.perf_counter() - begin,
    }


def peak_memory(run: "subprocess.Popen[bytes]") -> Memory | None:
    """The worst moment of a process and its children until it ends; None where the system does not say."""
    samples = []
    while run.poll() is None:
        if (now := resident_memory(run.pid)) is not None:
            samples.append(now)
        time.sleep(POLL_SECONDS)
    if not samples:
        return None
    return Memory(max(sample.shared_once for sample in samples), max(sample.summed for sample in samples))


def resident_memory(pid: int) -> Memory | None:
    """The memory of a process and all below it now; None where there is no /proc."""
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


def play(plan: MemoryPlan) -> None:
    """Play the run: every client has 20 to 200 random images; all are evaluated at the end."""
    work = replace(WORKLOADS["W2"], sizes=lambda: power_law_sizes(plan.clients))
    federation = work.federation()
    run = RunSettings(rounds=plan.rounds, participation=plan.participation, evaluate_every=plan.rounds, seed=0)
    experiment = perceptron_experiment(federation, FixedGroups(), LocalTraining(), run, plan.workers)
    with tempfile.TemporaryDirectory(prefix="fedclade-") as folder:
        start(experiment, out=Path(folder, "run"), federation=federation)


if __name__ == "__main__":
    clients, participation, rounds, workers = sys.argv[1:]
    play(MemoryPlan(int(clients), float(participation), int(rounds), int(workers)))
