"""What the runs of an item came to, as items read it: figures over seeds, curves, events."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedclade.papers.item import Setting, Terms
from fedclade.papers.plans import folder_of, tiny
from fedclade.report.story import number as as_number
from fedclade.runs.folder import RunFolder

Fact = Mapping[str, object]


@dataclass(frozen=True)
class Seen:
    """One figure over seeds."""

    mean: float
    deviation: float


class Found:
    """The finished runs of an item's settings."""

    def __init__(self, terms: Terms, settings: Sequence[Setting], tell: Callable[[str], None] = lambda _: None) -> None:
        self.terms, self.tell = terms, tell
        self._settings = {each.name: tiny(each) if terms.scale == "tiny" else each for each in settings}

    @property
    def settings(self) -> tuple[Setting, ...]:
        """As they were run."""
        return tuple(self._settings.values())

    def has(self, name: str) -> bool:
        """Whether this setting was asked for: a part of an item has not all of them."""
        return name in self._settings

    def setting(self, name: str) -> Setting:
        """The one of this name."""
        return self._settings[name]

    def labels(self, name: str) -> tuple[str, ...]:
        """What was run in it."""
        return tuple(self._settings[name].methods)

    def runs(self, name: str, label: str) -> tuple[RunFolder, ...]:
        """The runs of one method, one for each seed."""
        setting = self._settings[name]
        return tuple(RunFolder.open(folder_of(setting, label, seed, self.terms)) for seed in range(setting.seeds))

    def figure(self, name: str, label: str, key: str, times: float = 1.0) -> Seen:
        """A figure of the verdict, over seeds."""
        return over([times * as_number(run.result()[key]) for run in self.runs(name, label)])

    def aris(self, name: str, label: str) -> list[float]:
        """The adjusted Rand index of every run; none where no groups are planted."""
        return [as_number(ari) for run in self.runs(name, label) if (ari := run.result().get("ari")) is not None]

    def accuracy(self, name: str, label: str) -> Seen:
        """Mean test accuracy of the clients, in percent."""
        return self.figure(name, label, "accuracy", 100)

    def curve(self, name: str, label: str, key: str = "accuracy", times: float = 100.0) -> dict[str, list[float]]:
        """A figure after every evaluated round, as a mean over seeds: x and y."""
        values: dict[int, list[float]] = {}
        for run in self.runs(name, label):
            for event in run.events():
                if event["event"] == "evaluation":
                    values.setdefault(int(as_number(event["round"])), []).append(times * as_number(event[key]))
        rounds = sorted(values)
        return {"x": [float(number) for number in rounds], "y": [float(np.mean(values[each])) for each in rounds]}

    def facts(self, name: str, label: str, seed: int = 0) -> list[tuple[int, Fact]]:
        """What the method told of every round of one run."""
        return [
            (int(as_number(event["round"])), facts)
            for event in self.runs(name, label)[seed].events()
            if event["event"] == "round" and isinstance(facts := event["facts"], Mapping)
        ]


def over(values: Sequence[float]) -> Seen:
    """Mean and deviation."""
    return Seen(float(np.mean(values)), float(np.std(values)))


def first_at_least(curve: Mapping[str, list[float]], target: float) -> float | None:
    """The first x at which a curve has come to this."""
    return next((x for x, y in zip(curve["x"], curve["y"], strict=True) if y >= target), None)
