"""What several runs come to, in a sentence and a list of warnings."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from fedclade.core.metric_text import interval_text, metric_text
from fedclade.report.comparison import ComparisonRow
from fedclade.report.run_data import RunData, as_list, mapping
from fedclade.report.verdict import MethodVerdict, judge_methods, verdict_sentence
from fedclade.runs.significance import LEVEL
from fedclade.runs.warnings import RunWarning
from fedclade.store.events import ResumeEvent, TrafficEvent


@dataclass(frozen=True)
class Summary:
    """What is said of several runs."""

    sentence: str
    verdict: MethodVerdict
    warnings: tuple[tuple[RunData, RunWarning], ...]
    runs: int
    """How many these are."""

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "verdict": self.sentence,
            "best": self.verdict.best,
            "within_noise": [self.verdict.leader, *self.verdict.within_noise] if self.verdict.within_noise else [],
            "p_values": dict(self.verdict.p_values),
            "warnings": [
                {"run": str(run.path), "method": run.method, "seed": run.seed, "name": each.name, "text": each.text}
                for run, each in self.warnings
            ],
        }

    def warning_texts(self) -> list[str]:
        """The warnings with the runs that they are of, the same one of several runs of a method once."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for run, each in self.warnings:
            found.setdefault((run.method, each.name, each.text), []).append(f"seed {run.seed}")
        return [
            f"{method}, {', '.join(dict.fromkeys(seeds))}: {text}" if self.runs > 1 else text
            for (method, _, text), seeds in found.items()
        ]


def summarise(runs: Sequence[RunData], rows: Sequence[ComparisonRow]) -> Summary:
    """The summary of finished runs, and of the rows that were made of them."""
    warned = tuple((run, each) for run in runs for each in warnings_of(run))
    values = {row.method: nan if row.diverged or row.metric != runs[0].metric else row.value for row in rows}
    diverged = [row.method for row in rows if row.diverged]
    verdict = judge_methods(runs, values)
    clients = len(runs[0].final_values())
    if len(rows) > 1 or isnan(values[rows[0].method]):
        return Summary(verdict_sentence(verdict, values, runs[0], clients, diverged), verdict, warned, len(runs))
    row, kind = rows[0], runs[0].metric_kind()
    words = f"mean {kind.label}" if kind.unit == "share" else kind.label
    sure = f", {100 * LEVEL:.0f} % interval {interval_text(row.interval, kind)}" if row.interval is not None else ""
    reached = f"{metric_text(row.value, kind)} {words}{sure}"
    sentence = f"{row.method} reached {reached}, over {clients} clients in {row.rounds} rounds."
    return Summary(sentence, verdict, warned, len(runs))


def warnings_of(run: RunData) -> list[RunWarning]:
    """What a reader must know before relying on a number of this run: of its verdict, and of what went wrong."""
    noted = mapping(run.result).get("warnings")
    found = [
        RunWarning(str(mapping(each).get("name", "")), str(mapping(each).get("text", ""))) for each in as_list(noted)
    ]
    refused, silent, resumed = 0, 0, 0
    for event in run.events:
        if isinstance(event, TrafficEvent):
            refused, silent = refused + len(event.refused), silent + len(event.silent)
        resumed += isinstance(event, ResumeEvent) and event.repaired
    for name, count, what in (
        ("refused_replies", refused, "replies were refused"),
        ("no_answer", silent, "questions had no answer"),
        ("repaired", resumed, "repairs"),
    ):
        if count:
            found.append(RunWarning(name, f"{count} {what}"))
    return found
