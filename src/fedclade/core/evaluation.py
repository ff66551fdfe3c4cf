"""What a client counts and adds up on its test examples, and the metrics of one client's numbers or of many clients'.

All of it adds: the numbers of several clients are the sums of theirs. A reply has the mean loss; the sum of a score of
each example and of its square, of which the main metric is the mean; counts; and sums. By task:

    classification   score: 1 if right. counts: the confusion matrix, row by row, rows are labels; of many classes only
                     (examples, predictions, right ones) of each. sums: of each class the pairs of one example with it
                     and one without that its probability ranks rightly, half a pair where it is the same for both
    regression       score: squared error. sums: absolute error, label, its square, its absolute value, and 1
                     of each example; labels count from the mean of all training labels
    multi-label      score: share of flags that are right. counts: of each flag right and wrong yes, right and wrong no;
                     then the examples of which all flags are right. sums: ranked pairs of each flag, as above
    next-word        score: share of words that are right. sums: right words, words
    reconstruction   score: mean squared error of an example. sums: examples, that error
    own              score: the main metric of the client, as if of each example. sums: metrics times examples
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core.task import MAX_CONFUSION, Task

MAX_LOSS = 700.0  # the exp of more is not a number


@dataclass(frozen=True, eq=False)
class Evaluation:
    """How a model does on some examples."""

    examples: int
    loss: float
    """The mean."""
    score: NDArray[np.float64]
    """(2,): the sum of the scores of all examples, and of their squares."""
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]

    @property
    def mean_score(self) -> float:
        return float(self.score[0]) / self.examples

    @property
    def score_error(self) -> float:
        """The standard error of the mean score, as if examples were drawn anew; NaN of a single one."""
        if self.examples < 2:
            return math.nan
        spread = max(float(self.score[1]) / self.examples - self.mean_score**2, 0.0)
        return math.sqrt(spread / (self.examples - 1))


def add_evaluations(parts: list[Evaluation]) -> Evaluation:
    """The evaluation of the examples of all of these, each by the model that it was made with."""
    examples = sum(part.examples for part in parts)
    return Evaluation(
        examples,
        sum(part.loss * part.examples for part in parts) / max(examples, 1),
        np.sum([part.score for part in parts], axis=0),
        np.sum([part.counts for part in parts], axis=0),
        np.sum([part.sums for part in parts], axis=0),
    )


# -- what a client counts ---------------------------------------------------------------------------------------------


def count_classes(
    task: Task, logits: NDArray[np.floating], labels: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Score, counts and sums of a classification."""
    classes = task.count
    said = logits.argmax(axis=1)
    right = float((said == labels).sum())
    counts, sums = np.zeros(task.count_width, np.int64), np.zeros(task.sum_width)
    if not task.count_width:
        pass
    elif classes <= MAX_CONFUSION:
        inside = said < classes  # a net may have more outputs than there are classes
        counts = np.bincount(labels[inside] * classes + said[inside], minlength=classes**2)
        sums = ranked_pairs(margins(logits[:, :classes]), np.eye(classes, dtype=bool)[labels])
    else:
        rows = (labels, said[said < classes], labels[said == labels])
        counts = np.concatenate([np.bincount(each, minlength=classes) for each in rows])
    return np.array([right, right]), counts.astype(np.int64), sums


def count_flags(
    logits: NDArray[np.floating], flags: NDArray[np.uint8]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Score, counts and sums of several flags: a flag is said where its logit is over 0."""
    said, there = logits > 0, flags.astype(bool)
    share = (said == there).mean(axis=1)
    tables = (said & there, said & ~there, ~said & ~there, ~said & there)
    counts = np.concatenate([*(each.sum(axis=0) for each in tables), [int((share == 1).sum())]])
    return np.array([share.sum(), (share**2).sum()]), counts.astype(np.int64), ranked_pairs(logits, there)


def count_numbers(
    task: Task, outputs: NDArray[np.floating], labels: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Score and sums of a regression, in the label's own unit but for the middle, which is 0."""
    wrong = (outputs.astype(np.float64) - labels) * task.scale
    wanted = labels.astype(np.float64) * task.scale
    squares = wrong**2
    return (
        np.array([squares.sum(), (squares**2).sum()]),
        np.array([np.abs(wrong).sum(), wanted.sum(), (wanted**2).sum(), np.abs(wanted).sum(), float(len(labels))]),
    )


def margins(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """(examples, classes): how much more probable each class is than all others together, as a logarithm."""
    wide = logits.astype(np.float64)
    if wide.shape[1] == 1:
        return wide
    top = wide.max(axis=1, keepdims=True)
    shares = np.exp(wide - top)
    rest = np.maximum(shares.sum(axis=1, keepdims=True) - shares, np.finfo(np.float64).tiny)
    return np.asarray(wide - top - np.log(rest))


def ranked_pairs(scores: NDArray[np.floating], there: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(columns,): pairs of a row that has it and one that has not, the first with the higher score; ties count half."""
    rows, columns = scores.shape
    order = np.argsort(scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0)
    place = np.arange(rows)[:, None]
    begins = np.ones((rows, columns), bool)
    begins[1:] = ranked[1:] != ranked[:-1]
    first = np.maximum.accumulate(np.where(begins, place, 0), axis=0)
    ends = np.ones((rows, columns), bool)
    ends[:-1] = begins[1:]
    last = np.minimum.accumulate(np.where(ends, place, rows)[::-1], axis=0)[::-1]
    own = np.take_along_axis(there, order, axis=0)
    count = there.sum(axis=0)
    # The mean rank of ties, less the pairs of two rows that both have it.
    pairs: NDArray[np.float64] = (np.where(own, (first + last) / 2, 0.0)).sum(axis=0) - count * (count - 1) / 2
    return pairs


# -- the metrics of counts and sums -----------------------------------------------------------------------------------


def metrics_of(task: Task, found: Evaluation, pairs: NDArray[np.float64] | None = None) -> dict[str, float]:
    """Every metric; NaN where it is not defined.

    `pairs`: how many pairs of one example with each class and one without there are, where they are not those of all
    examples together: a pair is always of one client.
    """
    values: dict[str, float] = {}
    if task.kind == "classification":
        values = class_metrics(task, found, pairs)
    elif task.kind == "multi-label":
        values = flag_metrics(task, found, pairs)
    elif task.kind == "regression":
        values = number_metrics(found)
    elif task.kind == "next-word":
        values = {"accuracy": ratio(found.sums[0], found.sums[1]), "perplexity": math.exp(min(found.loss, MAX_LOSS))}
    elif task.kind == "reconstruction":
        values = {"mse": ratio(found.sums[1], found.sums[0])}
    elif task.kind == "own":
        values = {name: ratio(total, found.examples) for name, total in zip(task.metrics, found.sums, strict=True)}
    return {**values, "loss": found.loss}


def class_metrics(task: Task, found: Evaluation, pairs: NDArray[np.float64] | None) -> dict[str, float]:
    """Of a classification. Classes without test examples count in none of the means."""
    values = {"accuracy": found.mean_score, "log_loss": found.loss}
    if not task.count_width:
        return values
    there, said, right = class_counts(task, found.counts)
    known = there > 0
    recall = np.divide(right, there, out=np.zeros(task.count), where=known)
    f1 = np.divide(2 * right, there + said, out=np.zeros(task.count), where=there + said > 0)
    used = there + said > 0
    values |= {"balanced_accuracy": float(recall[known].mean()), "macro_f1": float(f1[used].mean())}
    if task.sum_width:
        values["auc"] = mean_auc(found.sums, there * (found.examples - there) if pairs is None else pairs)
    return values


def class_counts(task: Task, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Of each class: examples that have it, examples of which it is said, and both."""
    if task.count > MAX_CONFUSION:
        there, said, right = counts.reshape(3, task.count)
        return there, said, right
    table = counts.reshape(task.count, task.count)
    return table.sum(axis=1), table.sum(axis=0), table.diagonal()


def flag_metrics(task: Task, found: Evaluation, pairs: NDArray[np.float64] | None) -> dict[str, float]:
    """Of several flags. A flag that nobody has and that is never said counts in no mean."""
    yes, wrong_yes, no, wrong_no = found.counts[:-1].reshape(4, task.count)
    used = yes + wrong_yes + wrong_no > 0
    f1 = np.divide(2 * yes, 2 * yes + wrong_yes + wrong_no, out=np.zeros(task.count), where=used)
    there = yes + wrong_no
    return {
        "accuracy": found.mean_score,
        "macro_f1": float(f1[used].mean()) if used.any() else math.nan,
        "exact_match": float(found.counts[-1]) / found.examples,
        "auc": mean_auc(found.sums, there * (yes + wrong_yes + no + wrong_no - there) if pairs is None else pairs),
        "log_loss": found.loss,
    }


def mean_auc(ranked: NDArray[np.float64], pairs: NDArray[np.float64] | NDArray[np.int64]) -> float:
    """The mean over classes, or flags, of the share of pairs that are ranked rightly."""
    known = pairs > 0
    return float((ranked[known] / pairs[known]).mean()) if known.any() else math.nan


def number_metrics(found: Evaluation) -> dict[str, float]:
    """Of a regression."""
    absolute, total, square, _, count = found.sums
    spread = square - total**2 / count
    return {
        "rmse": math.sqrt(found.mean_score),
        "mae": float(absolute / count),
        "r2": float(1 - found.score[0] / spread) if spread > 0 else math.nan,
    }


def pairs_of(task: Task, found: Evaluation) -> NDArray[np.float64]:
    """(classes or flags,): the pairs of one client's examples, one with each and one without."""
    if not task.sum_width or task.kind not in ("classification", "multi-label"):
        return np.zeros(0)
    if task.kind == "classification":
        there = class_counts(task, found.counts)[0]
    else:
        yes, _, _, wrong_no = found.counts[:-1].reshape(4, task.count)
        there = yes + wrong_no
    return np.asarray(there * (found.examples - there), np.float64)


def main_metric(task: Task, found: Evaluation) -> tuple[float, float]:
    """The main metric of one client, and its standard error; NaN where it is not known."""
    if task.kind == "regression":  # of a root: the error of the mean over twice the root
        root = math.sqrt(found.mean_score)
        return root, found.score_error / (2 * root) if root else math.nan
    if task.kind == "own":
        return (ratio(found.sums[0], found.examples), math.nan) if task.metrics else (found.loss, math.nan)
    return metrics_of(task, found)[task.metric], found.score_error


def ratio(part: float, whole: float) -> float:
    return float(part) / float(whole) if whole else math.nan


# -- a model that always says the same --------------------------------------------------------------------------------


def baseline_metrics(task: Task, parts: list[Evaluation]) -> dict[str, float]:
    """The metrics of an answer that is always the same: the most frequent class, each flag's majority, the mean label.

    The mean is that of the training labels; what is most frequent, that of the test examples of all clients together,
    since nobody is asked for the training labels; log loss is that of their shares.
    """
    if not parts:
        return {}
    whole = add_evaluations(parts)
    if task.kind == "regression":
        _, total, square, absolute, count = whole.sums
        spread = square - total**2 / count
        r2 = 1 - float(square / spread) if spread > 0 else math.nan
        return {"rmse": math.sqrt(square / count), "mae": float(absolute / count), "r2": r2}
    if task.kind == "multi-label":
        return flag_baseline(task, parts)
    if task.kind != "classification" or not task.count_width:
        return {}
    there = class_counts(task, whole.counts)[0]
    most, known = int(there.argmax()), there[there > 0] / whole.examples
    return {
        "accuracy": float(baseline_by_client(task, parts).mean()),
        "balanced_accuracy": 1 / len(known),
        "macro_f1": 2 * float(there[most]) / float(there[most] + whole.examples) / len(known),
        "auc": 0.5,
        "log_loss": float(-(known * np.log(known)).sum()),
    }


def baseline_by_client(task: Task, parts: list[Evaluation]) -> NDArray[np.float64]:
    """(clients,): the main metric of each client with this answer; none where it is not known."""
    if not parts:
        return np.zeros(0)
    whole = add_evaluations(parts)
    if task.kind == "regression":
        return np.sqrt([square / count for _, _, square, _, count in (part.sums for part in parts)])
    if task.kind == "multi-label":
        often = flag_shares(task, whole) > 0.5
        return np.array(
            [np.where(often, share, 1 - share).mean() for share in (flag_shares(task, each) for each in parts)]
        )
    if task.kind != "classification" or not task.count_width:
        return np.zeros(0)
    most = int(class_counts(task, whole.counts)[0].argmax())
    return np.array([float(class_counts(task, part.counts)[0][most]) / part.examples for part in parts])


def flag_shares(task: Task, found: Evaluation) -> NDArray[np.float64]:
    """(flags,): the share of examples that have each."""
    yes, _, _, wrong_no = found.counts[:-1].reshape(4, task.count)
    return np.asarray((yes + wrong_no) / found.examples)


def flag_baseline(task: Task, parts: list[Evaluation]) -> dict[str, float]:
    """Of several flags: each one's majority."""
    share = flag_shares(task, add_evaluations(parts))
    said = share > 0.5
    f1 = np.where(said, 2 * share / (share + 1), 0.0)
    used = share > 0
    safe = np.clip(share, 1e-12, 1 - 1e-12)
    return {
        "accuracy": float(baseline_by_client(task, parts).mean()),
        "macro_f1": float(f1[used].mean()) if used.any() else math.nan,
        "auc": 0.5,
        "log_loss": float(-(safe * np.log(safe) + (1 - safe) * np.log(1 - safe)).mean()),
    }
