"""What figures need is plain, and true."""

import json

import numpy as np

import fedclade as fc
from fedclade.nouns import Moments
from fedclade.relate.discovery import Found, discover
from fedclade.relate.figures import figures, kept_for_figures


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


def discovered(clients: int, groups: int) -> Found:
    """Clients in groups, told apart by one feature: group g has mean 100 g, the client's number decides its group."""
    means = np.zeros((clients, 1, 1), np.float32)
    means[:, 0, 0] = 100 * (np.arange(clients) % groups)
    names = tuple(f"client-{number:04d}" for number in range(clients))
    counts = np.full((clients, 1), 50, np.int64)
    return discover(Moments(names, counts, means, np.full((clients, 1), 0.02, np.float32)))


def test_many_clients_are_binned_by_group() -> None:
    found = discovered(401, 3)
    assert kept_for_figures(found) is found
    told = json.loads(json.dumps(figures(found)))
    assert "squared_distances" not in told
    sizes = np.array(told["binned"]["sizes"])
    # 401 clients in at most 200 bins are three to a bin; groups of 134, 134 and 133 have 45 bins each.
    assert sizes.sum() == 401
    assert len(sizes) == 135
    assert sizes.max() == 3
    group = np.repeat([0, 1, 2], 45)
    squared = np.array(told["binned"]["squared_distances"])
    assert np.allclose(squared, 10_000 * np.subtract.outer(group, group) ** 2, atol=1)
    assert np.array_equal(np.array(told["binned"]["adjacency"]), np.equal.outer(group, group))


def test_of_very_many_clients_a_thousand_are_shown() -> None:
    found = discovered(1203, 3)
    kept = kept_for_figures(found)
    assert len(kept.clients) == len(kept.squared) == 1000
    assert kept.tree.shape == (999, 4)
    assert sorted(kept.order) == list(kept.clients)
    told = json.loads(json.dumps(figures(kept)))
    assert told == json.loads(json.dumps(figures(found)))
    assert told["sizes"] == [401, 401, 401]  # of everybody
    assert sum(map(len, told["groups"])) == len(told["clients"]) == 1000
    shown = {client: number for number, members in enumerate(told["groups"]) for client in members}
    assert all(shown[client] == int(client[-4:]) % 3 for client in told["clients"])
