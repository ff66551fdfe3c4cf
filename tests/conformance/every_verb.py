"""A method for tests that uses every verb of a fleet.

At the start it takes sketches, and cuts the clients in two by the first principal direction of their updates. In every
round clients choose a centre by its loss, means train the centres, and one client's own model is looked at.
"""

from dataclasses import dataclass, replace

import numpy as np

from fedclade.core import Assignment, ClientId, Round, Row, Rows, settings
from fedclade.fleet import Fleet, Sketching
from fedclade.methods import Facts, First, Needs


@dataclass(frozen=True, eq=False)
class Remembered:
    """Two centres, the centre of each client, a model of one client, and the mean of the sketches."""

    centres: Rows
    home: dict[ClientId, int]
    lonely: tuple[ClientId, Row] | None
    sketched: Row
    tokens: dict[ClientId, int]
    changed: tuple[ClientId, ...]


@settings
class EveryVerb:
    """Two clusters, chosen by loss; uses every verb."""

    def needs(self) -> Needs:
        return Needs()

    def start(self, fleet: Fleet, first: First, now: Round) -> tuple[Remembered, Facts]:
        described = fleet.moments(fleet.clients(), "public", 1, 0.5, now)
        one = fleet.clients()[:1]
        weights = fleet.weights("fashion-mnist")  # none where examples are no images
        if len(weights):
            weights = fleet.train_mean(Assignment.of_one(weights, one), now, "fashion-mnist").rows[0]
        encoded = fleet.sketch(one, Sketching("fashion-mnist", 1, weights), now)
        sums = fleet.scatter(fleet.clients(), "pixels", now)
        basis = np.stack([sums.total / sums.examples, *sums.products[:4] / sums.examples]).astype(np.float32)
        sketches = [
            fleet.sketch(fleet.clients(), Sketching("pixels", 3), now),
            fleet.sketch(fleet.clients(), Sketching("pixels", 3, basis=basis), now),
            fleet.sketch(fleet.clients(), Sketching("pixels", 3, own_components=2), now),
        ]
        sketched = np.concatenate(
            [np.concatenate(list(dict(sorted(found.points.items())).values())).mean(axis=0) for found in sketches]
        )
        updates = fleet.train(Assignment.of_one(first(0), fleet.clients()), now)
        drifts = updates.rows - updates.rows.mean(axis=0)
        side = np.linalg.svd(drifts, full_matrices=False)[0][:, 0] > 0
        centres = np.stack([updates.rows[side == which].mean(axis=0) for which in (False, True)])
        latent = [own.sum() for own in encoded.points.values()]
        means, _ = fleet.train_best(one, centres, now)
        sketched = np.append(sketched, [described.moments.means.mean(), means.rows.sum(), *latent])
        home = dict.fromkeys(fleet.clients(), 0)
        return Remembered(centres, home, None, sketched.astype(np.float32), dict(described.tokens), ()), {}

    def round(self, state: Remembered, fleet: Fleet, now: Round) -> tuple[Remembered, Facts]:
        losses = fleet.losses(now.sample(fleet.clients()), state.centres, now)
        chosen = losses.best_row()
        means = fleet.train_mean(Assignment(state.centres, chosen), now)
        first = Assignment(state.centres, dict(list(chosen.items())[:1]))
        alone = fleet.train(first, replace(now, proximal=0.1), towards=state.centres.mean(axis=0))
        lonely = (alone.clients[0], alone.rows[0]) if alone.clients else state.lonely
        there = {client: token for client, token in state.tokens.items() if client in chosen}
        flags = fleet.data_changed(there, now)
        changed = tuple(client for client, raised in flags.changed.items() if raised)
        after = replace(state, centres=means.rows, home={**state.home, **chosen}, lonely=lonely, changed=changed)
        return after, {"heard": len(means.heard)}

    def assignment(self, state: Remembered) -> Assignment:
        return Assignment(state.centres, state.home)

    def place(
        self, state: Remembered, newcomers: tuple[ClientId, ...], fleet: Fleet, now: Round
    ) -> tuple[Remembered, Facts]:
        nearest = fleet.losses(newcomers, state.centres, now).best_row()
        return replace(state, home={**state.home, **dict.fromkeys(newcomers, 0), **nearest}), {}
