"""What every world promises, and what each one does, seen in the examples themselves and not in positions.

Example k of the source is the image [[9k, 9k+1, 9k+2], [9k+3, ...], ...], so its smallest pixel tells which it is,
however it is turned; its label is k mod 5.
"""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.data import WORLDS, Federation, Part, Pool, Source
from fedclade.nouns import InputError
from fedclade.nouns.settings import made_from

EXAMPLES, CLASSES = 803, 5
IMAGES: NDArray[np.float32] = np.arange(EXAMPLES * 9, dtype=np.float32).reshape(EXAMPLES, 1, 3, 3)
SOURCE = Source("small", Pool(IMAGES, np.arange(EXAMPLES) % CLASSES), CLASSES)
GROUPED = [name for name in WORLDS if name != "iid"]

crowds = st.integers(1, 12).flatmap(lambda clients: st.tuples(st.just(clients), st.integers(1, min(clients, 4))))
seeds = st.integers(0, 2**32)
modest = settings(max_examples=15, deadline=None)


def spread(world: str, clients: int, groups: int, seed: int = 0, source: Source = SOURCE) -> Federation:
    wanted = {"clients": clients} if world == "iid" else {"clients": clients, "groups": groups}
    return made_from(WORLDS[world], wanted, where="data").spread(source, seed)


def which(part: Part) -> list[int]:
    """The numbers of the examples in this part."""
    return [int(smallest) // 9 for smallest in part.inputs.min(axis=(1, 2, 3))]


def parts(federation: Federation, client: str) -> tuple[Part, Part]:
    return federation[client].train, federation[client].test


def together(federation: Federation) -> list[tuple[str, ...]]:
    assert federation.truth is not None
    return list(federation.truth.members)


@pytest.mark.parametrize("world", WORLDS)
@given(crowd=crowds, seed=seeds)
@modest
def test_no_example_stands_in_two_places(world: str, crowd: tuple[int, int], seed: int) -> None:
    """Neither with two clients nor in train and test; all are used, but for what `classes` cannot share equally."""
    federation = spread(world, *crowd, seed)
    used = Counter(
        number for client in federation.clients for part in parts(federation, client) for number in which(part)
    )
    assert set(used.values()) == {1}
    assert set(used) <= set(range(EXAMPLES))
    sizes = [sum(len(part) for part in parts(federation, client)) for client in federation.clients]
    assert world == "classes" or (len(used) == EXAMPLES and max(sizes) - min(sizes) <= 1)
    for client, size in zip(federation.clients, sizes, strict=True):
        assert abs(len(federation[client].test) - 0.2 * size) <= 0.5


@pytest.mark.parametrize("world", WORLDS)
@given(crowd=crowds, seed=seeds)
@modest
def test_the_seed_decides(world: str, crowd: tuple[int, int], seed: int) -> None:
    one = spread(world, *crowd, seed)
    assert one.fingerprint == spread(world, *crowd, seed).fingerprint
    assert one.truth == spread(world, *crowd, seed).truth
    assert one.fingerprint != spread(world, *crowd, seed + 1).fingerprint


@pytest.mark.parametrize("world", WORLDS)
@given(crowd=crowds, seed=seeds)
@modest
def test_groups_are_as_many_and_as_large_as_asked(world: str, crowd: tuple[int, int], seed: int) -> None:
    federation = spread(world, *crowd, seed)
    sizes = [len(group) for group in together(federation)]
    assert (sum(sizes), len(sizes)) == (crowd[0], 1 if world == "iid" else crowd[1])
    assert max(sizes) - min(sizes) <= 1
    assert len(federation) == crowd[0]


@pytest.mark.parametrize("world", GROUPED)
def test_names_tell_nothing_of_groups(world: str) -> None:
    """Another seed plants other groups over the same names: 12 in 4 groups of 3 can be planted in 15,400 ways."""
    assert len({spread(world, 12, 4, seed).truth for seed in range(5)}) > 1


@given(crowd=crowds, seed=seeds)
@modest
def test_classes_gives_each_group_its_own_classes_in_equal_shares(crowd: tuple[int, int], seed: int) -> None:
    federation = spread("classes", *crowd, seed)
    of_group = []
    for group in together(federation):
        counts = [Counter(n % CLASSES for part in parts(federation, client) for n in which(part)) for client in group]
        labels = [Counter(int(y) for part in parts(federation, client) for y in part.labels) for client in group]
        assert labels == counts, "labels are the source's own"
        # classes 0, 1, 2 have 161 examples, 3 and 4 have 160
        assert all(count == {c: (161 if c < 3 else 160) // len(group) for c in count} for count in counts)
        assert len({frozenset(count) for count in counts}) == 1
        of_group.append(set(counts[0]))
    assert sorted(c for classes in of_group for c in classes) == [0, 1, 2, 3, 4]
    assert max(map(len, of_group)) - min(map(len, of_group)) <= 1


@given(crowd=crowds, seed=seeds)
@modest
def test_label_permutation_renames_train_and_test_alike_and_each_group_otherwise(
    crowd: tuple[int, int], seed: int
) -> None:
    federation = spread("label-permutation", *crowd, seed)
    namings = []
    for group in together(federation):
        seen = [part for client in group for part in parts(federation, client)]
        pairs = {(n % CLASSES, int(y)) for part in seen for n, y in zip(which(part), part.labels, strict=True)}
        assert sorted(true for true, _ in pairs) == [0, 1, 2, 3, 4], "each class has one name"
        assert sorted(name for _, name in pairs) == [0, 1, 2, 3, 4], "no name is of two classes"
        namings.append(pairs)
    assert all(one != other for one, other in combinations(namings, 2))


@given(crowd=crowds, seed=seeds)
@modest
def test_rotation_turns_each_group_by_a_quarter_of_its_own(crowd: tuple[int, int], seed: int) -> None:
    federation = spread("rotation", *crowd, seed)
    turns = []
    for group in together(federation):
        seen = [part for client in group for part in parts(federation, client)]
        fits = [
            all(np.array_equal(part.inputs, np.rot90(IMAGES[which(part)], g, axes=(2, 3))) for part in seen)
            for g in range(4)
        ]
        assert sum(fits) == 1
        turns.append(fits.index(True))
        assert all(part.labels.tolist() == [n % CLASSES for n in which(part)] for part in seen)
    assert sorted(turns) == list(range(crowd[1]))


def test_groups_that_the_source_cannot_tell_apart_are_refused() -> None:
    """Two classes can be named in two ways; only squares fit on themselves when turned."""
    binary = Source("binary", Pool(IMAGES, np.arange(EXAMPLES) % 2), 2)
    assert len(together(spread("label-permutation", 12, 2, source=binary))) == 2
    with pytest.raises(InputError, match="more groups than ways to name the classes"):
        spread("label-permutation", 12, 3, source=binary)
    for shape in ((EXAMPLES, 1, 1, 9), (EXAMPLES, 9)):
        with pytest.raises(InputError, match="only square images"):
            spread(
                "rotation", 12, 2, source=Source("oblong", Pool(IMAGES.reshape(shape), SOURCE.train.labels), CLASSES)
            )
