"""UMAP's embedding, where umap-learn is installed; and what is said where it is not."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import InputError, Points, Round
from fedclade.core.points import pad_points
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import method_named
from fedclade.methods.flt import embedding
from fedclade.methods.flt.embedding import FAR_FACTOR, add_to_layout, embed_points, pull_in_outliers, start_warm_up
from fedclade.methods.flt.encoder import EmbeddedPlaces, Encoder, groups_of_points, point_places
from fedclade.methods.flt.found_groups import GroupSearch
from fedclade.nets import net_for
from fedclade.testing import Interrupted, play_run
from fedclade.wire import Reply

HERE = find_spec("umap") is not None
WITH_UMAP = pytest.mark.skipif(not HERE, reason="umap-learn is not installed")


def two_heaps() -> Points:
    rng = np.random.default_rng(0)
    points = {
        f"c{number:02}": rng.normal(size=(3 + number % 2, 8)).astype(np.float32) + 20 * (number % 2)
        for number in range(12)
    }
    return pad_points(points, {client: np.ones(len(own), np.int64) for client, own in points.items()})


def five_far_heaps(spread: float = 1.0) -> Points:
    """More than there are ends of axes, 16 points each: a component each of the graph of neighbours."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 8)) * 100
    points = {f"c{number:02}": spread * rng.normal(size=(4, 8)) + centres[number % 5] for number in range(20)}
    counts = {client: np.ones(4, np.int64) for client in points}
    return pad_points({client: own.astype(np.float32) for client, own in points.items()}, counts)


def single_points(points: dict[str, tuple[float, float]]) -> Points:
    one = np.ones(1, np.int64)
    return pad_points(
        {client: np.array([own], np.float32) for client, own in points.items()}, dict.fromkeys(points, one)
    )


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


@WITH_UMAP
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


@WITH_UMAP
@pytest.mark.slow
def test_a_spectral_start_is_the_same_in_every_process() -> None:
    """Of heaps of 16 equal points umap-learn's own differs by 10 and more from call to call."""
    worlds = [(five_far_heaps(spread), 2, 7, "spectral") for spread in (1.0, 0.0)]
    with get_context("spawn").Pool(1) as other:  # one, which compiles UMAP once
        elsewhere = other.starmap_async(embed_points, worlds).get(timeout=280)
    for (points, *_), there in zip(worlds, elsewhere, strict=True):
        one, again = (embed_points(points, 2, 7, "spectral") for _ in range(2))
        assert one.places.tobytes() == again.places.tobytes() == there.places.tobytes()
        assert one.places.tobytes() != embed_points(points, 2, 7, "pca").places.tobytes()
        found = groups_of_points(points, Encoder(umap_dimensions=2, umap_start="spectral"), GroupSearch(seed=7))
        assert found.sketches is not None
        assert found.sketches.places.tobytes() == one.places.tobytes()
        assert found.groups == tuple(points.clients[number::5] for number in range(5))


@WITH_UMAP
@pytest.mark.slow
def test_a_newcomer_comes_to_lie_beside_the_client_that_it_copies() -> None:
    points = five_far_heaps()
    how = Encoder(umap_dimensions=2, umap_newcomers="transform")
    found = groups_of_points(points, how, GroupSearch(seed=7))
    places = how.places(found, points)
    assert isinstance(places, EmbeddedPlaces)
    copies = Points(tuple(f"new {client}" for client in points.clients), points.places, points.counts)
    expected = {f"new {client}": group for client, group in found.partition.labels.items()}
    assert places.nearest(copies) == expected
    some = copies.of([copies.clients[7], copies.clients[3]])
    alone, beside = (add_to_layout(each, places.points, places.layout) for each in (some, copies))
    assert alone.places.tobytes() == beside.of(some.clients).places.tobytes(), "whoever comes at the same time"
    assert alone.places == pytest.approx(places.layout.of(["c07", "c03"]).places, abs=2), "heaps are farther apart"

    stranger = Points(("stranger",), points.places[:1] + 1000, points.counts[:1])
    assert places.nearest(stranger) == {"stranger": None}
    wider = places.with_group(stranger)
    assert wider.nearest(Points(("alike",), stranger.places, stranger.counts)) == {"alike": 5}
    assert wider.nearest(some) == {client: expected[client] for client in some.clients}
    assert places.without_limits().nearest(stranger)["stranger"] in range(5)
    assert places.nearest(copies.of([])) == {}


@WITH_UMAP
@pytest.mark.slow
def test_a_newcomer_goes_by_neighbours_in_the_layout_and_by_means_as_sent() -> None:
    """A line from (0, 0) to (100, 0), a heap at (100, 28), and a newcomer at (97, 0), on the line.

    By hand: from there the mean distance is (97^2 + 3^2) / 200, or 47, to the line, and sqrt(3^2 + 28^2), or 28.2, to
    the heap. But 13 of its 15 nearest points are on the line: those from 69 to 100, 2.56 apart.
    """
    line = {f"a{number:02}": (number * 100 / 39, 0.0) for number in range(40)}
    heap = {f"b{number:02}": (100 + number % 5 / 10, 28 + number // 5 / 10) for number in range(20)}
    points = single_points({**line, **heap})
    sent, newcomer = point_places(points, [tuple(line), tuple(heap)]), single_points({"new": (97.0, 0.0)})
    assert sent.nearest(newcomer) == {"new": 1}
    places = EmbeddedPlaces(sent, points, embed_points(points, 2, 0), np.repeat([0, 1], [40, 20]))
    assert places.nearest(newcomer) == {"new": 0}


@WITH_UMAP
@pytest.mark.slow
def test_a_kill_before_newcomers_come_changes_nothing(tmp_path: Path) -> None:
    """The layout is plain data of the state."""
    signature = Encoder(points=2, umap_dimensions=2, umap_start="spectral", umap_newcomers="transform")
    method = fc.FLT(signature=signature, groups=2)
    newcomers = {"rounds": (3,), "share": 0.25}
    federation = fc.data.build(source="digits", world="classes", clients=12, groups=2, newcomers=newcomers, seed=1)
    whole, models = play_run(method, federation, tmp_path / "whole", rounds=4)
    with pytest.raises(Interrupted):
        play_run(method, federation, tmp_path / "cut", rounds=4, stop_after=2)
    resumed, _ = play_run(method, federation, tmp_path / "cut", rounds=4)
    assert resumed["model_hash"] == whole["model_hash"]
    assert models.groups() == federation.truth


@pytest.mark.parametrize("setting", [{"umap_start": "spectral"}, {"umap_newcomers": "transform"}])
def test_settings_of_umap_without_umap_are_refused(setting: dict[str, str]) -> None:
    name = next(iter(setting))
    with pytest.raises(InputError, match=f"{name} does nothing, Encoder.{name}: got .* need umap_dimensions of 2 or 3"):
        Encoder(**setting)  # type: ignore[arg-type]  # of the right types
    table = {"kind": "encoder", **setting}
    with pytest.raises(InputError, match=f"{name} does nothing, method.signature.{name}"):
        method_named("flt", {"signature": table})
    assert method_named("flt", {"signature": {**table, "umap_dimensions": 2}})


def test_without_a_layout_newcomers_are_compared_as_sent() -> None:
    """Two clients are too few to embed."""
    points = two_heaps().of(["c00", "c01"])
    how = Encoder(umap_dimensions=2, umap_newcomers="transform")
    places = how.places(groups_of_points(points, how), points)
    assert not isinstance(places, EmbeddedPlaces)


def test_a_point_beyond_all_others_is_drawn_in() -> None:
    """By hand: 1, 2, 3, 4 and a liar; the middle is 3, distances from it 2, 1, 0, 1 and huge: 1 in the median."""
    line = np.array([[1], [2], [3], [4], [1e9]], np.float32)
    assert pull_in_outliers(line, line).tolist() == [[1], [2], [3], [4], [3 + FAR_FACTOR]]
    same = np.array([[1], [1], [1], [5]], np.float32)
    assert pull_in_outliers(same, same).tolist() == same.tolist(), "no distance is usual"


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
