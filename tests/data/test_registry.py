"""Building a federation by names: real digits, and requests that cannot be met are refused before any work."""

import numpy as np
import pytest

from fedclade.data import build
from fedclade.data.examples import Source
from fedclade.data.registry import SOURCES, KnownSource, cache_sources
from fedclade.data.sources.digits import digits
from refusals import check_refused

SIMPLE = ["iid", "classes", "label-swap", "label-permutation", "rotation", "dirichlet", "quantity"]
GROUPED = ["classes", "label-swap", "label-permutation", "rotation"]


def test_real_digits_are_spread() -> None:
    federation = build(source="digits", world="iid", clients=30, seed=1)
    held = [federation[client] for client in federation.clients]
    assert sum(len(data.train) + len(data.test) for data in held) == 1797
    assert (federation.shape, federation.classes) == ((1, 8, 8), 10)
    assert {float(data.train.inputs.max()) for data in held} == {1.0}, "16, the brightest, is 1"


@pytest.mark.parametrize("world", [*SIMPLE, "topics", "congruent"])
def test_every_client_needs_two_examples(world: str) -> None:
    """One to learn from and one to be tested on: 898 clients at most."""
    groups = {"groups": 1} if world in GROUPED else {}
    error = check_refused("ask for fewer clients", build, source="digits", world=world, clients=899, **groups)
    assert error.need
    assert world != "iid" or len(build(source="digits", world=world, clients=898)) == 898


def test_unknown_names_and_settings_are_refused() -> None:
    """A name with the nearest one; a setting that is not the world's own."""
    line = 'the source is not known, data.source: got "digit".*did you mean'
    check_refused(line, build, source="digit", world="iid")
    line = 'the world is not known, data.world: got "clases".*did you mean'
    check_refused(line, build, source="digits", world="clases")
    check_refused(r"data\.groups is not known", build, source="digits", world="iid", groups=2)
    check_refused(r"data\.clients: got 0", build, source="digits", world="iid", clients=0)
    check_refused("the seed is not usable", build, source="digits", world="iid", seed=-1)


def test_inside_a_source_is_read_once() -> None:
    seen: list[str] = []

    def known(name: str) -> KnownSource:
        def read() -> Source:
            seen.append(name)
            return digits()

        return KnownSource("", read)

    first, second, third = known("first"), known("second"), known("third")
    with cache_sources():
        assert first.load() is first.load()
        assert second.load() is second.load()
        third.load()  # for which the first one makes way
        first.load()
    assert seen == ["first", "second", "third", "first"]
    assert first.load() is not first.load()


@pytest.mark.parametrize("world", [*SIMPLE, "overlap", "congruent"])
def test_no_world_changes_the_source_that_it_spreads(world: str) -> None:
    with cache_sources():
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
