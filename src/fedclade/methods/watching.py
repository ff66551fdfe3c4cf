"""The server's own watch over change: whose update points away from those of its group.

FLT's authors name this beside flags and fixed intervals, and leave it open how. Here an update is far when its distance
from the mean of the others' in its group is several times the usual one of the round. That is a reason to look at the
client's data again, and no more: updates are noisy, and a sketch tells what has changed.

The server must see every client's own model for this, as it does in case I anyway: a mean does not tell whose part
of it is unlike the others'.
"""

from collections.abc import Mapping

import numpy as np

from fedclade.fleet import Fleet, Means, Updates
from fedclade.methods.mixing import weighted_mean
from fedclade.nouns import Assignment, ClientId, Round

FAR = 1.25  # of the usual distance: loose, since a look that was for nothing costs a sketch


def watched_mean(
    fleet: Fleet, starts: Assignment, group: Mapping[ClientId, int], now: Round
) -> tuple[Means, tuple[ClientId, ...]]:
    """`train_mean` with open eyes: the mean for each model, and who went astray."""
    updates = fleet.train(starts, now)
    return mean_of(starts, updates), astray(starts, group, updates)


def astray(starts: Assignment, group: Mapping[ClientId, int], updates: Updates) -> tuple[ClientId, ...]:
    """Who of these clients went elsewhere than its group; who was heard alone of its group has nobody to go with."""
    moved = updates.rows.astype(np.float64) - starts.rows[[starts.home[client] for client in updates.clients]]
    groups = np.array([group[client] for client in updates.clients], np.int64)
    far = np.full(len(groups), np.nan)
    for number in np.unique(groups):
        own = np.flatnonzero(groups == number)
        if len(own) > 1:
            others = (moved[own].sum(axis=0) - moved[own]) / (len(own) - 1)
            far[own] = np.linalg.norm(moved[own] - others, axis=1) / np.sqrt(1 + 1 / (len(own) - 1))
    usual = np.nanmedian(far) if np.isfinite(far).any() else np.inf
    return tuple(client for client, distance in zip(updates.clients, far, strict=True) if distance > FAR * usual)


def mean_of(starts: Assignment, updates: Updates) -> Means:
    """What `train_mean` would have given, from every client's own model."""
    rows = np.array(starts.rows)
    home = np.array([starts.home[client] for client in updates.clients], np.int64)
    examples = np.bincount(home, weights=updates.examples, minlength=len(rows)).astype(np.int64)
    for row in np.flatnonzero(examples):
        own = home == row
        rows[row] = weighted_mean(updates.rows[own], updates.examples[own].tolist())
    return Means(rows, examples, updates.clients, updates.loss)
