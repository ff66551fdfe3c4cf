"""UMAP's embedding, where umap-learn is installed; and what is said where it is not."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from multiprocessing import get_context

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import InputError, Points, Round
from fedclade.core.points import pad_points
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods.flt import embedding
from fedclade.methods.flt.embedding import FAR_FACTOR, embed_points, pull_in_outliers, start_warm_up
from fedclade.methods.flt.encoder import Encoder, groups_of_points
from fedclade.methods.flt.found_groups import GroupSearch
from fedclade.nets import net_for
from fedclade.wire import Reply

HERE = find_spec("umap") is not None


def two_heaps() -> Points:
    rng = np.random.default_rng(0)
    points = {
        f"c{number:02}": rng.normal(size=(3 + number % 2, 8)).astype(np.float32) + 20 * (number % 2)
        for number in range(12)
    }
    return pad_points(points, {client: np.ones(len(own), np.int64) for client, own in points.items()})


@pytest.mark.parametrize("preset", ["paper", "published"])
def test_without_umap_it_says_what_to_install_before_any_client_works(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_client(replies: Iterator[Reply]) -> Iterator[Reply]:
        raise AssertionError(f"a client was asked: {replies}")

    monkeypatch.setattr(embedding, "find_spec", lambda _: None)
    federation = fc.data.build(source="digits", world="iid", clients=3)
    net = net_for("logistic", federation.shape, federation.classes)
    method = fc.FLT(preset=preset)  # type: ignore[arg-type]  # one of two
    refused = pytest.raises(InputError, match=r"UMAP is not installed, embedding: need umap-learn")
    with simulated_fleet(federation, net, workers=0, wire=no_client) as fleet, refused:
        method.find(fleet, Round(0, 0))


@pytest.mark.skipif(not HERE, reason="umap-learn is not installed")
@pytest.mark.slow
def test_umap_is_reproducible_and_keeps_heaps_apart() -> None:
    points = two_heaps()
    one, again = (embed_points(points, 2, 7) for _ in range(2))
    assert one.places.shape == (12, 4, 2)
    assert one.places.tolist() == again.places.tolist()
    assert one.places[0, 3].tolist() == one.places[0, 2].tolist(), "a filler stays with what it copies"
    found = groups_of_points(points, Encoder(umap_dimensions=2), GroupSearch(seed=7))
    assert found.groups == (points.clients[::2], points.clients[1::2])
    assert found.sketches is not None
    assert found.sketches.places.shape == (12, 4, 2)
    with get_context("fork").Pool(1) as forked:  # what has threads here has none there
        there = forked.apply_async(embed_points, (points, 2, 7)).get(timeout=300)
    assert there.places.tolist() == one.places.tolist()


def test_a_point_beyond_all_others_is_drawn_in() -> None:
    """By hand: 1, 2, 3, 4 and a liar; the middle is 3, distances from it 2, 1, 0, 1 and huge: 1 in the median."""
    line = np.array([[1], [2], [3], [4], [1e9]], np.float32)
    assert pull_in_outliers(line).tolist() == [[1], [2], [3], [4], [3 + FAR_FACTOR]]
    same = np.array([[1], [1], [1], [5]], np.float32)
    assert pull_in_outliers(same).tolist() == same.tolist(), "no distance is usual"


@pytest.mark.parametrize("few", [["c00"], ["c00", "c01"]])
def test_too_few_points_or_clients_stay_where_they_are(few: list[str]) -> None:
    points = two_heaps().of(few)
    assert embed_points(points, 2, 0) is points


def test_what_is_wrong_with_umap_does_not_show_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that fails leaves no trace; there is one in a process."""
    monkeypatch.setitem(sys.modules, "umap", None)  # as if it could not be imported
    start_warm_up.cache_clear()
    one, other = start_warm_up(), start_warm_up()
    one.join()
    assert one is other
    assert one.daemon
    start_warm_up.cache_clear()
