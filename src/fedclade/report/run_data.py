"""A run as it is on disk at one moment, read once, for plots and tables. The run may still be going on."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedclade.core import ClientId, Damaged
from fedclade.core.task import METRIC_KINDS, MetricKind
from fedclade.report.naming import labels_of
from fedclade.runs.metrics import FinalMetrics
from fedclade.store.events import EvaluationEvent, Event, FactsEvent, PlantedEvent, RoundEvent, TrafficEvent
from fedclade.store.files import EXPERIMENT_FILE
from fedclade.store.run_folder import RunFolder

JsonObject = Mapping[str, object]
"""A JSON object of a run's events."""


@dataclass(frozen=True, eq=False)
class RunData:
    """A run folder, read once."""

    path: Path
    experiment_toml: str
    """The experiment, as TOML."""
    environment: JsonObject
    """Where the run was made."""
    events: tuple[Event, ...]
    table: pa.Table
    """The clients' table: per round and client accuracy or another metric, loss, group, bytes, took part."""
    result: JsonObject | None
    """The verdict; None while the run goes on."""

    @cached_property
    def settings(self) -> Mapping[str, Mapping[str, object]]:
        """The experiment's sections."""
        try:
            return tomllib.loads(self.experiment_toml)
        except ValueError:
            raise Damaged(f"{EXPERIMENT_FILE} is damaged", where=str(self.path), need="it as it was") from None

    @property
    def method(self) -> str:
        return str(self.settings.get("method", {}).get("name", "unknown"))

    @property
    def seed(self) -> int:
        return int(number(self.settings.get("run", {}).get("seed"), 0))

    def evaluations(self) -> Iterator[tuple[int, EvaluationEvent]]:
        """Every evaluated round with its metrics."""
        return ((event.round, event) for event in self.events if isinstance(event, EvaluationEvent))

    def rounds(self) -> Iterator[tuple[int, JsonObject]]:
        """Every round with the facts that the method reported."""
        return ((event.round, event.facts) for event in self.events if isinstance(event, RoundEvent))

    def discoveries(self) -> list[tuple[int, JsonObject]]:
        """The facts of every search for groups, and its round; 0: before the first."""
        return self._discoveries

    @cached_property
    def _discoveries(self) -> list[tuple[int, JsonObject]]:
        events = [event for event in self.events if isinstance(event, FactsEvent) and event.facts.get("discovery")]
        return [(event.round, mapping(RunFolder(self.path).facts(event)["discovery"])) for event in events]

    def bytes_by_round(self) -> dict[int, float]:
        """The bytes that the method had sent, up and down, after each round."""
        total, found = 0.0, {}
        for event in self.events:
            if isinstance(event, TrafficEvent):
                total += (event.bytes_up or 0) + (event.bytes_down or 0)
                found[event.round] = total
        return found

    def planted_groups(self) -> dict[ClientId, int]:
        """The planted group of each client, as of the last round; empty where there are none, or the run is old."""
        planted = [event.groups for event in self.events if isinstance(event, PlantedEvent)][-1:]
        return {client: group for groups in planted for group, members in enumerate(groups) for client in members}

    @cached_property
    def last_evaluation(self) -> EvaluationEvent:
        """The last one; one without anything known before the first."""
        return next((event for event in reversed(self.events) if isinstance(event, EvaluationEvent)), EvaluationEvent())

    @property
    def task(self) -> str:
        """The kind of what is learned."""
        return self.last_evaluation.task or "classification"

    @property
    def metric(self) -> str:
        """The name of the main metric."""
        return self.last_evaluation.metric or "accuracy"

    def metric_kind(self, name: str = "") -> MetricKind:
        """How a metric is read; by itself the main one."""
        name = name or self.metric
        known = MetricKind(name) if self.task == "own" else METRIC_KINDS.get(name, MetricKind(name))
        is_lower = name in self.last_evaluation.lower_is_better
        return replace(known, lower_is_better=is_lower) if self.last_evaluation.metric else known

    @cached_property
    def evaluation_table(self) -> pa.Table:
        """The lines of rounds in which clients were evaluated."""
        values = pc.coalesce(self.table["metric"], self.table["accuracy"])  # a run of an earlier fedclade has no metric
        table = self.table.set_column(self.table.schema.get_field_index("metric"), "metric", values)
        return table.filter(pc.is_valid(table["metric"]))

    @cached_property
    def evaluated_rounds(self) -> tuple[int, ...]:
        """These rounds, in their order."""
        return tuple(sorted(pc.unique(self.evaluation_table["round"]).to_pylist()))

    def values_after(self, round_: int) -> dict[ClientId, float]:
        """The main metric of each client after this round."""
        return self._column_after(round_, "metric")

    def groups_after(self, round_: int) -> dict[ClientId, int]:
        """The group of each client after this round."""
        return self._column_after(round_, "group")

    def _column_after(self, round_: int, column: str) -> dict[ClientId, Any]:
        lines = self.evaluation_table.filter(pc.equal(self.evaluation_table["round"], round_))
        return dict(zip(lines["client"].to_pylist(), lines[column].to_pylist(), strict=True))

    @property
    def final_round(self) -> int:
        """The round whose models are kept: with early stopping the best one, else the last that was evaluated."""
        kept = mapping((self.result or {}).get("early_stopping")).get("kept")
        last = self.evaluated_rounds[-1] if self.evaluated_rounds else 0
        return kept if isinstance(kept, int) and kept in self.evaluated_rounds else last

    def final_values(self) -> dict[ClientId, float]:
        """Every client's main metric after the round whose models are kept."""
        return self.values_after(self.final_round)

    @cached_property
    def final_metrics(self) -> FinalMetrics:
        """The same with standard errors and numbers of test examples."""
        lines = self.evaluation_table.filter(pc.equal(self.evaluation_table["round"], self.final_round))
        return FinalMetrics(
            self.task,
            self.metric_kind().lower_is_better,
            tuple(lines["client"].to_pylist()),
            lines["metric"].to_numpy(),
            pc.fill_null(lines["metric_error"], float("nan")).to_numpy(),
            pc.fill_null(lines["examples"], 0).to_numpy(),
        )

    def final_groups(self) -> dict[ClientId, int]:
        """Every client's group after that round."""
        return self.groups_after(self.final_round)

    def participation_counts(self) -> dict[ClientId, int]:
        """In how many rounds each client trained and was heard."""
        counts = pc.value_counts(self.table.filter(self.table["took_part"])["client"]).to_pylist()
        return {each["values"]: each["counts"] for each in counts}

    def splits(self) -> Iterator[tuple[int, JsonObject]]:
        """Every split of a cluster in two, with its round."""
        for round_, facts in self.rounds():
            for split in as_list(facts.get("splits")):
                yield round_, mapping(split)


def read_run(folder: RunFolder) -> RunData:
    """A run, finished or not, as it is now."""
    return RunData(
        folder.path,
        folder.experiment_toml(),
        folder.environment(),
        tuple(folder.events()),
        folder.clients(),
        folder.result() if folder.is_finished else None,
    )


def run_labels(runs: Sequence[RunData]) -> list[str]:
    """A name for each run: its method, with the settings in which runs of that method differ, but not its seed."""
    return labels_of([run.experiment_toml for run in runs])


def number(value: object, default: float = float("nan")) -> float:
    """A number of an event; something else counts as not known."""
    return float(value) if isinstance(value, int | float) else default


def as_list(value: object) -> Sequence[object]:
    """A list of an event; something else counts as none."""
    return value if isinstance(value, list | tuple) else ()


def mapping(value: object) -> JsonObject:
    """An object of an event; something else counts as an empty one."""
    return value if isinstance(value, Mapping) else {}


def names(value: object) -> list[str]:
    """A list of names of an event."""
    return [str(each) for each in as_list(value)]


def table(value: object) -> NDArray[np.float64]:
    """A matrix of an event, (rows, columns); empty if it is none."""
    rows = [[number(cell) for cell in as_list(row)] for row in as_list(value)]
    if not rows or len({len(row) for row in rows}) != 1:
        return np.zeros((0, 0))
    return np.array(rows, np.float64)
