"""FLT on real MNIST: who comes late, who lies, who holds the data of two groups. Its small twin runs on digits."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import Groups
from fedclade.data import ClientData, Federation, Part, Pool
from fedclade.store.events import RoundEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import play_run
from fedclade.wire import Reply

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("FEDCLADE_DATA") and not os.environ.get("CI"),
        reason="FEDCLADE_DATA names no folder with MNIST; test_flt.py and test_class_moments.py do the same on digits",
    ),
]
WORLDS = [("classes", 5), ("rotation", 4), ("label-permutation", 4)]


def world(name: str, groups: int, **changes: object) -> Federation:
    return fc.data.build(source="mnist", world=name, clients=100, groups=groups, seed=200, **changes)


@pytest.mark.parametrize(("name", "groups"), WORLDS)
def test_newcomers_are_placed_by_one_message(name: str, groups: int, tmp_path: Path) -> None:
    federation = world(name, groups, newcomers={"rounds": (1,), "share": 0.2})
    _, models = play_run(fc.FLT(), federation, tmp_path / "run", rounds=1, participation=0.01)
    assert models.groups() == federation.truth
    (first,) = RunFolder.open(tmp_path / "run").events(RoundEvent)
    message = 10 * (32 + 1) * 4 + 12 * 8  # means and variances; counts, token, examples
    update = (784 + 1) * 10 * 4 + 2 * 8  # of the one client that trains; loss, examples
    assert first.bytes_up == len(federation.joins) * message + update


@pytest.mark.parametrize(("name", "groups"), WORLDS)
def test_a_group_that_nobody_has_met_is_told_apart(name: str, groups: int, tmp_path: Path) -> None:
    federation = world(name, groups, newcomers={"rounds": (1,), "origin": "new"})
    _, models = play_run(fc.FLT(), federation, tmp_path / "run", rounds=1, participation=0.01)
    assert models.groups() == federation.truth


@pytest.mark.parametrize(("name", "groups"), WORLDS)
def test_one_client_with_the_data_of_two_groups_merges_nobody(name: str, groups: int) -> None:
    federation = world(name, groups)
    assert federation.truth is not None
    one, other = (federation[members[0]] for members in federation.truth.members[:2])
    inputs = np.concatenate([one.train.inputs, other.train.inputs])
    pool = Pool(inputs, np.concatenate([one.train.labels, other.train.labels]))
    both = ClientData(Part(pool, np.arange(len(inputs))), one.test)
    labels = fc.find_groups(replace(federation, data={**federation.data, "x-both": both}, truth=None)).partition.labels
    assert Groups.from_labels({client: labels[client] for client in federation.clients}) == federation.truth


def test_flags_of_liars_cause_no_clustering(tmp_path: Path) -> None:
    federation = world("rotation", 4)
    liars = set(federation.clients[::5])

    def wire(replies: Iterator[Reply]) -> Iterator[Reply]:
        for reply in replies:
            lies = reply.verb == "changed" and reply.client in liars
            yield replace(reply, arrays={"changed": np.array(True)}) if lies else reply

    _, models = play_run(fc.FLT(flags=1), federation, tmp_path / "run", rounds=12, participation=0.3, wire=wire)
    facts = [event.facts for event in RunFolder.open(tmp_path / "run").events(RoundEvent)]
    assert sum(each["flags"] for each in facts) >= len(liars)
    assert not any(each["clustered_again"] for each in facts)
    assert models.groups() == federation.truth
