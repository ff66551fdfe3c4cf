"""Building a federation by names: real digits, and requests that cannot be met are refused before any work."""

import numpy as np
import pytest

from fedclade.data import build
from fedclade.data.examples import Source
from fedclade.data.registry import SOURCES, KnownSource, sources_kept
from fedclade.data.sources.digits import digits
from fedclade.nouns import InputError

SIMPLE = ["iid", "classes", "label-swap", "label-permutation", "rotation", "dirichlet", "quantity"]
GROUPED = ["classes", "label-swap", "label-permutation", "rotation"]


def test_real_digits_are_spread() -> None:
    federation = build(source="digits", world="iid", clients=30, seed=1)
    held = [federation[client] for client in federation.clients]
    assert sum(len(data.train) + len(data.test) for data in held) == 1797
    assert (federation.shape, federation.classes) == ((1, 8, 8), 10)
    assert {float(data.train.inputs.max()) for data in held} == {1.0}, "16, the brightest, is 1"


@pytest.mark.parametrize("world", SIMPLE)
@pytest.mark.parametrize("clients", [899, 1798])
def test_more_clients_than_the_examples_can_serve_is_refused(world: str, clients: int) -> None:
    """Each client needs two examples, one to learn from and one to be tested on: 898 clients at the most."""
    with pytest.raises(InputError, match="ask for fewer clients") as caught:
        build(source="digits", world=world, clients=clients, **({"groups": 1} if world in GROUPED else {}))
    assert caught.value.need


def test_as_many_clients_as_the_examples_can_serve_is_fine() -> None:
    assert len(build(source="digits", world="iid", clients=898)) == 898


@pytest.mark.parametrize("world", GROUPED)
def test_more_groups_than_clients_is_refused(world: str) -> None:
    with pytest.raises(InputError, match=r"more groups than clients, data\.groups: got 4, need at most 3"):
        build(source="digits", world=world, clients=3, groups=4)


@pytest.mark.parametrize(
    ("world", "groups", "need"),
    [("classes", 11, "at most 10, the classes of digits"), ("rotation", 5, "less than or equal to 4")],
)
def test_more_groups_than_there_are_kinds_is_refused(world: str, groups: int, need: str) -> None:
    with pytest.raises(InputError, match=need) as caught:
        build(source="digits", world=world, clients=20, groups=groups)
    assert (caught.value.where, caught.value.got) == ("data.groups", str(groups))


@pytest.mark.parametrize(
    ("source", "world", "line"),
    [
        ("digit", "iid", 'the source is not known, data.source: got "digit"'),
        ("digits", "clases", 'the world is not known, data.world: got "clases"'),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(source: str, world: str, line: str) -> None:
    with pytest.raises(InputError, match="did you mean") as caught:
        build(source=source, world=world)
    assert str(caught.value).startswith(line)


def test_settings_of_a_world_are_its_own() -> None:
    with pytest.raises(InputError, match=r"data\.groups is not known"):
        build(source="digits", world="iid", groups=2)
    with pytest.raises(InputError, match=r"data\.clients: got 0"):
        build(source="digits", world="iid", clients=0)
    with pytest.raises(InputError, match="the seed is not usable"):
        build(source="digits", world="iid", seed=-1)


def test_inside_a_source_is_read_once() -> None:
    seen: list[str] = []

    def known(name: str) -> KnownSource:
        def read() -> Source:
            seen.append(name)
            return digits()

        return KnownSource("", read)

    first, second, third = known("first"), known("second"), known("third")
    with sources_kept():
        assert first.load() is first.load()
        assert second.load() is second.load()
        third.load()  # for which the first one makes way
        first.load()
    assert seen == ["first", "second", "third", "first"]
    assert first.load() is not first.load()


@pytest.mark.parametrize("world", [*SIMPLE, "overlap", "congruent"])
def test_no_world_changes_the_source_that_it_spreads(world: str) -> None:
    with sources_kept():
        pool = SOURCES["digits"].load().train
        before = pool.inputs.tobytes(), pool.labels.tobytes()
        federations = [build(source="digits", world=world, clients=5, seed=seed) for seed in (0, 1)]
        assert SOURCES["digits"].load().train is pool
        assert (pool.inputs.tobytes(), pool.labels.tobytes()) == before
    alone = build(source="digits", world=world, clients=5, seed=1)
    for client in alone.clients:
        kept, own = federations[1][client].train, alone[client].train
        assert np.array_equal(kept.inputs, own.inputs)
        assert np.array_equal(kept.labels, own.labels)
