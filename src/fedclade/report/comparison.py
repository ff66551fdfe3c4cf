"""Runs side by side: one line for each method, over its seeds."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from fedclade.nouns import InputError
from fedclade.report.harm import harmed_in
from fedclade.report.story import Facts, Story, labels, number, read
from fedclade.runs.folder import RunFolder


@dataclass(frozen=True)
class Line:
    """A method's figures: means over its runs, and the deviation of the accuracy between them."""

    method: str
    runs: int
    rounds: int
    accuracy: float
    accuracy_deviation: float
    """Standard deviation over seeds."""
    accuracy_weighted: float
    accuracy_variance: float
    worst_tenth: float
    loss: float
    groups: float
    ari: float | None
    harmed: float | None
    """Clients that end worse than with Local or FedAvg, where those ran on the same seed; a mean over seeds."""
    bytes_up: float
    bytes_down: float
    reached: int | None
    """Runs that came to the target accuracy; None: no target was given."""
    target_rounds: float | None
    """Rounds to the target, a mean over the runs that came there; judged where models were evaluated."""
    target_bytes: float | None
    """Bytes up and down until then, likewise; evaluation left out."""
    seconds: float
    cpu_seconds: float


def compared(folders: Sequence[RunFolder], target: float | None = None) -> tuple[Line, ...]:
    """A line for each method (and for each of its settings), in the order in which they first appear.

    `target` is an accuracy from 0 to 1: how long and how many bytes it took to come there.
    """
    return lines_of([read(folder) for folder in folders], target)


def lines_of(stories: Sequence[Story], target: float | None = None) -> tuple[Line, ...]:
    """The same of runs that have been read; all of them must be finished."""
    results = [verdict_of(story) for story in stories]
    hurt = harmed_in(stories)
    names = labels(stories)
    lines: list[Line] = []
    for label in dict.fromkeys(names):
        mine = [index for index, name in enumerate(names) if name == label]

        def mean(name: str, mine: list[int] = mine) -> float:
            return float(np.mean([number(results[index].get(name)) for index in mine]))

        ways = [way for index in mine if target is not None and (way := way_to(stories[index], target)) is not None]
        counts = [len(found) for index in mine if (found := hurt[index]) is not None]
        lines.append(
            Line(
                method=label,
                runs=len(mine),
                rounds=int(mean("rounds")),
                accuracy=mean("accuracy"),
                accuracy_deviation=float(np.std([number(results[index].get("accuracy")) for index in mine])),
                accuracy_weighted=mean("accuracy_weighted"),
                accuracy_variance=mean("accuracy_variance"),
                worst_tenth=mean("worst_tenth"),
                loss=mean("loss"),
                groups=mean("group_count"),
                ari=None if results[mine[0]].get("ari") is None else mean("ari"),
                harmed=float(np.mean(counts)) if counts else None,
                bytes_up=mean("bytes_up"),
                bytes_down=mean("bytes_down"),
                reached=None if target is None else len(ways),
                target_rounds=float(np.mean([rounds for rounds, _ in ways])) if ways else None,
                target_bytes=float(np.mean([count for _, count in ways])) if ways else None,
                seconds=mean("seconds"),
                cpu_seconds=mean("cpu_seconds"),
            )
        )
    return tuple(lines)


def verdict_of(story: Story) -> Facts:
    """The verdict of a run that is finished."""
    if story.result is None:
        raise InputError("the run is not finished", where=str(story.path), need="a finished run")
    return story.result


def way_to(story: Story, target: float) -> tuple[int, int] | None:
    """The first evaluated round with this mean accuracy, and the bytes until then; None if it was never reached."""
    sent = story.sent()
    for round_, event in story.evaluations():
        if number(event.get("accuracy")) >= target:
            return round_, int(sent[round_])
    return None


def as_table(lines: Sequence[Line]) -> list[dict[str, object]]:
    """The lines as plain data."""
    return [{field.name: getattr(line, field.name) for field in fields(Line)} for line in lines]


HEADINGS = ("method", "accuracy", "worst tenth", "variance", "groups", "ARI", "harmed", "MB up", "MB down", "seconds")
TO_TARGET = ("rounds to target", "MB to target")


def as_text(line: Line) -> tuple[str, ...]:
    """A line as a reader wants it, under HEADINGS."""
    spread = f" ± {100 * line.accuracy_deviation:.1f}" if line.runs > 1 else ""
    return (
        line.method,
        f"{100 * line.accuracy:.1f} %{spread}",
        f"{100 * line.worst_tenth:.1f} %",
        f"{line.accuracy_variance:.0f}",
        f"{line.groups:.0f}",
        "-" if line.ari is None else f"{line.ari:.2f}",
        "-" if line.harmed is None else f"{line.harmed:.0f}",
        f"{line.bytes_up / 1e6:.1f}",
        f"{line.bytes_down / 1e6:.1f}",
        f"{line.seconds:.1f}",
    )


def with_target(line: Line) -> tuple[str, ...]:
    """The same under HEADINGS and TO_TARGET; in brackets how many runs came there, if not all."""
    if line.target_rounds is None or line.target_bytes is None:
        return (*as_text(line), "never", "-")
    some = "" if line.reached == line.runs else f" ({line.reached} of {line.runs})"
    return (*as_text(line), f"{line.target_rounds:.0f}{some}", f"{line.target_bytes / 1e6:.1f}")
