"""Which method is best, by a paired test over clients; and intervals over clients."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId
from fedclade.core.metric_text import metric_text
from fedclade.report.naming import indices_by_label
from fedclade.report.run_data import RunData, run_labels
from fedclade.runs.metrics import within_range
from fedclade.runs.significance import ALPHA, half_width, holm, paired_p, pseudo_values

ClientOfData = tuple[str, ClientId]
"""A client of some data: seeds with the same data are means of one unit, and not several."""


@dataclass(frozen=True)
class MethodVerdict:
    """Whether a method is best."""

    leader: str = ""
    """The method with the best number; empty where nobody could be evaluated."""
    within_noise: tuple[str, ...] = ()
    """The methods that are not clearly worse."""
    p_values: Mapping[str, float] = field(default_factory=dict)
    """Of every other method: how probable such a distance is by chance, corrected for how many methods there are."""

    @property
    def best(self) -> str | None:
        """The method that is clearly best."""
        return self.leader if self.leader and not self.within_noise else None


def judge_methods(runs: Sequence[RunData], values: Mapping[str, float]) -> MethodVerdict:
    """The verdict on methods with these main metrics, by their labels; NaN: not evaluated.

    The method with the best number is compared with each of the others by a paired t test: the same clients, and where
    several seeds have the same data the mean of each client. The p-values are corrected by Holm's method.
    """
    known = {label: value for label, value in values.items() if not np.isnan(value)}
    if not known:
        return MethodVerdict()
    leader = (min if runs[0].metric_kind().lower_is_better else max)(known, key=lambda label: known[label])
    mine = indices_by_label(run_labels(runs))
    rivals = [label for label in known if label != leader]
    found = [
        paired_p(differences([runs[at] for at in mine[leader]], [runs[at] for at in mine[each]])) for each in rivals
    ]
    p_values = dict(zip(rivals, holm(found), strict=True))
    return MethodVerdict(leader, tuple(label for label in rivals if p_values[label] > ALPHA), p_values)


def differences(runs: Sequence[RunData], others: Sequence[RunData]) -> NDArray[np.float64]:
    """(units,): of each client's main metric, or its pseudo-value, in runs with the same data and seed."""
    seen: dict[ClientOfData, list[float]] = {}
    for run in runs:
        mine = client_values(run)
        for other in others:
            if (data_of(run), run.seed, run.metric) == (data_of(other), other.seed, other.metric):
                for client, value in client_values(other).items():
                    if client in mine:
                        seen.setdefault((data_of(run), client), []).append(mine[client] - value)
    return np.array([np.mean(each) for each in seen.values()], np.float64)


def client_values(run: RunData) -> dict[ClientId, float]:
    """Each client's main metric; a pseudo-value where the number over clients is not the mean of theirs."""
    final = run.final_metrics
    return dict(zip(final.clients, pseudo_values(final.task, final.values, final.examples).tolist(), strict=True))


def data_of(run: RunData) -> str:
    return str(run.environment.get("data_sha256"))


def interval_of(runs: Sequence[RunData], middle: float) -> tuple[float, float] | None:
    """The interval over clients of the main metric of these runs of one method; None where it is not known."""
    seen: dict[ClientOfData, list[float]] = {}
    for run in runs:
        for client, value in client_values(run).items():
            seen.setdefault((data_of(run), client), []).append(value)
    width = half_width(np.array([np.mean(each) for each in seen.values()], np.float64))
    if width is None or not np.isfinite(middle + width):
        return None
    return within_range(middle, width, runs[0].metric_kind())


def verdict_sentence(
    verdict: MethodVerdict, values: Mapping[str, float], run: RunData, clients: int, diverged: Sequence[str] = ()
) -> str:
    """The verdict on several methods in a sentence; those that diverged have no number."""
    if not verdict.leader:
        return f"Training diverged: {', '.join(diverged)}." if diverged else "Nobody could be evaluated."
    kind = run.metric_kind()
    words = f"mean {kind.label}" if kind.unit == "share" else kind.label
    shown = {label: metric_text(value, kind) for label, value in values.items() if not np.isnan(value)}
    alike = [verdict.leader, *verdict.within_noise]
    others = [f"{label} {text}" for label, text in shown.items() if label not in alike]
    others += [
        f"{label} {'diverged' if label in diverged else 'not evaluated'}"
        for label, value in values.items()
        if np.isnan(value)
    ]
    rest = f" ({', '.join(others)})" if others else ""
    if verdict.best is not None:
        return f"{verdict.leader} was best: {shown[verdict.leader]} {words} over {clients} clients{rest}."
    numbers = ", ".join(shown[label] for label in alike)
    names = f"{', '.join(alike[:-1])} and {alike[-1]}"
    return f"No method is clearly best: {names} are within noise: {numbers} {words} over {clients} clients{rest}."
