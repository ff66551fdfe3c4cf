"""Participants from scores and groups: near the mean of all, as different as can be, nobody starved."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.methods.abc.balance import CLOSE, SLACK, by_groups, by_scores, least_used, participants_per_group

KINDS = ("normal", "uniform", "two heaps", "heavy tails", "equal")


def scores_of(kind: str, count: int, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    drawn = {
        "normal": rng.normal(size=count),
        "uniform": rng.random(count),
        "two heaps": (rng.random(count) < 0.3) * 5 + 0.1 * rng.normal(size=count),
        "heavy tails": rng.standard_cauchy(count),
        "equal": np.ones(count),
    }[kind]
    return {f"c{number:04}": float(score) for number, score in enumerate(drawn)}


@given(st.sampled_from(KINDS), st.integers(1, 1000), st.floats(0, 1), st.integers(0, 2**16))
def test_chosen_are_near_the_mean_and_nobody_is_starved(kind: str, clients: int, share: float, seed: int) -> None:
    """Over many rounds: the bound that strata alone give, and at most SLACK + 1 rounds between any two clients."""
    count = max(1, min(round(share * clients), 100))
    scores, rng = scores_of(kind, clients, seed), np.random.default_rng(seed)
    every = np.array(list(scores.values()))
    bound = np.ptp(every) * (1 / count + count / (4 * clients)) + 1e-9 * np.abs(every).max()
    used = Counter(dict.fromkeys(scores, 0))
    for _ in range(12):
        chosen = by_scores(scores, used, count, rng)
        assert len(set(chosen)) == len(chosen) == count
        assert abs(np.mean([scores[client] for client in chosen]) - every.mean()) <= bound
        used.update(chosen)
        assert max(used.values()) - min(used.values()) <= SLACK + 1


@pytest.mark.parametrize(("clients", "count"), [(50, 10), (200, 20), (1000, 100)])
@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_swaps_bring_the_mean_to_where_it_belongs(kind: str, clients: int, count: int) -> None:
    scores, rng = scores_of(kind, clients, 1), np.random.default_rng(0)
    every = np.array(list(scores.values()))
    used = Counter(dict.fromkeys(scores, 0))
    off: list[float] = []
    for _ in range(5 * clients // count):
        chosen = by_scores(scores, used, count, rng)
        off.append(abs(float(np.mean([scores[client] for client in chosen]) - every.mean())))
        used.update(chosen)
    assert np.median(off) <= CLOSE * every.std()
    assert np.quantile(off, 0.95) <= 2 * CLOSE * every.std()
    assert max(used.values()) - min(used.values()) <= 2


def test_chosen_are_different_from_each_other() -> None:
    """Of ten scores in order, two come from the two halves, five from every pair of neighbours."""
    scores = {f"c{number}": float(number) for number in range(10)}
    for seed in range(20):
        low, high = by_scores(scores, {}, 2, np.random.default_rng(seed))
        assert scores[low] < 5 <= scores[high]
        five = by_scores(scores, {}, 5, np.random.default_rng(seed))
        assert [int(scores[client]) // 2 for client in five] == [0, 1, 2, 3, 4]


def test_two_are_as_far_below_the_mean_as_above() -> None:
    """Scores 0, 1, 2, 7, 8, 9 have mean 4.5: a swap makes the sum 9, whoever was drawn first."""
    scores = dict(zip("abcdef", (0.0, 1.0, 2.0, 7.0, 8.0, 9.0), strict=True))
    pairs = {by_scores(scores, {}, 2, np.random.default_rng(seed)) for seed in range(50)}
    assert pairs == {("a", "f"), ("b", "e"), ("c", "d")}


def test_one_is_the_least_used_that_is_nearest_to_the_mean() -> None:
    scores = dict(zip("abcd", (0.0, 1.0, 2.0, 10.0), strict=True))  # their mean is 3.25
    assert by_scores(scores, {}, 1, np.random.default_rng(0)) == ("c",)
    assert by_scores(scores, {"c": 1}, 1, np.random.default_rng(0)) == ("b",)
    assert by_scores(scores, {"a": 1, "b": 1, "c": 1}, 1, np.random.default_rng(0)) == ("d",)


def test_equal_scores_are_fair_sampling() -> None:
    """Each pair of six clients is as likely as another: 15 pairs in 3,000 draws, by chi-square."""
    scores = dict.fromkeys("abcdef", 1.0)
    rng = np.random.default_rng(0)
    pairs = Counter(by_scores(scores, {}, 2, rng) for _ in range(3000))
    assert len(pairs) == 15
    assert sum((times - 200) ** 2 / 200 for times in pairs.values()) < 36.1  # 14 degrees of freedom, one in a thousand


def test_who_is_far_ahead_waits() -> None:
    scores = {f"c{number}": float(number) for number in range(6)}
    used = dict.fromkeys(("c0", "c5"), SLACK + 1)
    for seed in range(20):
        assert not {"c0", "c5"} & set(by_scores(scores, used, 2, np.random.default_rng(seed)))
    assert len(by_scores(scores, used, 5, np.random.default_rng(0))) == 5  # without enough others, they go on
    assert by_scores(scores, used, 9, np.random.default_rng(0)) == tuple(sorted(scores))
    assert by_scores({}, {}, 3, np.random.default_rng(0)) == ()


def test_groups_take_part_by_their_size() -> None:
    """Twelve clients in groups of 8, 3 and 1: of 24 turns 16, 6 and 2, two for everybody."""
    group = {f"c{number:02}": 0 if number < 8 else 1 if number < 11 else 2 for number in range(12)}
    used = Counter(dict.fromkeys(group, 0))
    rng = np.random.default_rng(3)
    for _ in range(8):
        used.update(by_groups(group, used, 3, rng))
    assert set(used.values()) == {2}


def test_two_groups_of_one_size_are_both_in_every_round() -> None:
    group = {f"c{number}": number % 2 for number in range(10)}
    used = Counter(dict.fromkeys(group, 0))
    for seed in range(20):
        chosen = by_groups(group, used, 2, np.random.default_rng(seed))
        assert sorted(group[client] for client in chosen) == [0, 1]
        used.update(chosen)
        assert max(used.values()) - min(used.values()) <= 1


def test_what_a_group_cannot_give_others_do() -> None:
    members = [["a"], ["b", "c", "d"]]
    assert participants_per_group(members, {"b": 9}, 4, np.random.default_rng(0)) == [1, 3]
    assert participants_per_group(members, {"a": 9}, 2, np.random.default_rng(0)) == [0, 2]
    assert least_used(["b", "c", "d"], {"b": 1, "d": 2}, 2, np.random.default_rng(0)) == ["c", "b"]
