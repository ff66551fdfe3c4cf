"""Case I: graphs and the mixing step, by hand; and updates that point away from those of their group."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import fedclade as fc
from fedclade.core import Assignment, Groups, mixture
from fedclade.data import Federation
from fedclade.fleet import Updates
from fedclade.methods.flt.training import Graph, automatic_reach, mean_by_model, outlying_clients, relatedness_graph
from fedclade.testing import play_run

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


def in_rows(rows: NDArray[np.float32], graph: Graph) -> Assignment:
    """The model of all, then one for each row of A."""
    return Assignment(rows, {client: 1 + row for client, row in graph.row_by_client.items()})


def test_near_is_related_and_far_is_not() -> None:
    graph = relatedness_graph(IDS, SQUARED, 2.0)
    assert graph.weights_between(IDS).tolist() == [
        [1, 1, 1, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0],
        [0, 0, 0, 1, 1],
        [0, 0, 0, 1, 1],
    ]
    assert len(graph.weights) == 4, "d and e have the same row"
    assert graph.row_by_client["d"] == graph.row_by_client["e"]


def test_soft_relatedness_falls_with_distance() -> None:
    graph = relatedness_graph(IDS, SQUARED, 4.0, soft=True)
    np.testing.assert_allclose(graph.weights_between(IDS), np.exp(-SQUARED / 4), rtol=1e-6)


@given(st.integers(0, 10_000), st.sets(st.integers(0, 4)), st.booleans())
def test_mixing_is_that_of_the_loop(seed: int, heard: set[int], soft: bool) -> None:
    rng = np.random.default_rng(seed)
    half = rng.uniform(size=(5, 5)) * 4
    graph = relatedness_graph(IDS, (half + half.T).astype(np.float32), 4.0, soft=soft)
    whole = rng.normal(size=(1 + len(graph.weights), 3)).astype(np.float32)  # the first is the model of all
    before, old = whole.copy(), whole[1:]
    examples = rng.integers(1, 50, size=5).tolist()
    there = sorted(heard)
    trained = rng.normal(size=(5, 3)).astype(np.float32)
    own = np.array([old[graph.row_by_client[client]] for client in IDS], np.float64)
    own[there] = trained[there]
    related = graph.weights_between(IDS).astype(np.float64)
    spoke = tuple(IDS[each] for each in there)
    counts = np.array([examples[each] for each in there], np.int64)
    models = in_rows(whole, graph)
    new = graph.mix(models, spoke, trained[there], counts, {}).rows
    stale = graph.mix(models, spoke, trained[there], counts, dict(zip(IDS, examples, strict=True))).rows
    np.testing.assert_array_equal(whole, before)
    for mixed in (new, stale):
        np.testing.assert_array_equal(mixed[0], before[0])
    new, stale = new[1:], stale[1:]
    by_participants, by_all = by_loop(related, own, examples, there), by_loop(related, own, examples, list(range(5)))
    for number, client in enumerate(IDS):
        row = graph.row_by_client[client]
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
    old = in_rows(np.zeros((3, 1), np.float32), graph)
    new = graph.mix(old, ("e", "d"), np.array([[9], [3]], np.float32), np.array([5, 1]), {})
    assert new.rows.tolist() == [[0], [0], [8]]
    assert len(new.basis) == 4, "what is kept: the model of all, that of the silent group, and two that were trained"


def test_only_neighbours_are_added_up_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred clients in ten blocks of ten, a thousand parameters mixed seven at a time: the same, in one float."""
    rng = np.random.default_rng(0)
    ids = tuple(f"c{number:02d}" for number in range(100))
    apart = np.subtract.outer(np.arange(100) // 10, np.arange(100) // 10) != 0
    thin = np.triu(rng.random((100, 100)) < 0.4, 1)
    graph = relatedness_graph(ids, np.where(apart | thin | thin.T, 9.0, 0.5).astype(np.float32), 1.0)
    whole = rng.normal(size=(1 + len(graph.weights), 1000)).astype(np.float32)
    trained, examples = rng.normal(size=(20, 1000)).astype(np.float32), rng.integers(1, 9, 20)
    stale = dict.fromkeys(ids, 3)
    monkeypatch.setattr(mixture, "PARAMETERS_AT_ONCE", 7)
    mixed = graph.mix(in_rows(whole, graph), ids[::5], trained, examples, stale).rows
    own = whole[1:][[graph.row_by_client[each] for each in ids]].astype(np.float64)
    own[::5], counts = trained, np.full(100, 3.0)
    counts[::5] = examples
    weights = graph.weights_between(ids) * counts
    by_hand = weights / weights.sum(axis=1, keepdims=True) @ own
    np.testing.assert_allclose(mixed[1:][[graph.row_by_client[each] for each in ids]], by_hand, rtol=0, atol=1e-6)


def test_a_newcomer_is_related_to_its_relatives_and_they_to_it() -> None:
    graph = relatedness_graph(IDS, SQUARED, 2.0).with_clients({"f": 0}, {0: ["d", "e"]})
    table = graph.weights_between((*IDS, "f"))
    assert table[5].tolist() == [0, 0, 0, 1, 1, 1]
    assert table[:, 5].tolist() == [0, 0, 0, 1, 1, 1]
    assert graph.row_by_client["f"] == graph.row_by_client["d"], "the same relatives, the same model"
    alone = graph.with_clients({"g": 0}, {})
    assert alone.weights_between((*IDS, "f", "g"))[6].tolist() == [0] * 6 + [1]
    assert alone.weights_between((*IDS, "f", "g"))[:, 6].tolist() == [0] * 6 + [1]


def test_many_newcomers_are_related_to_their_group_and_to_each_other() -> None:
    """f and g join d and e, h and i begin a group, j joins a alone: most of a's row are a."""
    groups = {0: ("a",), 1: ("d", "e"), 7: ()}
    graph = relatedness_graph(IDS, SQUARED, 2.0).with_clients({"f": 1, "h": 7, "g": 1, "i": 7, "j": 0}, groups)
    assert graph.clients == (*IDS, "f", "h", "g", "i", "j")
    related = {
        client: {other for other in graph.clients if graph.weights_between([client, other])[0, 1]}
        for client in graph.clients
    }
    assert related["d"] == related["e"] == related["f"] == related["g"] == {"d", "e", "f", "g"}
    assert related["h"] == related["i"] == {"h", "i"}
    assert related["a"] == {"a", "b", "c", "j"}
    assert related["j"] == {"a", "j"}
    assert related["b"] == {"a", "b"}
    assert len({graph.row_by_client[client] for client in "defg"}) == 1


def test_the_automatic_reach_lies_between_inside_and_outside() -> None:
    """By hand: inside pairs 1, 1, 4, 1: mean 7/4; between 9: the middle of sqrt(7/4) and 3."""
    groups = Groups((("a", "b", "c"), ("d", "e")))
    assert automatic_reach(SQUARED, IDS, groups) == pytest.approx(((1.75**0.5 + 3) / 2) ** 2, rel=1e-6)
    assert automatic_reach(SQUARED, IDS, Groups((IDS,))) == float("inf")


STARTS = Assignment(np.array([[0, 0], [10, 10]], np.float32), {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, "f": 1})
GROUP = dict(STARTS.row_by_client)


def updates(**rows: list[float]) -> Updates:
    count = len(rows)
    examples = np.arange(1, count + 1)
    return Updates(tuple(rows), np.array(list(rows.values()), np.float32), examples, np.linspace(1, 2, count))


def test_a_client_that_moves_away_from_its_group_is_outlying() -> None:
    """Five move by 1 to the right, with 0.1 of noise; c moves by 1 to the left."""
    sent = updates(a=[1, 0.1], b=[1, -0.1], c=[-1, 0], d=[11, 10.1], e=[11, 9.9], f=[11, 10])
    assert "c" in outlying_clients(STARTS, GROUP, sent)
    assert not set(outlying_clients(STARTS, GROUP, sent)) & {"d", "e", "f"}


def test_alike_updates_are_not_outlying() -> None:
    """By hand: each is sqrt(3) from the mean of the other two in an even triangle, whatever the start."""
    height = 3**0.5
    sent = updates(a=[0, 2], b=[-height, -1], c=[height, -1], d=[10, 12], e=[10 - height, 9], f=[10 + height, 9])
    assert outlying_clients(STARTS, GROUP, sent) == ()


def test_who_is_heard_alone_has_nobody_to_be_compared_with() -> None:
    assert outlying_clients(STARTS, GROUP, updates(a=[1, 0], d=[99, 99])) == ()
    nobody = Updates((), np.zeros((0, 2), np.float32), np.zeros(0, np.int64), np.zeros(0))
    assert outlying_clients(STARTS, GROUP, nobody) == ()
    assert np.isnan(mean_by_model(STARTS, nobody).loss)
    np.testing.assert_array_equal(mean_by_model(STARTS, nobody).rows, STARTS.rows)


def test_the_mean_is_weighed_by_examples() -> None:
    """Of a (1 example) and b (2): (3 + 2 x 6) / 3 = 5; losses 1, 1.5 and 2 with 1, 2 and 3 examples: 10 / 6."""
    means = mean_by_model(STARTS, updates(a=[3, 0], b=[6, 3], d=[7, 8]))
    assert means.rows.tolist() == [[5, 2], [7, 8]]
    assert means.examples.tolist() == [3, 3]
    assert means.loss == pytest.approx(10 / 6)


def test_watching_changes_no_model(two_groups: Federation, tmp_path: Path) -> None:
    _, plain = play_run(fc.FLT(), two_groups, tmp_path / "plain")
    _, watched = play_run(fc.FLT(watch_updates=True), two_groups, tmp_path / "watched")
    assert watched.row_by_client == plain.row_by_client
    np.testing.assert_allclose(watched.rows, plain.rows, rtol=0, atol=1e-6)
