"""A run's rounds as rows of plain numbers, whatever they are written to."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from fedclade.runs.folder import RunFolder
from fedclade.runs.metrics import FIGURES

MOVED = ("bytes_up", "bytes_down", "took_part")
JUDGED = (*FIGURES, "group_count", "ari")
COLUMNS = ("round", "time", *MOVED, "refused", "silent", *JUDGED)


@dataclass(frozen=True)
class Row:
    """One round: 0 is the start."""

    round: int
    time: str
    figures: Mapping[str, float | None]
    """By the names of COLUMNS; those of an evaluation are None where there was none."""

    @property
    def seconds(self) -> float:
        """When it was, since 1970."""
        return datetime.fromisoformat(self.time).timestamp()

    def known(self) -> Iterator[tuple[str, float]]:
        """The figures that this round has."""
        return ((name, value) for name, value in self.figures.items() if value is not None)


def rows(folder: RunFolder) -> list[Row]:
    """All rounds so far."""
    found: dict[int, Row] = {}
    for event in folder.events():
        number = event.get("round")
        if not isinstance(number, int):
            continue
        if event["event"] in ("start", "round"):
            figures: dict[str, float | None] = {name: figure(event.get(name)) for name in MOVED}
            for name in ("refused", "silent"):
                listed = event.get(name)
                figures[name] = len(listed) if isinstance(listed, list) else 0
            found[number] = Row(number, str(event["time"]), {**figures, **dict.fromkeys(JUDGED)})
        elif event["event"] == "evaluation" and number in found:
            before = found[number]
            judged = {name: figure(event.get(name)) for name in JUDGED}
            found[number] = Row(number, before.time, {**before.figures, **judged})
    return [found[number] for number in sorted(found)]


def figure(value: object) -> float | None:
    """A number; None where it is not known."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def settings(folder: RunFolder) -> dict[str, str]:
    """The experiment, flat: `local.lr` and the like."""
    return dict(flat(tomllib.loads(folder.asked()), ""))


def flat(table: Mapping[str, object], before: str) -> Iterator[tuple[str, str]]:
    """The settings of a table by their full names."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{before}{key}.")
        else:
            yield before + key, str(value)
