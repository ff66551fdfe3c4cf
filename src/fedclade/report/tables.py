"""The rows of a comparison as tables: for people, for JSON, and for CSV. A baseline is a row, too."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from fedclade.core.metric_text import interval_text, metric_text
from fedclade.core.task import METRICS_OF, kind_of_metric
from fedclade.report.comparison import ComparisonRow
from fedclade.runs.significance import LEVEL

MAX_RECALLS = 5  # classes that have a column each
BASELINE_NAMES = {
    "classification": "(most frequent class)",
    "multi-label": "(majority of each flag)",
    "regression": "(mean)",
}
NO_BASELINE = "(always the same)"  # of a task in which it is not known
NESTED = ("metrics", "recall", "baseline", "baseline_recall", "interval", "lower_is_better")  # of a row


@dataclass(frozen=True)
class Table:
    """A table as text."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def main_table(lines: Sequence[ComparisonRow], *, with_target: bool = False) -> Table:
    """The main metric of each method, who is harmed, and what it cost."""
    first = lines[0]
    kind = kind_of_metric(first.task, first.metric, first.lower_is_better)
    shares = kind.unit == "share"
    target = ("rounds to target", "MB to target") if with_target else ()
    headings = (
        *("method", kind.label, f"{100 * LEVEL:.0f} % interval", "worst tenth"),
        *(("variance",) if shares else ()),
        *("groups", "ARI", "harmed", "MB up", "MB down", "seconds", *target),
    )
    rows: list[tuple[str, ...]] = []
    for line in lines:
        same = line.metric == first.metric
        spread = f" ± {spread_text(line.deviation, shares)}" if line.runs > 1 and same else ""
        rows.append(
            (
                line.method + divergence_mark(line),
                metric_text(line.value, kind) + spread if same else "-",
                interval_text(line.interval if same else None, kind),
                metric_text(line.worst_tenth, kind) if same else "-",
                *((number_cell(line.accuracy_variance, 0),) if shares else ()),
                number_cell(line.groups, 0),
                number_cell(line.ari, 2),
                number_cell(line.harmed, 0),
                f"{line.bytes_up / 1e6:.1f}",
                f"{line.bytes_down / 1e6:.1f}",
                f"{line.seconds:.1f}",
                *(target_cells(line) if with_target else ()),
            )
        )
    baseline = (baseline_name(first.task), metric_text(first.baseline.get(first.metric), kind))
    return Table(headings, (*rows, (*baseline, *["-"] * (len(headings) - 2))))


def divergence_mark(line: ComparisonRow) -> str:
    """What stands behind a method's name where runs diverged."""
    if not line.diverged:
        return ""
    return " (diverged)" if line.diverged == line.runs else f" ({line.diverged} of {line.runs} diverged)"


def spread_text(deviation: float, share: bool) -> str:
    return f"{100 * deviation:.1f}" if share else f"{deviation:.2g}"


def number_cell(value: float | None, digits: int) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def target_cells(line: ComparisonRow) -> tuple[str, str]:
    """Rounds and megabytes to the target; in brackets how many runs reached it, if not all."""
    if line.target_rounds is None or line.target_bytes is None:
        return "never", "-"
    some = "" if line.reached == line.runs else f" ({line.reached} of {line.runs})"
    return f"{line.target_rounds:.0f}{some}", f"{line.target_bytes / 1e6:.1f}"


def metric_table(lines: Sequence[ComparisonRow], *, max_recalls: int = MAX_RECALLS) -> Table:
    """Every other metric of the task, and the recall of each class where they are so few."""
    first = lines[0]
    order = METRICS_OF.get(first.task, ())  # type: ignore[call-overload]  # of any text
    known = [name for name in order if name in first.metrics]
    names = [name for name in dict.fromkeys([*known, *first.metrics]) if name not in (first.metric, "loss")]
    kinds = [kind_of_metric(first.task, name, first.lower_is_better) for name in names]
    recalls = [*first.recall] if len(first.recall) <= max_recalls else []
    share = kind_of_metric("classification", "accuracy", ())
    headings = ("method", *(kind.label for kind in kinds), *(f"recall {name}" for name in recalls))
    rows = [
        (
            line.method,
            *(metric_text(line.metrics.get(name), kind) for name, kind in zip(names, kinds, strict=True)),
            *(metric_text(line.recall.get(name), share) for name in recalls),
        )
        for line in lines
    ]
    baseline = [metric_text(first.baseline.get(name), kind) for name, kind in zip(names, kinds, strict=True)]
    always = [metric_text(first.baseline_recall.get(name), share) for name in recalls]
    return Table(headings, (*rows, (baseline_name(first.task), *baseline, *always)))


def baseline_name(task: str) -> str:
    """What the row of the baseline is called."""
    return BASELINE_NAMES.get(task, NO_BASELINE)


def as_table(lines: Sequence[ComparisonRow]) -> list[dict[str, object]]:
    """The rows as plain data."""
    return [{field.name: getattr(line, field.name) for field in fields(ComparisonRow)} for line in lines]


def baseline_entry(lines: Sequence[ComparisonRow]) -> dict[str, object]:
    """The baseline as plain data."""
    first = lines[0]
    known = {"method": baseline_name(first.task), "metric": first.metric, "value": first.baseline.get(first.metric)}
    return {**known, "metrics": first.baseline, "recall": first.baseline_recall}


def flat_rows(lines: Sequence[ComparisonRow]) -> list[dict[str, object]]:
    """The rows for CSV: one for each method, a number in each cell, and the baseline in columns of its own."""
    found = [flat_row(each) for each in as_table(lines)]
    names = dict.fromkeys(name for row in found for name in row)
    return [{name: row.get(name) for name in names} for row in found]


def flat_row(row: Mapping[str, object]) -> dict[str, object]:
    """A row with a column for each metric and each recall."""
    flat = {name: value for name, value in row.items() if name not in NESTED}
    metrics, recall, baseline = row["metrics"], row["recall"], row["baseline"]
    assert isinstance(metrics, Mapping)
    assert isinstance(recall, Mapping)
    assert isinstance(baseline, Mapping)
    interval = row.get("interval")
    low, high = interval if isinstance(interval, tuple) else (None, None)
    return {
        **{name: blank(value) for name, value in flat.items()},
        "interval_low": low,
        "interval_high": high,
        **{str(name): blank(value) for name, value in metrics.items() if name not in flat},
        **{f"baseline {name}": blank(value) for name, value in baseline.items()},
        **{f"recall {name}": blank(value) for name, value in recall.items()},
    }


def blank(value: object) -> object:
    """Nothing in the place of a number that is not known."""
    return None if isinstance(value, float) and math.isnan(value) else value
