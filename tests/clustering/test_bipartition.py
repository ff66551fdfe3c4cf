"""Algorithm 1 against brute force, against the paper's own listing, and against scipy."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering

from fedclade.clustering.bipartition import bipartition, complete_linkage, inside_similarity
from fedclade.clustering.distances import Matrix
from fedclade.core import InputError

Parts = set[frozenset[str]]


def named(count: int) -> tuple[str, ...]:
    return tuple(f"site-{number:03d}" for number in range(count))


def similarities(rng: np.random.Generator, count: int) -> NDArray[np.float32]:
    """Symmetric, -1 to 1, 1 with oneself; no two pairs alike, as float32 tells them."""
    values = np.eye(count, dtype=np.float32)
    pairs = np.triu_indices(count, 1)
    drawn = rng.permutation(np.linspace(-1, 1, len(pairs[0]) + 1)[:-1]).astype(np.float32)
    values[pairs] = drawn
    values.T[pairs] = drawn
    return values


def as_sets(parts: tuple[tuple[str, ...], ...]) -> Parts:
    return {frozenset(part) for part in parts}


def by_brute_force(ids: tuple[str, ...], values: NDArray[np.float32]) -> tuple[Parts, float]:
    """Every way to part them, with its largest similarity across."""
    best: tuple[float, Parts] | None = None
    for sides in product((False, True), repeat=len(ids) - 1):
        side = np.array((False, *sides))
        if not side.any():
            continue
        cross = float(values[np.ix_(side, ~side)].max())
        if best is None or cross < best[0]:
            best = cross, {frozenset(np.array(ids)[side]), frozenset(np.array(ids)[~side])}
    assert best is not None
    return best[1], best[0]


def by_the_paper(ids: tuple[str, ...], values: NDArray[np.float32]) -> Parts:
    """The listing of Algorithm 1, line by line: pairs from the most alike on, clusters joined until two are left."""
    count = len(ids)
    clusters = [{number} for number in range(count)]
    for pair in np.argsort(-values.reshape(-1), kind="stable"):
        one, other = divmod(int(pair), count)
        joined = [cluster for cluster in clusters if one in cluster or other in cluster]
        clusters = [cluster for cluster in clusters if cluster not in joined] + [set().union(*joined)]
        if len(clusters) == 2:
            break
    return {frozenset(ids[number] for number in cluster) for cluster in clusters}


def test_equals_brute_force_and_the_paper_on_a_thousand_matrices() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1000):
        count = int(rng.integers(2, 9))
        ids, values = named(count), similarities(rng, count)
        found = bipartition(Matrix(ids, values))
        wanted, cross = by_brute_force(ids, values)
        assert as_sets(found.parts) == wanted
        assert found.cross == cross
        assert count == 2 or by_the_paper(ids, values) == wanted


@pytest.mark.parametrize("count", [3, 20, 75, 200])
def test_is_the_last_merge_of_single_linkage(count: int) -> None:
    ids, values = named(count), similarities(np.random.default_rng(count), count)
    tree = linkage(squareform(1 - values.astype(np.float64), checks=False), "single")
    labels = fcluster(tree, 2, "maxclust")
    wanted = {frozenset(client for client, label in zip(ids, labels, strict=True) if label == one) for one in (1, 2)}
    found = bipartition(Matrix(ids, values))
    assert as_sets(found.parts) == wanted
    assert found.cross == pytest.approx(1 - tree[-1, 2], abs=1e-6)


def test_complete_linkage_is_scikit_learns_and_worse_than_algorithm_1() -> None:
    """The published code's cut: on random matrices the largest similarity across is larger more often than not."""
    rng, worse = np.random.default_rng(4), 0
    for _ in range(100):
        ids, values = named(10), similarities(rng, 10)
        labels = AgglomerativeClustering(metric="precomputed", linkage="complete").fit(1 - values).labels_
        wanted = {frozenset(np.array(ids)[labels == one].tolist()) for one in (0, 1)}
        found = complete_linkage(Matrix(ids, values))
        assert as_sets(found.parts) == wanted
        assert found.cross == values[np.not_equal.outer(labels, labels)].max()
        worse += found.cross > bipartition(Matrix(ids, values)).cross
    assert worse > 50
    tied = complete_linkage(Matrix(named(4), np.ones((4, 4), np.float32)))  # as of clients that do not move
    assert sorted(client for part in tied.parts for client in part) == list(named(4))
    assert all(tied.parts)


@pytest.mark.parametrize("levels", [1, 2, 3, 1000])
def test_the_order_of_clients_changes_nothing_even_on_ties(levels: int) -> None:
    """Few different values: many bipartitions are as good, and always the same one is given."""
    rng = np.random.default_rng(levels)
    for _ in range(50):
        count = int(rng.integers(2, 9))
        ids = named(count)
        values = np.round(similarities(rng, count) * levels / 2).astype(np.float32)
        np.fill_diagonal(values, levels)
        found = bipartition(Matrix(ids, values))
        assert found.cross == by_brute_force(ids, values)[1]
        shuffled = rng.permutation(count)
        again = bipartition(Matrix(tuple(ids[number] for number in shuffled), values[np.ix_(shuffled, shuffled)]))
        assert again == found


def test_ids_in_ids_out() -> None:
    """Four clients whose names say nothing of their place: b and z are alike, and so are a and y."""
    values = np.array(
        [[1, 0.9, -0.5, -0.4], [0.9, 1, -0.3, -0.6], [-0.5, -0.3, 1, 0.8], [-0.4, -0.6, 0.8, 1]], np.float32
    )
    found = bipartition(Matrix(("z", "b", "y", "a"), values))
    assert found.parts == (("a", "y"), ("b", "z"))
    assert found.cross == np.float32(-0.3)
    assert inside_similarity(Matrix(("z", "b", "y", "a"), values), found) == pytest.approx((0.9 + 0.8) / 2)


def test_inside_a_part_only_the_nearest_counts() -> None:
    """a alone; b, c and d together: b is nearest to c (0.8), c to b (0.8), d to b (0.2): (0 + 0.8 + 0.8 + 0.2) / 4."""
    two = Matrix(("a", "b"), np.array([[1, -0.2], [-0.2, 1]], np.float32))
    assert inside_similarity(two, bipartition(two)) == 0
    values = np.array([[1, 0, 0, 0], [0, 1, 0.8, 0.2], [0, 0.8, 1, 0.1], [0, 0.2, 0.1, 1]], np.float32)
    alike = Matrix(("a", "b", "c", "d"), values)
    found = bipartition(alike)
    assert found.parts == (("a",), ("b", "c", "d"))
    assert inside_similarity(alike, found) == pytest.approx(0.45)


def test_one_client_cannot_be_parted() -> None:
    with pytest.raises(InputError, match="one client cannot be parted"):
        bipartition(Matrix(("a",), np.ones((1, 1), np.float32)))
