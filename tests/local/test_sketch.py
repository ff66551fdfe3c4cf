"""A sketch is a few points that stand for all examples, the same ones every time."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from fedclade.data import Part, Pool
from fedclade.local import one_thread
from fedclade.local.sketch import sketch
from fedclade.nouns import InputError, Round

NOW = Round(0, 0)
tables = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=15)


def part(inputs: ArrayLike) -> Part:
    made = np.array(inputs, np.float32)
    return Part(Pool(made, np.zeros(len(made), np.int64)), np.arange(len(made)))


@given(tables, st.integers(1, 8))
@settings(max_examples=25, deadline=None)
def test_points_are_few_and_counts_are_whole(table: list[tuple[int, int]], wanted: int) -> None:
    points, counts = sketch(part(table), "pixels", wanted, NOW, "a")
    assert points.shape == (min(wanted, len(set(table))), 2)
    assert points.dtype == np.float32
    assert counts.shape == points.shape[:1]
    assert counts.sum() == len(table)
    assert counts.min() >= 1


@given(tables)
@settings(max_examples=15, deadline=None)
def test_as_many_points_as_distinct_examples_are_the_examples(table: list[tuple[int, int]]) -> None:
    points, counts = sketch(part(table), "pixels", 100, NOW, "a")
    assert np.abs(points - points.round()).max() < 1e-5, "whole numbers, as the examples are"
    found = {(int(x), int(y)): int(count) for (x, y), count in zip(points.round(), counts, strict=True)}
    assert found == Counter(table)


def test_far_heaps_are_found_with_their_middles() -> None:
    """By hand: (0, 0) and (2, 0) have the middle (1, 0); three around (100, 100) have it for theirs."""
    points, counts = sketch(part([[100, 99], [0, 0], [100, 100], [2, 0], [100, 101]]), "pixels", 2, NOW, "a")
    np.testing.assert_allclose(points, [[100, 100], [1, 0]], rtol=0, atol=1e-4)
    assert counts.tolist() == [3, 2]


def test_images_are_flattened() -> None:
    points, _ = sketch(part(np.arange(16).reshape(2, 2, 2, 2)), "pixels", 2, NOW, "a")
    np.testing.assert_allclose(points, [np.arange(8), np.arange(8, 16)], rtol=0, atol=1e-5)


def test_a_sketch_is_a_function_of_seed_round_and_client() -> None:
    """In a cloud without heaps the start of k-means decides: the same one gives the same, others give others."""
    cloud = part(np.random.default_rng(0).uniform(size=(60, 3)))
    with one_thread():
        one, again = (sketch(cloud, "pixels", 5, NOW, "a") for _ in range(2))
        others = [sketch(cloud, "pixels", 5, NOW, client)[0] for client in "bcdef"]
    assert one[0].tolist() == again[0].tolist()
    assert one[1].tolist() == again[1].tolist()
    assert any(other.tolist() != one[0].tolist() for other in others)


def test_examples_that_hardly_differ_give_no_empty_points() -> None:
    _, counts = sketch(part([[1e8, 0.0], [1e8 + 8, 0.0], [0.0, 0.0]]), "pixels", 3, NOW, "a")
    assert counts.min() >= 1


def test_an_unknown_encoder_is_refused() -> None:
    with pytest.raises(InputError, match=r'the encoder is not known.*did you mean "pixels"'):
        sketch(part([[1, 2]]), "pixel", 2, NOW, "a")
