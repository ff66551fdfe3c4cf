"""A run as it is on disk at one moment, read once: what figures are drawn of. The run may still be going on."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedclade.nouns import ClientId, Damaged
from fedclade.report.naming import labels_of
from fedclade.runs.folder import RunFolder

Facts = Mapping[str, object]
"""A JSON object of a run's events."""


@dataclass(frozen=True, eq=False)
class Story:
    """A run folder, read once."""

    path: Path
    asked: str
    """The experiment, as TOML."""
    environment: Facts
    """Where the run was made."""
    events: tuple[Facts, ...]
    table: pa.Table
    """The clients' table: per round and client accuracy, loss, group, bytes, took part."""
    result: Facts | None
    """The verdict; None while the run goes on."""

    @cached_property
    def settings(self) -> Mapping[str, Mapping[str, object]]:
        """The experiment's sections."""
        try:
            return tomllib.loads(self.asked)
        except ValueError:
            raise Damaged("experiment.toml is damaged", where=str(self.path), need="it as it was") from None

    @property
    def method(self) -> str:
        return str(self.settings.get("method", {}).get("name", "unknown"))

    @property
    def seed(self) -> int:
        return int(number(self.settings.get("run", {}).get("seed"), 0))

    def evaluations(self) -> Iterator[tuple[int, Facts]]:
        """Every evaluated round with its figures."""
        for event in self.events:
            if event.get("event") == "evaluation":
                yield int(number(event.get("round"), 0)), event

    def rounds(self) -> Iterator[tuple[int, Facts]]:
        """Every round with what the method had to tell of it."""
        for event in self.events:
            if event.get("event") == "round":
                yield int(number(event.get("round"), 0)), mapping(event.get("facts"))

    def discoveries(self) -> list[tuple[int, Facts]]:
        """What was found about groups, and in which round; 0: before the first."""
        return self._discoveries

    @cached_property
    def _discoveries(self) -> list[tuple[int, Facts]]:
        found = []
        for event in self.events:
            if mapping(event.get("facts")).get("discovery"):
                facts = RunFolder(self.path).facts(event)
                found.append((int(number(event.get("round"), 0)), mapping(facts.get("discovery"))))
        return found

    def sent(self) -> dict[int, float]:
        """The bytes that the method had sent, up and down, after each round."""
        total, found = 0.0, {}
        for event in self.events:
            if event.get("event") in ("start", "round"):
                total += number(event.get("bytes_up"), 0.0) + number(event.get("bytes_down"), 0.0)
                found[int(number(event.get("round"), 0))] = total
        return found

    def planted(self) -> dict[ClientId, int]:
        """The planted group of each client, as of the last round; empty where there are none, or the run is old."""
        found: dict[ClientId, int] = {}
        for event in self.events:
            if event.get("event") == "planted":
                found = {
                    str(client): group
                    for group, members in enumerate(listed(event.get("groups")))
                    for client in listed(members)
                }
        return found

    @cached_property
    def evaluated(self) -> pa.Table:
        """The lines of rounds in which clients were evaluated."""
        return self.table.filter(pc.is_valid(self.table["accuracy"]))

    @cached_property
    def evaluated_rounds(self) -> tuple[int, ...]:
        """These rounds, in their order."""
        return tuple(sorted(pc.unique(self.evaluated["round"]).to_pylist()))

    def accuracy_after(self, round_: int) -> dict[ClientId, float]:
        """The accuracy of each client after this round."""
        lines = self.evaluated.filter(pc.equal(self.evaluated["round"], round_))
        return dict(zip(lines["client"].to_pylist(), lines["accuracy"].to_pylist(), strict=True))

    def groups_after(self, round_: int) -> dict[ClientId, int]:
        """The group of each client after this round."""
        lines = self.evaluated.filter(pc.equal(self.evaluated["round"], round_))
        return dict(zip(lines["client"].to_pylist(), lines["group"].to_pylist(), strict=True))

    def final_accuracy(self) -> dict[ClientId, float]:
        """Every client's accuracy after the last evaluated round."""
        return self.accuracy_after(self.evaluated_rounds[-1]) if self.evaluated_rounds else {}

    def final_groups(self) -> dict[ClientId, int]:
        """Every client's group after that round."""
        return self.groups_after(self.evaluated_rounds[-1]) if self.evaluated_rounds else {}

    def times_heard(self) -> dict[ClientId, int]:
        """In how many rounds each client trained and was heard."""
        counts = pc.value_counts(self.table.filter(self.table["took_part"])["client"]).to_pylist()
        return {each["values"]: each["counts"] for each in counts}

    def splits(self) -> Iterator[tuple[int, Facts]]:
        """Every split of a cluster in two, with its round."""
        for round_, facts in self.rounds():
            for split in listed(facts.get("splits")):
                yield round_, mapping(split)


def read(folder: RunFolder) -> Story:
    """A run, finished or not, as it is now."""
    return Story(
        folder.path,
        folder.asked(),
        folder.environment(),
        tuple(folder.events()),
        folder.clients(),
        folder.result() if folder.finished else None,
    )


def labels(stories: Sequence[Story]) -> list[str]:
    """A name for each run: its method, with the settings that tell it from others of that method, but not its seed."""
    return labels_of([story.asked for story in stories])


def number(value: object, otherwise: float = float("nan")) -> float:
    """A number of an event; something else counts as not known."""
    return float(value) if isinstance(value, int | float) else otherwise


def listed(value: object) -> Sequence[object]:
    """A list of an event; something else counts as none."""
    return value if isinstance(value, list | tuple) else ()


def mapping(value: object) -> Facts:
    """An object of an event; something else counts as an empty one."""
    return value if isinstance(value, Mapping) else {}


def names(value: object) -> list[str]:
    """A list of names of an event."""
    return [str(each) for each in listed(value)]


def table(value: object) -> NDArray[np.float64]:
    """A matrix of an event, (rows, columns); empty if it is none."""
    rows = [[number(cell) for cell in listed(row)] for row in listed(value)]
    if not rows or len({len(row) for row in rows}) != 1:
        return np.zeros((0, 0))
    return np.array(rows, np.float64)
