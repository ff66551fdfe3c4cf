"""What figures need is plain, and true."""

import json
from dataclasses import replace

import numpy as np

import fedclade as fc
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


def test_tables_that_no_figure_shows_are_not_kept() -> None:
    found = fc.find_groups(fc.data.build(source="digits", world="rotation", clients=12, groups=3))
    assert kept_for_figures(found) is found
    many = replace(found, clients=tuple(f"client-{number}" for number in range(201)))
    assert kept_for_figures(many).squared.size == kept_for_figures(many).tree.size == 0
    assert figures(kept_for_figures(many)) == figures(many)
