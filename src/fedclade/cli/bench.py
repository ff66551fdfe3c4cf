"""The command that measures: bench."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, table

if TYPE_CHECKING:
    from fedclade.bench.peak import Peak

LEGS = {"plain": "plain loop", "one": "1 worker", "two": "2 workers"}


class Data(StrEnum):
    """Which examples W1 to W5 train on."""

    random = "random"
    real = "real"
    both = "both"


def bench(
    workloads: Annotated[
        list[str] | None,
        typer.Option("--workload", "-w", help="W1 to W5, memory or clients; repeatable. All, if none is given."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Less of everything: about a minute of processor time.")
    ] = False,
    data: Annotated[
        Data | None,
        typer.Option(
            help="Examples of W1 to W5; real where they are here.", show_default="both, or with --quick random"
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Turns of W1 to W5.", show_default="3, or with --quick 2")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how fast this machine trains clients, as ratios to a plain torch loop in the same run."""
    from fedclade.bench.machine import machine
    from fedclade.bench.memory import Plan as MemoryPlan
    from fedclade.bench.memory import memory
    from fedclade.bench.peak import measured
    from fedclade.bench.scale import Plan as ScalePlan
    from fedclade.bench.scale import scale
    from fedclade.bench.speed import speed
    from fedclade.bench.workloads import WORKLOADS
    from fedclade.nouns import FedcladeError, InputError
    from fedclade.nouns.settings import unknown

    known = (*WORKLOADS, "memory", "clients")
    for name in workloads or ():
        if name not in known:
            raise unknown("the workload", "--workload", name, known)
    wanted = [name for name in known if name in (workloads or known)]
    kinds = data or (Data.random if quick else Data.both)
    turns = repeats or (2 if quick else 3)
    found: dict[str, object] = {}
    with telling(quiet or as_json) as tell:
        before = machine()
        tell("the machine's peak")
        peak = measured()
        speeds, skipped = [], {}
        for work in (WORKLOADS[name] for name in wanted if name in WORKLOADS):
            task = work.shortened() if quick else work
            if kinds != Data.real:
                speeds.append(speed(task, None, peak, turns, tell))
            if kinds != Data.random:
                source = work.real_source()
                if source is not None:
                    speeds.append(speed(task, source, peak, turns, tell))
                else:
                    lacking = f"none of {', '.join(work.real)} is here" if work.real else "no source has such examples"
                    skipped[f"{work.name} real"] = lacking
                    tell(f"{work.name} real: {lacking}")
        if "memory" in wanted:
            plan = MemoryPlan()
            found["memory"] = memory(plan.shortened() if quick else plan, tell)
        if "clients" in wanted:
            crowds = ScalePlan()
            found["clients"] = scale(crowds.shortened() if quick else crowds, tell)
    result = {
        "machine": {**before, "load_after": machine()["load"]},
        "peak": vars(peak),
        "quick": quick,
        "speed": speeds,
        "skipped": skipped,
        **found,
    }
    if not speeds and not found:
        raise InputError(
            "nothing that was asked for can be measured here",
            where="--data real",
            got="; ".join(f"{name}: {why}" for name, why in skipped.items()),
            need="--data random, or the files of a source",
        )
    if as_json:
        emit(result)
    else:
        show(peak, speeds, found)
    if wrong := [f"{one['workload']} {one['data']}" for one in speeds if one["same_for_any_workers"] is False]:
        raise FedcladeError(
            "one worker and two came to other models", where=", ".join(wrong), need="the same bits", do="tell us: a bug"
        )


def show(peak: "Peak", speeds: Sequence[Mapping[str, object]], found: Mapping[str, object]) -> None:
    """The tables for a person."""
    how = "multiply-adds" if peak.by == "fma" else "the best matrix product: there is no compiler here"
    print(f"one core: {peak.gflops:.0f} GF/s ({how}); a large matrix product: {peak.gemm_gflops:.0f} GF/s")
    if speeds:
        table(
            ("work", "data", "by", "steps/s", "wall s", "CPU s", "of peak", "wall x", "CPU x"),
            [row for one in speeds for row in speed_rows(one)],
            left=3,
        )
        print("x: how many times faster than the plain loop (torch, one thread), by the clock and by processor time")
        for one in speeds:
            print(
                f"{one['workload']} {one['data']}: {one['net']}, path {one['path']}; "
                + (
                    "one core: no second worker"
                    if (gain := one["two_against_one"]) is None
                    else f"two workers {gain:.2f} x one"
                )
                + f"; differs from the plain loop by {one['difference']:.1e}, having moved by {one['moved']:.1e}"
            )
    if isinstance(memory := found.get("memory"), Mapping):
        told = [
            f"{value / 1e9:.2f} GB" if isinstance(value := memory[name], int) else "not told by this system"
            for name in ("resident_bytes", "summed_resident_bytes")
        ]
        print(
            f"memory: {memory['clients']:,} clients, {memory['groups']} groups, {memory['workers']} workers: "
            f"{told[0]} in all (shared pages once); {told[1]} summed over processes"
        )
    if isinstance(clients := found.get("clients"), Mapping):
        table(
            ("clients", "chosen", "built s", "round ms", "round in a run ms"),
            [
                (
                    f"{line['clients']:,}",
                    str(line["chosen"]),
                    f"{line['build_seconds']:.2f}" if "build_seconds" in line else "",
                    f"{1000 * line['round_seconds']:.1f}",
                    f"{1000 * line['run_round_seconds']:.1f}" if "run_round_seconds" in line else "",
                )
                for line in (*clients["by_clients"], *clients["by_chosen"])
            ],
            left=0,
        )


def speed_rows(one: Mapping[str, object]) -> Iterator[tuple[str, ...]]:
    """The lines of one workload: the plain loop, one worker, two."""
    legs = one["legs"]
    assert isinstance(legs, Mapping)
    for name, leg in legs.items():
        yield (
            str(one["workload"]) if name == "plain" else "",
            str(one["data"]) if name == "plain" else "",
            LEGS[name],
            f"{leg['steps_per_second']:,.0f}" if leg["steps_per_second"] >= 100 else f"{leg['steps_per_second']:.1f}",
            f"{leg['wall_seconds']:.3f}",
            f"{leg['cpu_seconds']:.3f}",
            f"{100 * leg['peak_share']:.0f} %",
            f"{leg['ratio_wall']:.2f}",
            f"{leg['ratio_cpu']:.2f}",
        )


@contextmanager
def telling(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say what is being done: one line that changes on a terminal, else a line on stderr each time."""
    if quiet:
        yield lambda _: None
    elif not sys.stderr.isatty():

        def line(text: str) -> None:
            with suppress(BrokenPipeError):
                print(text, file=sys.stderr)

        yield line
    else:
        from rich.console import Console

        with Console(stderr=True).status("") as status:
            yield lambda text: status.update(text)
