"""A sketch is a few points that stand for all examples, the same ones every time."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from fedclade.client import one_thread
from fedclade.client.sketch import sketch
from fedclade.core import Round

NOW = Round(0, 0)
tables = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=15)


def sketched(examples: ArrayLike, points: int, client: str = "a") -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    return sketch(np.array(examples, np.float32), points, NOW.generator("sketch", client))


@given(tables, st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_points_are_few_and_counts_are_whole(table: list[tuple[int, int]], wanted: int) -> None:
    points, counts = sketched(table, wanted)
    assert points.shape == (min(wanted, len(set(table))), 2)
    assert points.dtype == np.float32
    assert counts.shape == points.shape[:1]
    assert counts.sum() == len(table)
    assert counts.min() >= 1


@given(tables)
@settings(max_examples=15, deadline=None)
def test_as_many_points_as_distinct_examples_are_the_examples(table: list[tuple[int, int]]) -> None:
    points, counts = sketched(table, 100)
    assert np.abs(points - points.round()).max() < 1e-5, "whole numbers, as the examples are"
    found = {(int(x), int(y)): int(count) for (x, y), count in zip(points.round(), counts, strict=True)}
    assert found == Counter(table)


def test_far_heaps_are_found_with_their_middles() -> None:
    """By hand: (0, 0) and (2, 0) have the middle (1, 0); three around (100, 100) have it for theirs."""
    points, counts = sketched([[100, 99], [0, 0], [100, 100], [2, 0], [100, 101]], 2)
    np.testing.assert_allclose(points, [[100, 100], [1, 0]], rtol=0, atol=1e-4)
    assert counts.tolist() == [3, 2]


def test_a_sketch_is_a_function_of_seed_round_and_client() -> None:
    """In a cloud without heaps the start of k-means decides: the same one gives the same, others give others."""
    cloud = np.random.default_rng(0).uniform(size=(60, 3))
    with one_thread():
        one, again = (sketched(cloud, 5) for _ in range(2))
        others = [sketched(cloud, 5, client)[0] for client in "bcdef"]
    assert one[0].tolist() == again[0].tolist()
    assert one[1].tolist() == again[1].tolist()
    assert any(other.tolist() != one[0].tolist() for other in others)


def test_examples_that_hardly_differ_give_no_empty_points() -> None:
    _, counts = sketched([[1e8, 0.0], [1e8 + 8, 0.0], [0.0, 0.0]], 3)
    assert counts.min() >= 1
