"""Progress of runs, for people: a line that is rewritten on a terminal and in a notebook, a few lines elsewhere."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from time import monotonic
from typing import Any

from fedclade.core import InputError
from fedclade.core.task import metric_kind
from fedclade.runs.loop import ProgressCallback, RunProgress
from fedclade.runs.run_text import value_text

CallbackForRun = Callable[[str], ProgressCallback]
"""From a run's title to what is called after each of its rounds."""
MAX_LINES = 10  # of one run, where no line can be rewritten
NOTEBOOK_SECONDS = 0.2  # between two changes of what a notebook shows


@contextmanager
def watch_runs(progress: bool, callback: ProgressCallback | None, lines: int = MAX_LINES) -> Iterator[CallbackForRun]:
    """For each run, by its title, what is called after its rounds: what shows its progress, and the user's own.

    `lines` of a run are printed where no line can be rewritten.
    """
    check_progress(progress, callback)
    with show_progress(lines) if progress else nullcontext(show_nothing) as display_for:

        def callback_for(title: str) -> ProgressCallback:
            shown = display_for(title)

            def report(now: RunProgress) -> None:
                shown(now)
                if callback is not None:
                    callback(now)

            return report

        yield callback_for


def show_nothing(_: str) -> ProgressCallback:
    return lambda _: None


def check_progress(progress: object, callback: object) -> None:
    """An error unless these say how progress is reported."""
    if not isinstance(progress, bool):
        need, do = "True or False", "give a function as callback=..." if callable(progress) else ""
        raise InputError("progress is not usable", where="progress", got=repr(progress), need=need, do=do)
    if callback is not None and not callable(callback):
        need = "a function of one argument, a RunProgress"
        raise InputError("the callback is not usable", where="callback", got=repr(callback), need=need)


@contextmanager
def show_progress(lines: int = MAX_LINES) -> Iterator[CallbackForRun]:
    """Progress on stderr, or in the notebook; where no line can be rewritten, at most so many lines of each run."""
    if sys.stderr.isatty():
        with progress_bars() as bar_for:
            yield bar_for
    elif (display := notebook_display()) is not None:
        yield partial(show_in_notebook, display)
    else:
        yield partial(print_some_rounds, lines)


class ProgressText:
    """How far a run is, in words, with the main metric of its last evaluation."""

    def __init__(self) -> None:
        self._measured = ""

    def of(self, now: RunProgress) -> str:
        if now.metric:
            name = metric_kind(now.metric).label
            self._measured = f", {name} {value_text(now.metric, now.metrics.get(now.metric))}"
        return f"round {now.round}/{now.rounds}, {now.clients} clients{self._measured}"


@contextmanager
def progress_bars() -> Iterator[CallbackForRun]:
    """A bar for each run, on a terminal."""
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=None),
        rich.TextColumn("{task.fields[reached]}", markup=False),
        rich.TimeRemainingColumn(compact=True, elapsed_when_finished=True),
    )
    with rich.Progress(*columns, console=Console(stderr=True), expand=True) as bars:

        def bar(title: str) -> ProgressCallback:
            task = bars.add_task(title, total=None, reached="")
            text = ProgressText()

            def move(now: RunProgress) -> None:
                reached = text.of(now)
                if bars.tasks[task].total is None:  # a resumed run does not begin at 0: time is measured from here
                    bars.reset(task, total=now.rounds, completed=now.round, reached=reached)
                else:
                    bars.update(task, completed=now.round, reached=reached)

            return move

        yield bar


def notebook_display() -> Callable[..., Any] | None:
    """IPython's `display`, if this process is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    found: Callable[..., Any] = importlib.import_module("IPython.display").display
    return found


def show_in_notebook(display: Callable[..., Any], title: str) -> ProgressCallback:
    """One output of the notebook, which is rewritten."""
    progress, changed = ProgressText(), 0.0
    handle = display({"text/plain": title}, raw=True, display_id=True)

    def show(now: RunProgress) -> None:
        nonlocal changed
        text = f"{title}: {progress.of(now)}"
        if now.round == now.rounds or monotonic() - changed >= NOTEBOOK_SECONDS:
            handle.update({"text/plain": text}, raw=True)
            changed = monotonic()

    return show


def print_some_rounds(lines: int, title: str) -> ProgressCallback:
    """So many lines on stderr, evenly over the rounds; the last one after the last round."""
    progress = ProgressText()

    def show(now: RunProgress) -> None:
        text = progress.of(now)
        if now.round * lines // now.rounds > (now.round - 1) * lines // now.rounds:
            print(f"{title}: {text}", file=sys.stderr, flush=True)

    return show
