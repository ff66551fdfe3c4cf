"""What figures need is plain, and true."""

import json

import numpy as np

import fedclade as fc
from fedclade.relate.figures import embedded, figures


def test_an_embedding_keeps_the_distances_of_points_in_a_plane() -> None:
    points = np.random.default_rng(0).normal(size=(12, 2))
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    places = embedded(squared.astype(np.float32))
    again = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(again, squared, rtol=0, atol=1e-4)


def test_figures_are_plain_and_complete() -> None:
    federation = fc.data.build(source="digits", world="rotation", clients=12, groups=3)
    found = fc.find_groups(federation)
    told = json.loads(json.dumps(figures(found)))
    assert told["count"] == 3
    assert sorted(told["order"]) == told["clients"] == list(federation.clients)
    assert np.array(told["squared_distances"]).shape == (12, 12)
    assert np.array(told["adjacency"]).sum() == 3 * 4 * 4
    assert np.array(told["tree"]).shape == (11, 4)
    assert np.array(told["embedding"]).shape == (12, 2)
