"""FLT's figure 3 and matrices of relatedness, on links and clouds of points made up by hand."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from fedclade.core import Groups, Points
from fedclade.data import build
from fedclade.methods import FLT, Encoder, FoundGroups
from fedclade_papers import flt_figure3
from fedclade_papers.matrices import (
    Links,
    client_points,
    count_links,
    cut_margin,
    flt_of,
    groups_and_links,
    groups_of,
    label_links,
    move_clients,
    one_cloud_margins,
    pair_shares,
    picture,
)
from papers.doubles import check, found_in

WITH_UMAP = pytest.mark.skipif(
    find_spec("umap") is None and not os.environ.get("CI"), reason="umap-learn is not installed"
)  # in CI it must be there
PAIRS = "ab cd bc"  # links of four clients a, b, c, d
IDS = tuple(f"{number:02d}" for number in range(40))


def links_of(pairs: str) -> Links:
    linked = {frozenset(pair) for pair in pairs.split()}
    return np.array([[one == other or frozenset((one, other)) in linked for other in "abcd"] for one in "abcd"])


def points_at(places: np.ndarray) -> Points:
    """Clients with these points each: (40, points, dimensions)."""
    return Points(IDS, places.astype(np.float32), np.ones(places.shape[:2], np.int64))


@pytest.mark.parametrize(
    ("pairs", "cloud", "fails"),
    [
        (PAIRS, 0.7, []),  # both pairs of a group, and one of the four across: 0.75
        (PAIRS, 0.8, ["cut into two"]),
        ("ac bd", 0.0, ["cut into two"]),  # no pair of a group, two across
        ("", 0.0, ["neither empty nor complete", "cut into two"]),
        ("ab ac ad bc bd cd", 0.0, ["neither empty nor complete", "cut into two"]),
    ],
)
def test_figure_3(pairs: str, cloud: float, fails: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four writers, cut into a with b and c with d; their links are made up, and so is what one cloud gives."""
    links = links_of(pairs)
    seen = FoundGroups(
        partition=Groups((("a", "b"), ("c", "d"))),
        distance="encoder",
        separations={},
        has_groups=True,
        silhouettes={},
        clients=tuple("abcd"),
        squared=np.where(links, 0.5, 2.0).astype(np.float32),
        tree=np.zeros((3, 4)),
        order=("d", "c", "b", "a"),
        sketches=Points(tuple("abcd"), np.zeros((4, 1, 2), np.float32), np.ones((4, 1), np.int64)),
    )
    monkeypatch.setattr(flt_figure3, "one_cloud_margins", lambda *_: [0.0, cloud, -0.1])
    monkeypatch.setattr(flt_figure3, "build", lambda **_: None)
    monkeypatch.setattr(flt_figure3, "client_points", lambda *_: seen.sketches)
    monkeypatch.setattr(flt_figure3, "groups_of", lambda *_: seen)
    outcome = flt_figure3.ITEM.read(found_in(tmp_path, []))
    check(outcome, *fails)
    matrix = links.astype(int)
    assert outcome.series["raw"] == {"matrix": matrix.tolist(), "order": list("abcd")}
    assert outcome.series["reordered"] == {"matrix": matrix[::-1, ::-1].tolist(), "order": list("dcba")}
    assert outcome.series["two groups"]["matrix"] == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("places", "dimensions"),
    [
        ("two", 0),
        ("one", 0),
        pytest.param("one", 2, marks=[WITH_UMAP, pytest.mark.slow]),
    ],  # UMAP pulls any points apart
)
def test_one_cloud_is_cut_in_two_as_well(places: str, dimensions: Literal[0, 2]) -> None:
    """Forty clients in two places are parted better than any one cloud as wide; one cloud is not."""
    rng = np.random.default_rng(0)
    middle = rng.normal(0, 0.9, (40, 2)) if places == "one" else np.repeat([[0.0, 0.0], [3.0, 0.0]], 20, axis=0)
    points = points_at(middle[:, None] + rng.normal(0, 0.3, (40, 5, 2)))
    signature = Encoder(distance="smallest", cut="ward", umap_dimensions=dimensions)
    how = FLT(signature=signature, gamma=1.0, groups=2)
    inside, across = cut_margin(groups_of(points, how), 1.0)
    clouds = one_cloud_margins(points, how, 20)
    assert inside > across
    assert len(clouds) == 20
    assert (inside - across > max(clouds)) is (places == "two")


def test_a_cloud_is_as_wide_as_the_clients() -> None:
    """Over many draws the covariance of clients' middles is that of the real ones; the points around them stay."""
    middles = np.random.default_rng(1).normal(0, 1, (40, 3)) * np.array([3.0, 1.0, 0.1])
    points = points_at(middles[:, None] + np.array([[-1.0], [1.0]]))
    moved = [move_clients(points, draw).places for draw in range(500)]
    drawn = np.concatenate([each.mean(axis=1) for each in moved])
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(middles.T), atol=0.2)
    np.testing.assert_allclose([each[:, 1] - each[:, 0] for each in moved], 2.0, atol=1e-5)


@WITH_UMAP
@pytest.mark.slow
def test_points_and_their_groups_are_those_of_flt() -> None:
    """The one-shot step in two pieces: the points that clients send, and the groups that the server makes of them."""
    digits = build(source="digits", world="classes", clients=12, groups=3)
    signature = {"kind": "encoder", "umap_dimensions": 2, "distance": "smallest", "cut": "ward"}
    how = {"name": "flt", "signature": signature, "gamma": 1.0, "groups": 3}
    whole, links = groups_and_links(digits, how)
    pieces = groups_of(client_points(digits, how), flt_of(how))
    assert np.array_equal(pieces.squared, whole.squared)
    assert np.array_equal(pieces.squared < flt_of(how).gamma ** 2, links)
    assert pieces.partition.members == whole.partition.members


def test_shares_of_pairs() -> None:
    """a and b, c and d: both pairs of a group are linked, and b with c is one of four others."""
    truth = label_links({"a": 7, "b": 7, "c": 2, "d": 2}, "abcd")
    assert truth.astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert picture(truth, "abcd", ["c", "a"]) == {"matrix": [[1, 0], [0, 1]], "order": ["c", "a"]}
    assert pair_shares(links_of(PAIRS), truth) == (1.0, 0.25)
    assert count_links(links_of(PAIRS), truth) == (2, 1)
    assert pair_shares(links_of("ab"), truth) == (0.5, 0.0)
    assert pair_shares(links_of(PAIRS), np.ones((4, 4), np.bool_)) == (0.5, 0.0)  # one group: three of six pairs
