"""Warnings: what a reader of a run's numbers must know, in the verdict, the table, the report and JSON."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core.evaluation import add_evaluations, baseline_by_client, class_counts
from fedclade.core.metric_text import change_text, metric_text
from fedclade.core.task import Task, metric_kind
from fedclade.fleet import Scores
from fedclade.runs.metrics import client_metrics
from fedclade.runs.significance import ALPHA, over_clients, paired_p, pseudo_values, trend_p
from fedclade.store.events import EvaluationEvent

MAX_NAMED = 5  # classes that a warning names
MIN_EVALUATIONS = 5  # that a trend takes
TREND_SHARE = 1 / 3  # of the evaluations: the last ones
MIN_CHANGE = 0.01  # of a trend that is worth a word: a point of a share, or 1 % of another number
MIN_EXAMPLES = 3  # of a trend of a share: so many more test examples are right, or wrong
BASELINES = {
    "classification": "always answering the most frequent class",
    "multi-label": "always answering what most examples have of each flag",
    "regression": "always answering the mean",
}


@dataclass(frozen=True)
class RunWarning:
    """One warning."""

    name: str
    """For machines: always the same for the same cause."""
    text: str
    """For people: what is wrong, and what to do."""


def find_warnings(
    scores: Scores, history: Sequence[EvaluationEvent], divergence: Mapping[str, str] | None = None
) -> list[RunWarning]:
    """Those of the final models; `history` are all evaluations of the run, `divergence` its reason and the advice.

    Of models that have diverged nothing else is said: it would follow from that.
    """
    if divergence is not None:
        return [RunWarning("diverged", f"training diverged: {divergence['reason']}; {divergence['advice']}")]
    if not scores.clients:
        return [RunWarning("not_evaluated", "nobody could be evaluated")]
    return [*baseline_warnings(scores), *class_warnings(scores), *trend_warnings(scores, history)]


def baseline_warnings(scores: Scores) -> list[RunWarning]:
    """A model that is not better, beyond noise, than an answer that is always the same."""
    task, found = scores.task, client_metrics(scores)
    other = baseline_by_client(task, scores.evaluations())
    if not len(other):
        return []
    kind = metric_kind(task.metric, task)
    mine, theirs = (over_clients(task.kind, values, scores.examples) for values in (found.values, other))
    gain = (theirs - mine) if kind.lower_is_better else (mine - theirs)
    pseudo, other_pseudo = (pseudo_values(task.kind, values, scores.examples) for values in (found.values, other))
    is_sure = paired_p(pseudo - other_pseudo) <= ALPHA or is_sure_by_examples(scores, other)
    if gain > 0 and is_sure:
        return []
    clearly = "clearly " if gain > 0 else ""
    numbers = f"{kind.label} {metric_text(mine, kind)} against {metric_text(theirs, kind)}"
    text = (
        f"the model is not {clearly}better than {BASELINES[task.kind]}: {numbers}; train longer, try another local.lr"
    )
    return [RunWarning("baseline", f"{text}, or look whether the features tell of the label")]


def is_sure_by_examples(scores: Scores, baseline: NDArray[np.float64]) -> bool:
    """Whether the model is better on all test examples by more than two standard errors: of few clients, too."""
    whole = add_evaluations(scores.evaluations())
    if scores.task.kind == "regression":
        other = float(baseline**2 @ scores.examples) / whole.examples
        gain, error = (
            other - whole.mean_score,
            other * math.sqrt(2 / whole.examples),
        )  # of squares, if labels are normal
    else:
        other = float(baseline @ scores.examples) / whole.examples
        gain, error = whole.mean_score - other, math.sqrt(other * (1 - other) / whole.examples)
    return gain > 2 * math.hypot(error, whole.score_error)


def class_warnings(scores: Scores) -> list[RunWarning]:
    """Classes, or flags, that test examples have and that no model says."""
    task, counts = scores.task, scores.counts.sum(axis=0)
    if task.is_classification and task.count_width:
        there, said, _ = class_counts(task, counts)
        what = "class"
    elif task.kind == "multi-label":
        yes, wrong_yes, _, wrong_no = counts[:-1].reshape(4, task.count)
        there, said = yes + wrong_no, yes + wrong_yes
        what = "flag"
    else:
        return []
    never = np.flatnonzero((there > 0) & (said == 0))
    if not len(never):
        return []
    named = ", ".join(f"{class_name(task, label)} ({examples_text(there, label)})" for label in never[:MAX_NAMED])
    more = f" and {len(never) - MAX_NAMED} more" if len(never) > MAX_NAMED else ""
    words = f"{what} {named} is" if len(never) == 1 else f"{len(never)} {plural(what)} are"
    listed = "" if len(never) == 1 else f": {named}{more}"
    return [RunWarning("never_predicted", f"{words} never predicted{listed}; none of these test examples is found")]


def plural(word: str) -> str:
    return f"{word}es" if word.endswith("s") else f"{word}s"


def class_name(task: Task, label: int) -> str:
    return f'"{task.names[label]}"' if label < len(task.names) else str(label)


def examples_text(there: NDArray[np.int64], label: int) -> str:
    return f"{there[label]:,} test {'example' if there[label] == 1 else 'examples'}"


def trend_warnings(scores: Scores, history: Sequence[EvaluationEvent]) -> list[RunWarning]:
    """Training that still rises, or falls, at its end: over the last third of the evaluations, beyond their noise."""
    task = scores.task
    values = [
        (event.round, value)
        for event in history
        if event.round and (value := event.metrics.get(task.metric)) is not None
    ]
    count = max(MIN_EVALUATIONS, round(len(values) * TREND_SHARE))
    if len(values) < count:
        return []
    last = values[-count:]
    kind = metric_kind(task.metric, task)
    rise, p = trend_p(np.array([value for _, value in last]))
    least = MIN_CHANGE * abs(last[-1][1])
    if kind.unit == "share":
        least = max(MIN_CHANGE, MIN_EXAMPLES / float(scores.examples.sum()))
    if p > ALPHA or abs(rise) < least:
        return []
    better = (rise < 0) if kind.lower_is_better else (rise > 0)
    way = "rises" if rise > 0 else "falls"
    where = f"by {change_text(rise, kind)} from round {last[0][0]} to {last[-1][0]}"
    if better:
        return [RunWarning("still_improving", f"{kind.label} still {way}: {where}; run more rounds")]
    return [
        RunWarning("getting_worse", f"{kind.label} {way} at the end: {where}; run fewer rounds, or a smaller local.lr")
    ]
