"""Which found group stands for which planted one, and how far two partitions agree: by hand."""

from itertools import permutations

import numpy as np
import pytest

from fedclade.nouns import Groups
from fedclade.relate.agreement import adjusted_rand, matched_groups, misplaced


def test_the_rand_index_by_hand() -> None:
    """One pair of four clients together in both, of two and three pairs, of six: (1 - 1) / (2.5 - 1) = 0."""
    assert adjusted_rand({"a": 0, "b": 0, "c": 1, "d": 1}, {"a": 0, "b": 1, "c": 1, "d": 1}) == pytest.approx(0)
    assert adjusted_rand({"a": 5, "b": 5, "c": 1}, {"c": 0, "b": 2, "a": 2, "z": 2}) == 1  # over those in both


def test_groups_are_matched_by_who_is_in_them() -> None:
    """Found 0 shares two clients with planted 1 and one with 0; found 1 shares one with 1: 0 is 1, and 1 is nobody."""
    found = Groups((("a", "b", "c"), ("d",)))
    planted = Groups((("a",), ("b", "c", "d")))
    assert matched_groups(found, planted) == {0: 1}
    assert misplaced(found, planted) == ("a", "d")


def test_the_greedy_choice_is_not_the_best() -> None:
    """Shared clients [[3, 2], [3, 0]]: 3 first leaves 0; 2 and 3 are right."""
    found = Groups((("a1", "a2", "a3", "b1", "b2"), ("a4", "a5", "a6")))
    planted = Groups((("a1", "a2", "a3", "a4", "a5", "a6"), ("b1", "b2")))
    assert matched_groups(found, planted) == {0: 1, 1: 0}
    assert misplaced(found, planted) == ("a1", "a2", "a3")


def test_nobody_can_match_more() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        found, planted = (
            Groups.from_labels({f"c{number}": int(label) for number, label in enumerate(rng.integers(4, size=15))})
            for _ in range(2)
        )
        best = max(
            sum(planted.labels[client] == turn[number] for client, number in found.labels.items())
            for turn in permutations(range(4))
        )
        assert 15 - len(misplaced(found, planted)) == best
