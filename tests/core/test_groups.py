"""Groups are disjoint and covering, and equal when they are the same partition."""

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedclade.core import Groups, InputError

labellings = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 3), min_size=1, max_size=10)


def test_members_and_groups_are_kept_in_sorted_order() -> None:
    groups = Groups((("d", "b"), ("c", "a")))
    assert groups.members == (("a", "c"), ("b", "d"))
    assert (groups.clients, groups.labels) == (("a", "b", "c", "d"), {"a": 0, "c": 0, "b": 1, "d": 1})
    assert len(groups) == 2


@given(labellings, st.randoms(use_true_random=False))
def test_the_same_partition_is_the_same_object(labels: dict[str, int], rng: random.Random) -> None:
    """Neither the order of the clients nor the names of the labels matter."""
    shuffled = list(labels.items())
    rng.shuffle(shuffled)
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
    assert Groups.from_labels(found) == Groups.from_labels(labels)


def test_other_partitions_of_the_same_clients_differ() -> None:
    assert Groups((("a", "b"), ("c",))) != Groups((("a",), ("b", "c")))
    assert Groups((("a", "b"),)) != Groups((("a",), ("b",)))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ((("a1", "a3"), ("a3", "a4")), 'client "a3" is in groups 0 and 1: need groups must be disjoint'),
        ((("a", "a"), ("b",)), 'client "a" is in group 0 twice'),
        ((("a",), ()), "a group is empty"),
    ],
)
def test_groups_that_are_not_disjoint_are_refused(members: tuple[tuple[str, ...], ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Groups(members)


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
    groups = Groups((("a", "b"), ("c",)))
    assert groups.check_clients("cab") is groups
    with pytest.raises(InputError, match="do not cover") as caught:
        groups.check_clients(clients)
    assert caught.value.got == got


def test_groups_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Groups((("a",),)).members = ()  # type: ignore[misc]  # that it cannot be assigned is what is tested
