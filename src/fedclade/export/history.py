"""A run's rounds as rows of plain numbers, whatever they are written to."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fedclade.core.settings import flat_table
from fedclade.runs.metrics import METRICS
from fedclade.store.events import EvaluationEvent, StartEvent, TrafficEvent
from fedclade.store.run_folder import RunFolder

TRAFFIC_COLUMNS = ("bytes_up", "bytes_down", "took_part")
EVALUATION_COLUMNS = (*METRICS, "group_count", "ari")
COLUMNS = ("round", "time", *TRAFFIC_COLUMNS, "refused", "silent", *EVALUATION_COLUMNS)


@dataclass(frozen=True)
class RoundRow:
    """One round: 0 is the start."""

    event: TrafficEvent
    metrics: Mapping[str, float | None]
    """By the names of COLUMNS, then every metric of the task; those of an evaluation are None where there was none."""

    def known_metrics(self) -> Iterator[tuple[str, float]]:
        """The metrics that this round has."""
        return ((name, value) for name, value in self.metrics.items() if value is not None)


def round_rows(folder: RunFolder) -> list[RoundRow]:
    """All rounds so far."""
    found: dict[int, RoundRow] = {}
    for event in folder.events():
        if event.round == 0 and not isinstance(event, StartEvent):
            continue  # its round cannot be read
        if isinstance(event, TrafficEvent):
            metrics: dict[str, float | None] = {name: getattr(event, name) for name in TRAFFIC_COLUMNS}
            metrics |= {"refused": len(event.refused), "silent": len(event.silent)}
            found[event.round] = RoundRow(event, {**metrics, **dict.fromkeys(EVALUATION_COLUMNS)})
        elif isinstance(event, EvaluationEvent) and (row := found.get(event.round)) is not None:
            evaluated = {**event.metrics, **{name: getattr(event, name) for name in EVALUATION_COLUMNS}}
            found[event.round] = replace(row, metrics={**row.metrics, **evaluated})
    names = dict.fromkeys(name for row in found.values() for name in row.metrics)
    return [replace(found[at], metrics={name: found[at].metrics.get(name) for name in names}) for at in sorted(found)]


def flat_settings(folder: RunFolder) -> dict[str, str]:
    """The experiment, flat: `local.lr` and the like."""
    return flat_table(tomllib.loads(folder.experiment_toml()))
