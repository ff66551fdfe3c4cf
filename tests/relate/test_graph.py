"""The mixing step W <- A W, against a plain loop over all clients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedclade.nouns import Groups
from fedclade.relate.graph import Graph, automatic_reach, full_graph

IDS = ("a", "b", "c", "d", "e")
SQUARED = np.array([[0, 1, 1, 9, 9], [1, 0, 4, 9, 9], [1, 4, 0, 9, 9], [9, 9, 9, 0, 1], [9, 9, 9, 1, 0]], np.float32)


def by_loop(
    related: NDArray[np.float64], models: NDArray[np.float64], examples: list[int], there: list[int]
) -> NDArray[np.float64]:
    """Every client's new model by the formula, from a copy: sum over related j of n_j w_j, over the sum of n_j."""
    old = models.copy()
    new = models.copy()
    for one in range(len(models)):
        weights = {other: related[one, other] * examples[other] for other in there}
        if sum(weights.values()):
            new[one] = sum(weight * old[other] for other, weight in weights.items()) / sum(weights.values())
    return new


def test_near_is_related_and_far_is_not() -> None:
    graph = full_graph(IDS, SQUARED, 2.0)
    assert graph.of(IDS).tolist() == [
        [1, 1, 1, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [0, 0, 0, 1, 1],
        [0, 0, 0, 1, 1],
    ]
    assert len(graph.weights) == 4, "d and e have the same row"
    assert graph.home["d"] == graph.home["e"]


def test_soft_relatedness_falls_with_distance() -> None:
    graph = full_graph(IDS, SQUARED, 4.0, soft=True)
    np.testing.assert_allclose(graph.of(IDS), np.exp(-SQUARED / 4), rtol=1e-6)


@given(st.integers(0, 10_000), st.sets(st.integers(0, 4)), st.booleans())
def test_mixing_is_that_of_the_loop(seed: int, heard: set[int], soft: bool) -> None:
    rng = np.random.default_rng(seed)
    half = rng.uniform(size=(5, 5)) * 4
    graph = full_graph(IDS, (half + half.T).astype(np.float32), 4.0, soft=soft)
    old = rng.normal(size=(len(graph.weights), 3)).astype(np.float32)
    before = old.copy()
    examples = rng.integers(1, 50, size=5).tolist()
    there = sorted(heard)
    trained = rng.normal(size=(5, 3)).astype(np.float32)
    own = np.array([old[graph.home[client]] for client in IDS], np.float64)
    own[there] = trained[there]
    related = graph.of(IDS).astype(np.float64)
    spoke = tuple(IDS[each] for each in there)
    new = graph.mixed(old, spoke, trained[there], np.array([examples[each] for each in there], np.int64), {})
    stale = graph.mixed(
        old,
        spoke,
        trained[there],
        np.array([examples[each] for each in there], np.int64),
        dict(zip(IDS, examples, strict=True)),
    )
    np.testing.assert_array_equal(old, before)
    by_participants, by_all = by_loop(related, own, examples, there), by_loop(related, own, examples, list(range(5)))
    for number, client in enumerate(IDS):
        row = graph.home[client]
        if any(related[number, other] for other in there):
            np.testing.assert_allclose(new[row], by_participants[number], rtol=0, atol=1e-5)
        else:
            np.testing.assert_array_equal(new[row], old[row])
        np.testing.assert_allclose(stale[row], by_all[number], rtol=0, atol=1e-5)


def test_weights_are_those_of_the_clients_themselves() -> None:
    """A group without client a, sizes unequal (published FLT weighs with the counts of positions): (1x3 + 5x9) / 6."""
    graph = Graph(
        IDS, np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], np.float32), {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}
    )
    old = np.zeros((2, 1), np.float32)
    new = graph.mixed(old, ("e", "d"), np.array([[9], [3]], np.float32), np.array([5, 1]), {})
    assert new.tolist() == [[0], [8]]


def test_a_newcomer_is_related_to_its_relatives_and_they_to_it() -> None:
    graph = full_graph(IDS, SQUARED, 2.0).joined_many({"f": 0}, {0: ["d", "e"]})
    table = graph.of((*IDS, "f"))
    assert table[5].tolist() == [0, 0, 0, 1, 1, 1]
    assert table[:, 5].tolist() == [0, 0, 0, 1, 1, 1]
    assert graph.home["f"] == graph.home["d"], "the same relatives, the same model"
    alone = graph.joined_many({"g": 0}, {})
    assert alone.of((*IDS, "f", "g"))[6].tolist() == [0] * 6 + [1]
    assert alone.of((*IDS, "f", "g"))[:, 6].tolist() == [0] * 6 + [1]


def test_many_newcomers_are_related_to_their_group_and_to_each_other() -> None:
    """f and g join d and e, h and i begin a group, j joins a alone: most of a's row are a."""
    groups = {0: ("a",), 1: ("d", "e"), 7: ()}
    graph = full_graph(IDS, SQUARED, 2.0).joined_many({"f": 1, "h": 7, "g": 1, "i": 7, "j": 0}, groups)
    assert graph.clients == (*IDS, "f", "h", "g", "i", "j")
    related = {
        client: {other for other in graph.clients if graph.of([client, other])[0, 1]} for client in graph.clients
    }
    assert related["d"] == related["e"] == related["f"] == related["g"] == {"d", "e", "f", "g"}
    assert related["h"] == related["i"] == {"h", "i"}
    assert related["a"] == {"a", "b", "c", "j"}
    assert related["j"] == {"a", "j"}
    assert related["b"] == {"a", "b"}
    assert len({graph.home[client] for client in "defg"}) == 1


def test_the_automatic_reach_lies_between_inside_and_outside() -> None:
    """By hand: inside pairs 1, 1, 4, 1: mean 7/4; between 9: the middle of sqrt(7/4) and 3."""
    groups = Groups((("a", "b", "c"), ("d", "e")))
    assert automatic_reach(SQUARED, IDS, groups) == pytest.approx(((1.75**0.5 + 3) / 2) ** 2, rel=1e-6)
    assert automatic_reach(SQUARED, IDS, Groups((IDS,))) == float("inf")
