"""The metrics that every run reports, by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.core import Groups
from fedclade.core.task import MAX_CLASSES_COUNTED, Task
from fedclade.fleet import Scores
from fedclade.runs.metrics import FinalMetrics, Separation, harmed_clients, mean_by_group, rand_index, summary


def scores_of(right: Sequence[int], examples: Sequence[int], losses: Sequence[float]) -> Scores:
    """Scores of clients c00, c01, ..., who get so many of their examples right; nothing else is counted."""
    score = np.repeat(np.array(right, np.float64)[:, None], 2, axis=1)
    names = tuple(f"c{number:02d}" for number in range(len(right)))
    nothing = np.zeros((len(right), 0))
    task = Task(count=MAX_CLASSES_COUNTED + 1)
    return Scores(task, names, np.array(examples), np.array(losses), score, nothing.astype(np.int64), nothing)


SCORES = scores_of([5, 9, 1], [10, 10, 4], [0.5, 0.25, 1.5])


def test_one_evaluation_by_hand() -> None:
    found = summary(SCORES)  # accuracies 0.5, 0.9, 0.25
    assert found["accuracy"] == pytest.approx(1.65 / 3)
    assert found["accuracy_weighted"] == pytest.approx(15 / 24)
    # percent: 50, 90, 25; mean 55; deviations -5, 35, -30: (25 + 1225 + 900) / 3
    assert found["accuracy_variance"] == pytest.approx(2150 / 3)
    assert found["worst_tenth"] == pytest.approx(0.25)  # a tenth of three clients is one client
    assert found["loss"] == pytest.approx(0.75)
    assert found["perplexity"] == pytest.approx(2.117, abs=1e-3)  # e to the power of 0.75
    lost = summary(scores_of([0], [10], [1e6]))["perplexity"]
    assert isinstance(lost, float)
    assert np.isfinite(lost)
    scores = scores_of(range(25), [100] * 25, [0.0] * 25)  # a tenth of 25 clients are three
    assert summary(scores)["worst_tenth"] == pytest.approx((0.00 + 0.01 + 0.02) / 3)


def test_means_of_groups() -> None:
    groups = Groups((("a", "b"), ("c",), ("d",)))
    assert mean_by_group({"a": 0.5, "b": 0.9, "c": 0.25}, groups) == [pytest.approx(0.7), 0.25, None]


def final_of(right: Sequence[int], examples: Sequence[int], names: str = "abcdefgh") -> FinalMetrics:
    counts = np.array(examples)
    values = np.array(right) / counts
    return FinalMetrics(
        "classification", False, tuple(names[: len(right)]), values, np.full(len(right), np.nan), counts
    )


def test_harmed_clients_do_worse_than_with_one_of_the_others_beyond_noise() -> None:
    """Of 20 examples 5 right against 18: by Fisher's test less than 1 in 20,000; 15 against 18: 1 in 4."""
    mine = final_of([5, 15, 10], [20, 20, 20])
    local, fedavg = final_of([18, 18, 10], [20, 20, 20]), final_of([5, 5, 20], [20, 20, 20])
    assert harmed_clients(mine, [local]) == ("a",)
    assert harmed_clients(mine, [local, fedavg]) == ("a", "c")
    assert harmed_clients(mine, [final_of([1], [1], "z")]) == ()
    assert harmed_clients(mine, [final_of([18], [19])]) == ()  # not the same examples
    assert harmed_clients(mine, []) == ()


def test_harmed_clients_of_a_regression_do_worse_by_several_standard_errors() -> None:
    def final(values: Sequence[float], errors: Sequence[float]) -> FinalMetrics:
        clients, examples = ("a", "b", "c"), np.array([50] * 3)
        return FinalMetrics("regression", True, clients, np.array(values), np.array(errors), examples)

    local = final([1.0, 1.0, 1.0], [0.1, 0.1, np.nan])
    assert harmed_clients(final([2.0, 1.2, 9.0], [0.1, 0.1, 0.1]), [local]) == ("a",)
    assert harmed_clients(final([0.1, 0.1, 0.1], [0.1, 0.1, 0.1]), [local]) == ()


def test_of_a_method_against_itself_nobody_is_harmed() -> None:
    """300 clients with 12 examples each, and two methods that are right by chance alone, two hundred times."""
    rng = np.random.default_rng(0)
    counts: list[int] = []
    for _ in range(200):
        skill = rng.uniform(0.3, 1.0, 300)
        mine, local, fedavg = (final_of_many(rng.binomial(12, skill)) for _ in range(3))
        counts.append(len(harmed_clients(mine, [local, fedavg])))
    assert np.mean(np.array(counts) > 0) <= 0.05
    assert np.mean(counts) <= 0.1


def final_of_many(right: NDArray[np.int64]) -> FinalMetrics:
    names = tuple(f"c{number:03d}" for number in range(len(right)))
    errors = np.full(len(right), np.nan)
    return FinalMetrics("classification", False, names, right / 12, errors, np.full(len(right), 12))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_the_rand_index_is_scikit_learns(labels: list[tuple[int, int]]) -> None:
    from sklearn.metrics import adjusted_rand_score

    truth = Groups.from_labels({f"c{number:02}": one for number, (one, _) in enumerate(labels)})
    found = Groups.from_labels({f"c{number:02}": other for number, (_, other) in enumerate(labels)})
    wanted = adjusted_rand_score(*zip(*labels, strict=True))
    assert rand_index(found, truth) == pytest.approx(wanted, abs=1e-12)


def test_gaps_are_told_where_the_truth_is_known() -> None:
    """Two alike clients of one group, and one that is unlike both: 0.5 inside, 0 across."""
    values = np.array([[1, 0.5, 0], [0.5, 1, -1], [0, -1, 1]], np.float32)
    for truth, gap in ((Groups((("a", "b"), ("c",))), 0.5), (None, None)):
        separation = Separation(truth)
        assert separation.gaps == []
        separation(("a", "b", "c"), values)
        separation(("c",), values[2:, 2:])  # nobody to be told apart
        assert separation.gaps == [gap, None]
