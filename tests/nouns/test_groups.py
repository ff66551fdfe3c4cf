"""Groups are disjoint and covering, and equal when they are the same partition."""

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.nouns import Groups, InputError

labellings = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 3), min_size=1, max_size=10)


def test_members_and_groups_are_kept_in_sorted_order() -> None:
    groups = Groups((("d", "b"), ("c", "a")))
    assert groups.members == (("a", "c"), ("b", "d"))
    assert groups.clients == ("a", "b", "c", "d")
    assert groups.labels == {"a": 0, "c": 0, "b": 1, "d": 1}
    assert len(groups) == 2


@given(labellings, st.randoms(use_true_random=False))
def test_the_same_partition_is_the_same_object(labels: dict[str, int], chance: random.Random) -> None:
    """Neither the order of the clients nor the names of the labels matter."""
    shuffled = list(labels.items())
    chance.shuffle(shuffled)
    renamed = {client: f"group {9 - label}" for client, label in shuffled}
    assert Groups.from_labels(labels) == Groups.from_labels(renamed)
    assert hash(Groups.from_labels(labels)) == hash(Groups.from_labels(renamed))


@given(labellings)
def test_labels_put_together_what_shares_one(labels: dict[str, int]) -> None:
    found = Groups.from_labels(labels).labels
    assert found.keys() == labels.keys()
    for one in labels:
        for other in labels:
            assert (found[one] == found[other]) == (labels[one] == labels[other])


@given(labellings)
def test_labels_of_groups_give_the_groups_back(labels: dict[str, int]) -> None:
    groups = Groups.from_labels(labels)
    assert Groups.from_labels(groups.labels) == groups


def test_other_partitions_of_the_same_clients_differ() -> None:
    assert Groups((("a", "b"), ("c",))) != Groups((("a",), ("b", "c")))
    assert Groups((("a", "b"),)) != Groups((("a",), ("b",)))


def test_a_client_in_two_groups_is_refused_by_name() -> None:
    with pytest.raises(InputError, match='client "a3" is in groups 0 and 1: need groups must be disjoint'):
        Groups((("a1", "a3"), ("a3", "a4")))


def test_a_client_twice_in_one_group_is_refused() -> None:
    with pytest.raises(InputError, match='client "a"'):
        Groups((("a", "a"), ("b",)))


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(InputError, match="a group is empty"):
        Groups((("a",), ()))


def test_groups_of_exactly_these_clients_cover_them() -> None:
    groups = Groups((("a", "b"), ("c",)))
    assert groups.covering(["c", "a", "b"]) is groups


@pytest.mark.parametrize(
    ("clients", "got"),
    [
        ("abcd", "without a group ['d'], unknown []"),
        ("ab", "without a group [], unknown ['c']"),
        ("abx", "without a group ['x'], unknown ['c']"),
        ("abcstuvw", "without a group ['s', 't', 'u'], unknown []"),
    ],
)
def test_groups_that_do_not_cover_say_who_is_missing(clients: str, got: str) -> None:
    """At most three of each are named."""
    with pytest.raises(InputError, match="do not cover") as caught:
        Groups((("a", "b"), ("c",))).covering(clients)
    assert caught.value.got == got


def test_groups_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Groups((("a",),)).members = ()  # type: ignore[misc]  # that it cannot be assigned is what is tested
