"""The results of an item's runs, as items read them: metrics over seeds, curves, facts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedclade.report.run_data import number as as_number
from fedclade.store.events import EvaluationEvent, RoundEvent
from fedclade.store.run_folder import RunFolder
from fedclade_papers.item import Setting, Terms
from fedclade_papers.run_plans import folder_of, tiny_setting

RoundFacts = Mapping[str, object]


@dataclass(frozen=True)
class SeedStatistics:
    """One metric over seeds."""

    mean: float
    deviation: float


class ItemRuns:
    """The finished runs of an item's settings."""

    def __init__(self, terms: Terms, settings: Sequence[Setting], show: Callable[[str], None] = lambda _: None) -> None:
        self.terms, self.show = terms, show
        self._settings = {each.name: tiny_setting(each) if terms.scale == "tiny" else each for each in settings}

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings as they were run."""
        return tuple(self._settings.values())

    def has(self, name: str) -> bool:
        """Whether there is a setting of this name: a part of an item has not all of them."""
        return name in self._settings

    def setting(self, name: str) -> Setting:
        """The setting of this name."""
        return self._settings[name]

    def labels(self, name: str) -> tuple[str, ...]:
        """The labels of the methods that were run in a setting."""
        return tuple(self._settings[name].methods)

    def runs(self, name: str, label: str) -> tuple[RunFolder, ...]:
        """The runs of one method, one for each seed."""
        setting = self._settings[name]
        return tuple(RunFolder.open(folder_of(setting, label, seed, self.terms)) for seed in range(setting.seeds))

    def metric(self, name: str, label: str, key: str, factor: float = 1.0) -> SeedStatistics:
        """A metric of the verdict, over seeds."""
        return seed_statistics([factor * as_number(run.result()[key]) for run in self.runs(name, label)])

    def aris(self, name: str, label: str) -> list[float]:
        """The adjusted Rand index of every run; none where no groups are planted."""
        return [as_number(ari) for run in self.runs(name, label) if (ari := run.result().get("ari")) is not None]

    def accuracy(self, name: str, label: str) -> SeedStatistics:
        """Mean test accuracy of the clients, in percent."""
        return self.metric(name, label, "accuracy", 100)

    def curves(
        self, name: str, label: str, key: str = "accuracy", factor: float = 100.0
    ) -> list[dict[str, list[float]]]:
        """A metric after every evaluated round, for each seed: x and y."""
        events = [list(run.events(EvaluationEvent)) for run in self.runs(name, label)]
        return [
            {
                "x": [float(event.round) for event in each],
                "y": [factor * as_number(getattr(event, key)) for event in each],
            }
            for each in events
        ]

    def curve(self, name: str, label: str, key: str = "accuracy", factor: float = 100.0) -> dict[str, list[float]]:
        """A metric after every evaluated round, as a mean over seeds: x and y."""
        values: dict[float, list[float]] = {}
        for curve in self.curves(name, label, key, factor):
            for x, y in zip(curve["x"], curve["y"], strict=True):
                values.setdefault(x, []).append(y)
        rounds = sorted(values)
        return {"x": rounds, "y": [float(np.mean(values[each])) for each in rounds]}

    def facts(self, name: str, label: str, seed: int = 0) -> list[tuple[int, RoundFacts]]:
        """The facts of every round of one run."""
        return [(event.round, event.facts) for event in self.runs(name, label)[seed].events(RoundEvent)]


def seed_statistics(values: Sequence[float]) -> SeedStatistics:
    """Mean and deviation."""
    return SeedStatistics(float(np.mean(values)), float(np.std(values)))
