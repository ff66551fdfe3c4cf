"""A finished run in few words: for `repr`, for `print` and for a notebook."""

from collections.abc import Mapping
from pathlib import Path

from fedclade.core.html import html_table, name_list
from fedclade.core.metric_text import metric_text
from fedclade.core.task import metric_kind

MAX_SIZES = 8  # groups of which the size is shown
RunResult = Mapping[str, object]


def value_text(name: str, value: object) -> str:
    """A metric as people read it, by its name."""
    return metric_text(float(value) if isinstance(value, int | float) else None, metric_kind(name))


def main_metric_texts(result: RunResult) -> tuple[str, str, str, str]:
    """The main metric of a verdict: its label, its value, that of one answer for all, and that of the worst tenth."""
    name = str(result.get("metric", "accuracy"))
    metrics, baseline = (
        found if isinstance(found := result.get(key), Mapping) else {} for key in ("metrics", "baseline")
    )
    values = metrics.get(name, result.get(name)), baseline.get(name), result.get("worst_tenth")
    value, one_answer, worst = (value_text(name, each) for each in values)
    return metric_kind(name).label, value, one_answer, worst


def group_sizes(result: RunResult) -> list[int]:
    """How many clients each group has."""
    groups = result.get("groups")
    return [len(each) for each in groups] if isinstance(groups, list) else []


def count_text(count: int, what: str) -> str:
    """`1 group`, `2 groups`."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def in_one_line(result: RunResult, path: Path) -> str:
    label, value, _, _ = main_metric_texts(result)
    groups = count_text(len(group_sizes(result)), "group")
    rounds = count_text(rounds_of(result), "round")
    return f"Run({result.get('method')}: {label} {value}, {rounds}, {groups}, {str(path)!r})"


def in_three_lines(result: RunResult, path: Path) -> str:
    label, value, one_answer, worst = main_metric_texts(result)
    sizes = group_sizes(result)
    compared = f"worst tenth {worst}" + (f", one answer for all {one_answer}" if one_answer != "-" else "")
    ari = result.get("ari")
    shown = name_list(list(map(str, sizes)), MAX_SIZES)
    groups = f"{count_text(len(sizes), 'group')} of {shown} clients" if sizes else "no groups"
    return "\n".join(
        [
            f"{result.get('method')}: {label} {value} over {count_text(sum(sizes), 'client')} ({compared})",
            f"{count_text(rounds_of(result), 'round')}, seed {result.get('seed')}; {groups}"
            + (f", ARI {ari:.2f}" if isinstance(ari, int | float) else ""),
            str(path),
            *(f"Warning: {text}" for text in warning_texts(result)),
        ]
    )


def warning_texts(result: RunResult) -> list[str]:
    """What a reader of the numbers must know."""
    found = result.get("warnings")
    return [str(each.get("text", "")) for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def rounds_of(result: RunResult) -> int:
    rounds = result.get("rounds")
    return rounds if isinstance(rounds, int) else 0


def as_html(result: RunResult, path: Path) -> str:
    label, value, one_answer, worst = main_metric_texts(result)
    sizes, ari = group_sizes(result), result.get("ari")
    cells = {
        label: value,
        "worst tenth": worst,
        "one answer for all": one_answer,
        "clients": str(sum(sizes)),
        "groups": str(len(sizes)),
        "ARI": f"{ari:.2f}" if isinstance(ari, int | float) else "-",
        "run": str(path),
    }
    caption = f"{result.get('method')}, {count_text(rounds_of(result), 'round')}, seed {result.get('seed')}"
    return html_table(caption, list(cells), [list(cells.values())])
