"""Runs side by side: one line for each method, over its seeds."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from fedclade.nouns import ClientId
from fedclade.runs.folder import RunFolder
from fedclade.runs.metrics import harmed

BASELINES = ("local", "fedavg")  # what a client could have instead


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


def labels(folders: Sequence[RunFolder]) -> list[str]:
    """A name for each run: its method, with the settings that tell it from others of that method, but not its seed."""
    asked = [flat(folder.asked()) for folder in folders]
    found: list[str] = []
    for mine in asked:
        others = [each for each in asked if each["method.name"] == mine["method.name"]]
        telling = [key for key in mine if any(each.get(key) != mine[key] for each in others)]
        found.append(
            ", ".join([mine["method.name"], *(f"{key.removeprefix('method.')} {mine[key]}" for key in telling)])
        )
    return found


def flat(toml: str) -> dict[str, str]:
    """An experiment's settings by their full names, without those that change no result but by chance."""
    tables = tomllib.loads(toml)
    return {
        f"{section}.{key}": str(value)
        for section, table in tables.items()
        for key, value in table.items()
        if section != "engine" and (section, key) != ("run", "seed")
    }


def compared(folders: Sequence[RunFolder], target: float | None = None) -> tuple[Line, ...]:
    """A line for each method (and for each of its settings), in the order in which they first appear.

    `target` is an accuracy from 0 to 1: how long and how many bytes it took to come there.
    """
    results = [folder.result() for folder in folders]
    hurt = harmed_clients(folders)
    names = labels(folders)
    lines: list[Line] = []
    for label in dict.fromkeys(names):
        mine = [number for number, name in enumerate(names) if name == label]

        def mean(name: str, mine: list[int] = mine) -> float:
            return float(np.mean([as_number(results[number][name]) for number in mine]))

        ways = [way for number in mine if target is not None and (way := way_to(folders[number], target)) is not None]
        counts = [len(found) for number in mine if (found := hurt[number]) is not None]
        lines.append(
            Line(
                method=label,
                runs=len(mine),
                rounds=int(mean("rounds")),
                accuracy=mean("accuracy"),
                accuracy_deviation=float(np.std([as_number(results[number]["accuracy"]) for number in mine])),
                accuracy_weighted=mean("accuracy_weighted"),
                accuracy_variance=mean("accuracy_variance"),
                worst_tenth=mean("worst_tenth"),
                loss=mean("loss"),
                groups=mean("group_count"),
                ari=None if results[mine[0]]["ari"] is None else mean("ari"),
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


def harmed_clients(folders: Sequence[RunFolder]) -> list[tuple[ClientId, ...] | None]:
    """For each run, who does better with Local or FedAvg on the same data and seed; None if neither is here."""
    results = [folder.result() for folder in folders]
    finals = [final_accuracy(folder) for folder in folders]
    worlds = [
        (folder.environment().get("data_sha256"), result["seed"], terms(folder))
        for folder, result in zip(folders, results, strict=True)
    ]
    found: list[tuple[ClientId, ...] | None] = []
    for number, result in enumerate(results):
        others = [
            finals[other]
            for other, baseline in enumerate(results)
            if baseline["method"] in BASELINES
            and baseline["method"] != result["method"]
            and worlds[other] == worlds[number]
        ]
        found.append(harmed(finals[number], others) if others else None)
    return found


def terms(folder: RunFolder) -> tuple[tuple[str, str], ...]:
    """What two runs must have in common to be compared client by client: all settings but the method's."""
    return tuple((key, value) for key, value in flat(folder.asked()).items() if not key.startswith("method."))


def final_accuracy(folder: RunFolder) -> dict[ClientId, float]:
    """Every client's accuracy after the last round."""
    table = folder.clients().to_pydict()
    last = max(table["round"], default=0)
    return {
        client: accuracy
        for number, client, accuracy in zip(table["round"], table["client"], table["accuracy"], strict=True)
        if number == last and accuracy is not None
    }


def way_to(folder: RunFolder, target: float) -> tuple[int, int] | None:
    """The first evaluated round with this mean accuracy, and the bytes until then; None if it was never reached."""
    sent = 0
    for event in folder.events():
        if event["event"] in ("start", "round"):
            sent += int(as_number(event["bytes_up"])) + int(as_number(event["bytes_down"]))
        elif event["event"] == "evaluation" and as_number(event["accuracy"]) >= target:
            return int(as_number(event["round"])), sent
    return None


def as_number(value: object) -> float:
    """A number of a verdict."""
    return float(value) if isinstance(value, int | float) else float("nan")


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
