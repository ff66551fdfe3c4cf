"""What plots of a discovery need is computed from its facts when they are drawn; old runs have it stored."""

import numpy as np

import fedclade as fc
from fedclade.core import Moments
from fedclade.core.points import pad_points
from fedclade.methods.flt.class_moments import groups_of_moments
from fedclade.methods.flt.encoder import Encoder, groups_of_points
from fedclade.methods.flt.found_groups import FoundGroups, discovery_facts
from fedclade.methods.flt.training import relatedness_graph
from fedclade.report.discovery import discovery_of


def test_a_discovery_can_be_drawn() -> None:
    federation = fc.data.build(source="digits", world="rotation", clients=12, groups=3)
    found = fc.find_groups(federation)
    drawn = discovery_of(discovery_facts(found))
    assert sorted(drawn.order) == list(drawn.clients) == list(federation.clients)
    assert drawn.distances.shape == (12, 12)
    assert drawn.adjacency.sum() == 3 * 4 * 4
    assert drawn.tree.shape == (11, 4)
    assert drawn.places.shape == (12, 2)
    assert drawn.order == found.order


def test_a_graph_is_drawn_in_the_place_of_groups() -> None:
    found = discovered(6, 2)
    graph = relatedness_graph(found.clients, found.squared, 10.0**9, soft=False)  # everybody is near to everybody
    assert discovery_of(discovery_facts(found)).adjacency.sum() == 2 * 3 * 3
    assert discovery_of(discovery_facts(found, graph)).adjacency.sum() == 6 * 6


def discovered(clients: int, groups: int) -> FoundGroups:
    """Clients in groups, told apart by one feature: group g has mean 100 g, the client's number decides its group."""
    means = np.zeros((clients, 1, 1), np.float32)
    means[:, 0, 0] = 100 * (np.arange(clients) % groups)
    names = tuple(f"client-{number:04d}" for number in range(clients))
    counts = np.full((clients, 1), 50, np.int64)
    return groups_of_moments(Moments(names, counts, means, np.full((clients, 1), 0.02, np.float32)))


def test_many_clients_are_binned_by_group() -> None:
    drawn = discovery_of(discovery_facts(discovered(401, 3)))
    sizes = np.array(drawn.bins)
    # 401 clients in at most 200 bins are three to a bin; groups of 134, 134 and 133 have 45 bins each.
    assert sizes.sum() == 401
    assert len(sizes) == 135
    assert sizes.max() == 3
    group = np.repeat([0, 1, 2], 45)
    assert np.allclose(drawn.distances**2, 10_000 * np.subtract.outer(group, group) ** 2, atol=1)
    assert np.array_equal(drawn.adjacency, np.equal.outer(group, group))


def test_of_very_many_clients_a_thousand_are_shown() -> None:
    facts = discovery_facts(discovered(1203, 3))
    assert facts["sizes"] == [401, 401, 401]  # of everybody
    drawn = discovery_of(facts)
    assert len(drawn.clients) == len(drawn.groups) == 1000
    assert drawn.tree.shape == (999, 4)
    assert sorted(drawn.order) == list(drawn.clients)
    assert all(drawn.groups[client] == int(client[-4:]) % 3 for client in drawn.clients)


def test_sketches_are_drawn_in_two_dimensions() -> None:
    rng = np.random.default_rng(0)
    own = {f"c{number}": rng.normal(size=(4, 12)).astype(np.float32) + 9 * (number % 2) for number in range(6)}
    points = pad_points(own, {client: np.ones(4, np.int64) for client in own})
    drawn = discovery_of(discovery_facts(groups_of_points(points, Encoder())))
    shown = np.array(drawn.sketches)
    assert shown.shape == (6, 4, 2)
    # Two dimensions keep what two dimensions can: as an independent decomposition says.
    flat = points.places.reshape(-1, 12).astype(np.float64)
    singular = np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(np.square(shown.reshape(-1, 2)).sum(axis=0), singular[:2] ** 2, rtol=1e-3)
    many = {f"x{number:03}": np.zeros((1, 2), np.float32) for number in range(201)}
    large = groups_of_points(pad_points(many, dict.fromkeys(many, np.ones(1, np.int64))), Encoder())
    assert discovery_of(discovery_facts(large)).sketches == ()


def test_arrays_that_do_not_fit_are_not_drawn() -> None:
    facts = discovery_facts(discovered(6, 2))
    for squared in (
        *(np.zeros((5, 5)), np.full((6, 6), np.nan), np.full((6, 6), 1e308), np.zeros(6), np.array([["x"] * 6] * 6)),
    ):
        assert discovery_of({**facts, "squared": squared}).distances.size == 0
    many = [f"c{number}" for number in range(1001)]
    assert discovery_of({**facts, "clients": many, "squared": np.zeros((1001, 1001))}).distances.size == 0
    tree = np.array([[0, 1, 0, 2], [2, 3, 0, 2]], np.float64)
    for other in (np.zeros((5, 4)), tree, discovery_facts(discovered(9, 3))["tree"]):  # of other clients
        drawn = discovery_of({**facts, "tree": other})
        assert drawn.tree.size == 0
        assert sorted(drawn.order) == list(drawn.clients)
    none = {"points": np.ones((6, 1, 5)), "counts": np.zeros((6, 1))}
    assert discovery_of({**facts, **none}).sketches == ()
    wide = {"points": np.ones((6, 1, 5000)), "counts": np.ones((6, 1))}
    assert discovery_of({**facts, **wide}).sketches == ()
    assert discovery_of({**facts, "points": np.zeros((2, 2, 2)), "counts": np.ones((2, 2))}).sketches == ()
