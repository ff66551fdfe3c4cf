"""The command that measures: bench."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, print_table

if TYPE_CHECKING:
    from fedclade.bench.peak import Peak

LEGS = {"plain": "plain loop", "one": "1 worker", "two": "2 workers"}


class ExampleKind(StrEnum):
    """The examples that W1 to W5 train on."""

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
        ExampleKind | None,
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
    from fedclade.bench.memory import MemoryPlan, memory
    from fedclade.bench.peak import measure_peak
    from fedclade.bench.scale import ScalePlan, scale
    from fedclade.bench.speed import speed
    from fedclade.bench.workloads import WORKLOADS
    from fedclade.core import FedcladeError, InputError
    from fedclade.core.settings import unknown_name_error

    known = (*WORKLOADS, "memory", "clients")
    for name in workloads or ():
        if name not in known:
            raise unknown_name_error("the workload", "--workload", name, known)
    wanted = [name for name in known if name in (workloads or known)]
    kinds = data or (ExampleKind.random if quick else ExampleKind.both)
    turns = repeats or (2 if quick else 3)
    found: dict[str, object] = {}
    with status_line(quiet or as_json) as show_step:
        before = machine()
        show_step("the machine's peak")
        peak = measure_peak()
        speeds, skipped = [], {}
        for work in (WORKLOADS[name] for name in wanted if name in WORKLOADS):
            task = work.shorten() if quick else work
            if kinds != ExampleKind.real:
                speeds.append(speed(task, None, peak, turns, show_step))
            if kinds != ExampleKind.random:
                if (source := work.real_source()) is not None:
                    speeds.append(speed(task, source, peak, turns, show_step))
                    continue
                sources = ", ".join(work.real_sources)
                skipped[f"{work.name} real"] = (
                    f"none of {sources} is here" if sources else "no source has such examples"
                )
                show_step(f"{work.name} real: {skipped[f'{work.name} real']}")
        if "memory" in wanted:
            plan = MemoryPlan()
            found["memory"] = memory(plan.shorten() if quick else plan, show_step)
        if "clients" in wanted:
            scale_plan = ScalePlan()
            found["clients"] = scale(scale_plan.shorten() if quick else scale_plan, show_step)
    result = {
        "machine": {**before, "load_after": machine()["load"]},
        "peak": vars(peak),
        "quick": quick,
        "speed": speeds,
        "skipped": skipped,
        **found,
    }
    if not speeds and not found:
        got = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        need = "--data random, or the files of a source"
        raise InputError("nothing that was asked for can be measured here", where="--data real", got=got, need=need)
    if as_json:
        emit(result)
    else:
        show(peak, speeds, found)
    if mismatched := [f"{one['workload']} {one['data']}" for one in speeds if one["same_for_any_workers"] is False]:
        what, do = "one worker and two came to different models", "report this bug"
        raise FedcladeError(what, where=", ".join(mismatched), need="the same bits", do=do)


def show(peak: "Peak", speeds: Sequence[Mapping[str, object]], found: Mapping[str, object]) -> None:
    """The tables for a person."""
    how = "multiply-adds" if peak.by == "fma" else "the best matrix product: there is no compiler here"
    print(f"one core: {peak.gflops:.0f} GF/s ({how}); a large matrix product: {peak.gemm_gflops:.0f} GF/s")
    if speeds:
        headings = ("work", "data", "by", "steps/s", "wall s", "CPU s", "of peak", "wall x", "CPU x")
        print_table(headings, [row for one in speeds for row in speed_rows(one)], left=3)
        print("x: how many times faster than the plain loop (torch, one thread), by the clock and by processor time")
        for one in speeds:
            gain = one["two_against_one"]
            workers = "one core: no second worker" if gain is None else f"two workers {gain:.2f} x one"
            moved = f"differs from the plain loop by {one['difference']:.1e}, having moved by {one['moved']:.1e}"
            print(f"{one['workload']} {one['data']}: {one['net']}, path {one['path']}; {workers}; {moved}")
    if isinstance(memory := found.get("memory"), Mapping):
        memory_sizes = [
            f"{value / 1e9:.2f} GB" if isinstance(value := memory[name], int) else "not known on this system"
            for name in ("resident_bytes", "summed_resident_bytes")
        ]
        print(
            f"memory: {memory['clients']:,} clients, {memory['groups']} groups, {memory['workers']} workers: "
            f"{memory_sizes[0]} in all (shared pages once); {memory_sizes[1]} summed over processes"
        )
    if isinstance(clients := found.get("clients"), Mapping):
        rows = []
        for line in (*clients["by_clients"], *clients["by_chosen"]):
            built = f"{line['build_seconds']:.2f}" if "build_seconds" in line else ""
            in_a_run = f"{1000 * line['run_round_seconds']:.1f}" if "run_round_seconds" in line else ""
            alone = f"{1000 * line['round_seconds']:.1f}"
            rows.append((f"{line['clients']:,}", str(line["chosen"]), built, alone, in_a_run))
        print_table(("clients", "chosen", "built s", "round ms", "round in a run ms"), rows, left=0)


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
def status_line(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show the current step: one line that changes on a terminal, else a line on stderr each time."""
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
