"""What every world promises, and what each one does, seen in the examples themselves and not in positions.

Example k of the source is the image [[9k, 9k+1, 9k+2], [9k+3, ...], ...], so its smallest pixel tells which it is,
however it is turned; its label is k mod 10, its writer k mod 7. Official test examples are numbered from 2000 on.
"""

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.core.settings import build_settings
from fedclade.data import WORLDS, Federation, Part, Pool, Source
from fedclade_papers.worlds.structured import power_law
from refusals import check_refused

EXAMPLES, CLASSES, TESTS = 1203, 10, 150


def images(first: int, count: int) -> NDArray[np.float32]:
    return np.arange(9 * first, 9 * (first + count), dtype=np.float32).reshape(count, 1, 3, 3)


def pool(first: int, count: int) -> Pool:
    return Pool(images(first, count), np.arange(count) % CLASSES, np.arange(count) % 7)


SOURCE = Source("small", pool(0, EXAMPLES), CLASSES, pool(2000, TESTS))
seeds = st.integers(0, 2**32)
modest = settings(max_examples=15, deadline=None)
Asked = dict[str, object]


@st.composite
def grouped_clients(draw: st.DrawFn, least: int = 1, most: int = 12, groups: int = 4) -> Asked:
    """Clients and groups, sometimes with uneven sizes."""
    clients = draw(st.integers(least, most))
    wanted = draw(st.integers(least, min(clients, groups)))
    sizes = draw(st.just(()) | st.lists(st.integers(1, 60), min_size=wanted, max_size=wanted).map(tuple))
    return {"clients": clients, "groups": wanted, "group_sizes": sizes}


def clients(least: int = 1, most: int = 12, **more: st.SearchStrategy[object]) -> st.SearchStrategy[Asked]:
    return st.fixed_dictionaries({"clients": st.integers(least, most), **more})


def skewed(base: st.SearchStrategy[Asked]) -> st.SearchStrategy[Asked]:
    return st.tuples(base, st.just(0.0) | st.floats(0.05, 10)).map(lambda both: {**both[0], "skew": both[1]})


ASKED: dict[str, st.SearchStrategy[Asked]] = {
    "iid": clients(),
    "classes": grouped_clients(groups=10),
    "overlap": grouped_clients(least=3, groups=5),
    "writers": clients(most=7),
    "structured": st.integers(2, 12).map(lambda count: {"clients": count, "groups": 2}),
    "label-swap": skewed(grouped_clients()),
    "label-permutation": skewed(grouped_clients()),
    "rotation": skewed(grouped_clients()),
    "dirichlet": clients(alpha=st.floats(0.01, 100)),
    "quantity": clients(power=st.floats(0, 3)),
    "dominant": clients(least=5, mix=st.sampled_from(["2C-1", "2C-2", "5C"]), examples=st.integers(20, 50)),
    "topics": clients(least=10, most=30),
    "congruent": clients(least=2),
}
EVERYTHING_USED = set(WORLDS) - {"classes", "overlap", "writers", "dominant"}
PLANTED = set(WORLDS) - {"writers", "dirichlet"}
ONE_GROUP = {"iid", "quantity", "congruent"}


def spread(world: str, asked: Asked, seed: int = 0, source: Source = SOURCE) -> Federation:
    return build_settings(WORLDS[world], asked, where="data").spread(source, seed)


def which(part: Part) -> list[int]:
    """The numbers of the examples in this part."""
    return [int(smallest) // 9 for smallest in part.inputs.min(axis=(1, 2, 3))]


def parts(federation: Federation, client: str) -> tuple[Part, Part]:
    return federation[client].train, federation[client].test


def counts_of(federation: Federation, *clients: str) -> Counter[int]:
    """How many examples of each class these clients have, by what the images are."""
    return Counter(n % CLASSES for client in clients for part in parts(federation, client) for n in which(part))


def namings(federation: Federation, group: tuple[str, ...]) -> set[tuple[int, int]]:
    """What a group calls each class: (true class, label)."""
    seen = [part for client in group for part in parts(federation, client)]
    return {(n % CLASSES, int(y)) for part in seen for n, y in zip(which(part), part.labels, strict=True)}


def together(federation: Federation) -> list[tuple[str, ...]]:
    assert federation.truth is not None
    return list(federation.truth.members)


def every_world(test: Callable[[str, Asked, int], None]) -> Callable[..., None]:
    """The test for each world, with any settings in range and any seed."""

    def with_data(world: str, data: st.DataObject) -> None:
        test(world, data.draw(ASKED[world]), data.draw(seeds))

    with_data.__doc__ = test.__doc__
    made: Callable[..., None] = pytest.mark.parametrize("world", WORLDS)(modest(given(data=st.data())(with_data)))
    return made


@every_world
def test_no_example_stands_in_two_places_and_the_seed_decides(world: str, asked: Asked, seed: int) -> None:
    """Neither with two clients nor in train and test; all are used where a world says so."""
    federation, again = spread(world, asked, seed), spread(world, asked, seed)
    assert (federation.fingerprint, federation.truth) == (again.fingerprint, again.truth)
    assert federation.fingerprint != spread(world, asked, seed + 1).fingerprint or world == "writers"
    used = Counter(n for client in federation.clients for part in parts(federation, client) for n in which(part))
    assert set(used.values()) == {1}
    assert world not in EVERYTHING_USED or set(used) == set(range(EXAMPLES))
    assert len(federation) == asked["clients"]
    for client in federation.clients if world != "writers" else ():
        size = sum(len(part) for part in parts(federation, client))
        few = len(set(federation[client].train.labels)) + len(federation[client].test) >= size  # one of each is kept
        assert abs(len(federation[client].test) - 0.2 * size) <= 0.5 or size == 2 or few


@every_world
def test_groups_are_as_many_and_as_large_as_asked(world: str, asked: Asked, seed: int) -> None:
    federation = spread(world, asked, seed)
    if world not in PLANTED:
        assert federation.truth is None
        return
    sizes = sorted(len(group) for group in together(federation))
    count = {"dominant": {"2C-1": 2, "2C-2": 2, "5C": 5}.get(str(asked.get("mix"))), "topics": 10}.get(world)
    wanted = 1 if world in ONE_GROUP else count or asked["groups"]
    assert (sum(sizes), len(sizes)) == (asked["clients"], wanted)
    proportions = asked.get("group_sizes") or ()
    assert isinstance(proportions, tuple)
    if not proportions:
        assert max(sizes) - min(sizes) <= 1
    elif sum(proportions) == asked["clients"]:
        assert sizes == sorted(proportions)
    else:  # at least one each; the others within one of their proportion, less what the smallest were given
        exact = sorted(sum(sizes) * share / sum(proportions) for share in proportions)
        given_away = sum(max(0, 1 - share) for share in exact)
        assert sizes[0] >= 1
        assert all(-given_away - 1 < size - share < 1 + 1e-6 for size, share in zip(sizes, exact, strict=True))


@pytest.mark.parametrize("world", sorted(PLANTED - ONE_GROUP - {"structured"}))
def test_names_tell_nothing_of_groups(world: str) -> None:
    """Another seed plants other groups over the same names."""
    more = {"dominant": {"examples": 50}, "topics": {}}.get(world, {"groups": 4})
    assert len({spread(world, {"clients": 12, **more}, seed).truth for seed in range(5)}) > 1


@every_world
def test_a_group_is_tested_on_its_own_classes_only(world: str, asked: Asked, seed: int) -> None:
    """With test_on = "group": every official test example of a class that the group trains on, and no other."""
    if world == "writers":
        return  # a writer is tested on what the same writer wrote
    federation = spread(world, {**asked, "test_on": "group"}, seed)
    homes = together(federation) if world in PLANTED - {"congruent"} else [federation.clients]
    if world == "congruent":
        homes = [federation.clients[half::2] for half in (0, 1)]
    for group in homes:
        trained = {number % CLASSES for client in group for number in which(federation[client].train)}
        wanted = [2000 + k for k in range(TESTS) if k % CLASSES in trained]
        for client in group:
            assert sorted(which(federation[client].test)) == wanted
            assert set(federation[client].train.labels) <= set(federation[client].test.labels)


@given(asked=ASKED["classes"], seed=seeds)
@modest
def test_classes_gives_each_group_its_own_classes_in_equal_shares(asked: Asked, seed: int) -> None:
    federation = spread("classes", asked, seed)
    of_group = []
    for group in together(federation):
        counts = [counts_of(federation, client) for client in group]
        assert len({frozenset(count.items()) for count in counts}) == 1
        # Classes 0, 1, 2 have 121 examples and the others 120; if all were alike, 120 for the group.
        assert all(count == {c: min(121 if c < 3 else 120, 120) // len(group) for c in count} for count in counts)
        of_group.append(set(counts[0]))
    assert sorted(c for classes in of_group for c in classes) == list(range(10))
    assert max(map(len, of_group)) - min(map(len, of_group)) <= 1


@given(asked=ASKED["overlap"], seed=seeds)
@modest
def test_overlap_is_a_ring_of_shared_classes(asked: Asked, seed: int) -> None:
    federation = spread("overlap", asked, seed)
    held = []
    for group in together(federation):
        counts = [counts_of(federation, client) for client in group]
        assert len({frozenset(count.items()) for count in counts}) == 1
        even = 120 // len(group)
        half = min(even // 2, 60 // len(group))
        assert sorted(counts[0].values()) == sorted([even, half, half])
        held.append(set(counts[0]))
    shared = [len(one & other) for one, other in combinations(held, 2)]
    groups = len(held)
    assert sorted(shared) == sorted([1] * groups + [0] * (groups * (groups - 1) // 2 - groups))
    assert all(len(classes) == 3 for classes in held)


def test_the_published_overlap_gives_both_sides_the_same_images() -> None:
    federation = spread("overlap", {"clients": 10, "groups": 5, "shared": "same"})
    used = Counter(n for client in federation.clients for part in parts(federation, client) for n in which(part))
    # 2 clients a group: 40 of each class (two thirds of 60) for each; 5 of the 10 classes are with two groups.
    assert Counter(used.values()) == {1: 5 * 80, 2: 5 * 80}


@given(asked=ASKED["label-permutation"], seed=seeds)
@modest
def test_label_permutation_and_swap_rename_each_group_otherwise(asked: Asked, seed: int) -> None:
    federation = spread("label-permutation", {**asked, "skew": 0.0}, seed)
    named = [namings(federation, group) for group in together(federation)]
    for pairs in named:
        assert sorted(true for true, _ in pairs) == list(range(10)), "each class has one name"
        assert sorted(name for _, name in pairs) == list(range(10)), "no name is of two classes"
    assert all(one != other for one, other in combinations(named, 2))
    federation = spread("label-swap", {**asked, "skew": 0.0}, seed)
    named = [namings(federation, group) for group in together(federation)]
    swaps = [{pair for pair in pairs if pair[0] != pair[1]} for pairs in named]
    assert {len(pairs) for pairs in named} == {10}
    assert all(len(moved) == 2 and moved == {(y, x) for x, y in moved} for moved in swaps)
    assert all(one != other for one, other in combinations(swaps, 2))


@given(asked=ASKED["rotation"], seed=seeds)
@modest
def test_rotation_turns_each_group_by_a_quarter_of_its_own(asked: Asked, seed: int) -> None:
    federation = spread("rotation", asked, seed)
    turns = []
    for group in together(federation):
        seen = [part for client in group for part in parts(federation, client)]
        whole = [(part.inputs, images(0, EXAMPLES)[which(part)]) for part in seen]
        fits = [all(np.array_equal(one, np.rot90(raw, g, axes=(2, 3))) for one, raw in whole) for g in range(4)]
        assert sum(fits) == 1
        turns.append(fits.index(True))
        assert all(part.labels.tolist() == [n % CLASSES for n in which(part)] for part in seen)
    assert sorted(turns) == list(range(len(turns)))


def test_a_skew_inside_groups_makes_clients_one_sided_and_not_the_groups() -> None:
    """With a small alpha a client's largest class is most of what it has; without a skew about a tenth."""
    for world in ("rotation", "label-permutation", "label-swap", "dirichlet"):
        narrow = {"alpha": 0.05} if world == "dirichlet" else {"skew": 0.05}
        federation = spread(world, {"clients": 40, **narrow})
        trained = [held.train.labels for held in federation.data.values()]
        assert np.mean([np.bincount(labels).max() / len(labels) for labels in trained]) > 0.4, world
    even = spread("rotation", {"clients": 10})
    assert all(np.bincount(held.train.labels).max() < 30 for held in even.data.values())  # of 96
    # Every group has the same mix of the classes, however one-sided its clients are: a tenth of each, give or take.
    federation = spread("rotation", {"clients": 20, "groups": 4, "skew": 0.05})
    for group in together(federation):
        counts = counts_of(federation, *group)
        assert all(15 <= counts[label] <= 46 for label in range(CLASSES))  # 30 expected, deviation about 5


@pytest.mark.parametrize(
    ("mix", "heavy"), [("2C-1", [135 / 5, 15 / 5]), ("2C-2", [120 / 5, 30 / 5]), ("5C", [75, 75 / 9])]
)
def test_dominant_has_the_stated_mix(mix: str, heavy: list[float]) -> None:
    federation = spread("dominant", {"clients": 5, "mix": mix, "examples": 150})
    for client in federation.clients:
        counts = sorted(counts_of(federation, client).values())
        assert sum(counts) == 150
        often = 1 if mix == "5C" else 5
        assert counts[-often:] == pytest.approx([heavy[0]] * often, abs=1)
        assert counts[:-often] == pytest.approx([heavy[1]] * (10 - often), abs=1)
    sharp = spread("dominant", {"clients": 5, "mix": mix, "examples": 100, "dominance": 0.96})
    for client in sharp.clients:  # 96 of 100, shared by the dominant classes
        counts = sorted(counts_of(sharp, client).values())
        assert sum(counts[-often:]) == pytest.approx(96, abs=1)


def test_topics_congruent_and_quantity() -> None:
    topics = spread("topics", {"clients": 20})
    assert all(len(set(topics[client].train.labels)) == 1 for client in topics.clients)
    assert all(len({int(topics[client].train.labels[0]) for client in group}) == 1 for group in together(topics))
    congruent = spread("congruent", {})
    assert [set(congruent[client].train.labels) for client in congruent.clients] == [set(range(5)), set(range(5, 10))]
    assert together(congruent) == [congruent.clients]
    # Four clients, power 1: shares in the proportion of 1, 1/2, 1/3, 1/4, which add up to 25/12.
    federation = spread("quantity", {"clients": 4, "power": 1.0})
    sizes = sorted((sum(map(len, parts(federation, client))) for client in federation.clients), reverse=True)
    assert sizes == pytest.approx([EXAMPLES * 12 / 25 / rank for rank in (1, 2, 3, 4)], abs=1)
    assert sum(sizes) == EXAMPLES


def test_writers_keep_what_they_wrote() -> None:
    federation = spread("writers", {"clients": 4})
    for client in federation.clients:
        writer = int(client.removeprefix("writer-"))
        assert which(federation[client].train) == list(range(writer, EXAMPLES, 7))
        assert which(federation[client].test) == [2000 + k for k in range(writer, TESTS, 7)]
    check_refused("more clients than writers", spread, "writers", {"clients": 8})
    with pytest.raises(InputError, match="does not know its writers"):
        spread("writers", {"clients": 2}, source=Source("bare", Pool(images(0, 9), np.arange(9)), 10))


def test_sizes_of_algorithm_4() -> None:
    """The published sizes for 12,000 examples and 240 clients: alpha = 25, then 26 and more, 259 the largest.

    (The authors give what rounding leaves, 98 examples, to the first client, which so has 124; here it is spread.)
    """
    sizes = power_law(12_000, 240)
    assert sizes.sum() == 12_000
    assert sizes.min() >= 26
    assert sizes.max() == 259
    last = power_law(4_800, 240)
    assert last.sum() == 4_800
    assert last.min() >= 11
    low, high = 0.0, 1.0  # beta, by halving the interval: 10 + exp(beta m^2) add up to 4,800
    for _ in range(200):
        middle = (low + high) / 2
        sizes_add_to = sum(10 + math.exp(min(middle * m * m, 700)) for m in range(1, 241))
        low, high = (middle, high) if sizes_add_to < 4_800 else (low, middle)
    assert last.max() == math.floor(10 + math.exp(low * 240 * 240))


@given(clients=st.integers(1, 300), each=st.integers(2, 60), more=st.integers(0, 200))
@modest
def test_sizes_of_algorithm_4_add_up(clients: int, each: int, more: int) -> None:
    sizes = power_law(clients * each + more, clients)
    assert sizes.sum() == clients * each + more
    assert sizes.min() >= 1
    assert len(sizes) == clients
    assert (np.diff(sizes) >= 0).all()


@given(asked=st.integers(2, 12), seed=seeds)
@modest
def test_structured_gives_each_class_to_one_group(asked: int, seed: int) -> None:
    groups, each = (4, 3) if asked >= 4 else (2, 5)
    federation = spread("structured", {"clients": asked, "groups": groups, "classes_each": each}, seed)
    classes = [set(counts_of(federation, *group)) for group in together(federation)]
    assert sorted(map(sorted, classes)) == [list(range(low, min(low + each, 10))) for low in range(0, 10, each)]


def test_the_published_test_set_has_a_class_that_the_last_group_never_trains_on() -> None:
    """Classes 0 to 2, 3 to 5, 6 to 8 and 9, 15 tests each: only the clients of 9 are tested on 0 too."""
    asked: Asked = {"clients": 8, "groups": 4, "classes_each": 3, "test_on": "group"}
    right, leaky = (spread("structured", {**asked, "padded": padded}, 5) for padded in (False, True))
    found = set()
    for client in right.clients:
        trained = tuple(sorted(set(leaky[client].train.labels.tolist())))
        tested = Counter(leaky[client].test.labels.tolist())
        assert tested == dict.fromkeys((*trained, *((0,) if trained == (9,) else ())), 15)
        assert np.array_equal(right[client].train.index, leaky[client].train.index)
        found.add(trained)
    assert (9,) in found


@pytest.mark.parametrize(
    ("world", "asked", "said"),
    [
        ("structured", {"clients": 20, "groups": 2, "padded": True}, "padded has no use"),
        ("classes", {"clients": 20, "groups": 11}, "more groups than classes"),
        ("classes", {"clients": 3, "groups": 4}, "more groups than clients"),
        ("classes", {"clients": 2000, "groups": 2}, "more clients in a group than examples"),
        ("classes", {"clients": 4, "groups": 2, "group_sizes": (1, 2, 1)}, "group sizes do not fit the groups"),
        ("overlap", {"clients": 20, "groups": 6}, "the ring does not fit the classes"),
        ("overlap", {"clients": 20, "groups": 2}, "the ring does not fit the classes"),
        ("overlap", {"clients": 900, "groups": 5}, "more clients in a group than examples"),
        ("structured", {"clients": 20, "groups": 3}, "the groups do not fit the classes"),
        ("structured", {"clients": 1100, "groups": 2}, "too few examples for the clients"),
        ("label-swap", {"clients": 60, "groups": 46}, "more groups than pairs of classes"),
        ("rotation", {"clients": 5, "groups": 5}, "groups is not usable"),
        ("dominant", {"clients": 10, "examples": 500}, "too few examples for the clients"),
        ("topics", {"clients": 9}, "fewer clients than topics"),
        ("congruent", {"clients": 1}, "clients is not usable"),
    ],
)
def test_impossible_requests_are_named(world: str, asked: Asked, said: str) -> None:
    check_refused(said, spread, world, asked)


def test_groups_that_the_source_cannot_tell_apart_are_refused() -> None:
    """Two classes can be named in two ways; only squares fit on themselves when turned; tests need test examples."""
    bare = Source("bare", pool(0, 100), CLASSES)
    check_refused("there are no official test examples", spread, "iid", {"test_on": "group"}, source=bare)
    binary = Source("binary", Pool(images(0, 90), np.arange(90) % 2), 2)
    assert len(together(spread("label-permutation", {"clients": 12, "groups": 2}, source=binary))) == 2
    with pytest.raises(InputError, match="more groups than ways to name the classes"):
        spread("label-permutation", {"clients": 12, "groups": 3}, source=binary)
    for shape in ((90, 1, 1, 9), (90, 9)):
        oblong = Source("oblong", Pool(images(0, 90).reshape(shape), np.arange(90) % 10), 10)
        check_refused("only square images", spread, "rotation", {"clients": 4, "groups": 2}, source=oblong)
