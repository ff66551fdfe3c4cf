"""Worlds that change: drift and newcomers, over any world."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedclade.core import ClientId, InputError
from fedclade.core.preparation import NumberInput
from fedclade.data import Federation, build
from fedclade.data.federation import Change
from fedclade.data.load import prepare
from fedclade.data.recipe import read_recipe
from refusals import check_refused


def classes(**more: object) -> Federation:
    return build(source="digits", world="classes", clients=20, groups=4, **more)  # type: ignore[arg-type]  # settings


@pytest.fixture(scope="module")
def steady() -> Federation:
    return classes()


def drifting(**drift: object) -> Federation:
    return classes(drift={"round": 3, **drift})


def positions(federation: Federation, number: int) -> Counter[int]:
    held = [federation.data_at(client, number) for client in federation.clients]
    return Counter(int(place) for each in held for part in (each.train, each.test) for place in part.index)


def changed(federation: Federation) -> set[ClientId]:
    return set(federation.changes[0].data)


def test_clients_that_change_group_exchange_their_data(steady: Federation) -> None:
    federation = drifting(kind="group", share=0.2)
    moved = changed(federation)
    assert len(moved) == 4
    before, after = federation.truth_at(2), federation.truth_at(3)
    assert before == steady.truth
    assert after is not None
    assert before is not None
    assert sorted(map(len, after.members)) == sorted(map(len, before.members))
    for client in federation.clients:
        same = federation.data_at(client, 3) is federation.data_at(client, 2)
        assert same == (client not in moved)
    for client in moved:  # now with the classes of the group it is in now
        members = after.members[after.labels[client]]
        theirs = set(steady[next(other for other in members if other not in moved)].train.labels)
        assert set(federation.data_at(client, 3).train.labels) == theirs
        assert set(federation.data_at(client, 2).train.labels) != theirs
    assert positions(federation, 2) == positions(federation, 3) == positions(steady, 0)


def test_images_that_are_turned() -> None:
    federation = drifting(kind="rotate", share=0.25)
    moved = changed(federation)
    assert len(moved) == 5
    for client in moved:
        before, after = federation.data_at(client, 2).test, federation.data_at(client, 3).test
        assert np.array_equal(after.inputs, np.rot90(before.inputs, axes=(2, 3)))
    truth = federation.truth_at(3)
    assert truth is not None
    label = truth.labels
    assert all((label[one] == label[two]) <= ((one in moved) == (two in moved)) for one in label for two in label)


def test_turned_clients_join_the_group_that_is_turned_as_they_are() -> None:
    """Over `rotation`: a turned client of group 0 sees what group 1 sees, and is one of it."""
    turn = {"round": 3, "share": 0.5, "kind": "rotate"}
    federation = build(source="digits", world="rotation", clients=40, groups=4, drift=turn)
    truth = federation.truth_at(3)
    assert truth is not None
    turns = [{federation.data_at(client, 3).train.quarter_turns for client in group} for group in truth.members]
    assert sorted(map(sorted, turns)) == [[0], [1], [2], [3]]


@pytest.mark.parametrize("seed", range(10))
def test_nobody_meets_a_new_group_before_it_comes(seed: int) -> None:
    new_group = {"rounds": (8,), "origin": "new"}
    federation = classes(seed=seed, drift={"round": 3, "share": 0.3}, newcomers=new_group)
    late = next(client for client in federation.clients if federation.joins.get(client) == 8)
    new = set(federation[late].train.labels)
    assert set(federation.changes[0].data) <= set(federation.clients_at(3))
    assert not any(new & set(federation.data_at(client, 5).train.labels) for client in federation.clients_at(5))


def test_a_change_is_checked_where_it_is_made(steady: Federation) -> None:
    held = steady["client-00"]
    empty = replace(held, train=replace(held.train, index=held.train.index[:0]))
    none = Change(3, {}, None)
    check_refused("has no training examples", replace, steady, changes=(Change(3, {"client-00": empty}, None),))
    check_refused("is not known", replace, steady, changes=(Change(3, {"nobody": held}, None),))
    check_refused("changes are out of order", replace, steady, changes=(none, replace(none, round=2)))
    check_refused("changes are out of order", replace, steady, changes=(replace(none, round=0),))


def test_classes_that_are_gained_and_by_whom() -> None:
    federation = drifting(kind="gain", share=0.2)
    moved = changed(federation)
    assert len(moved) == 4
    for client in moved:
        before, after = federation.data_at(client, 2), federation.data_at(client, 3)
        assert set(before.train.labels) < set(after.train.labels)
        assert set(before.test.labels) <= set(before.train.labels)
    assert federation.truth_at(3) == federation.truth_at(2)
    assert federation.fingerprint != drifting(kind="gain", share=0.1).fingerprint
    who = [frozenset(changed(classes(seed=seed, drift={"share": 0.2}))) for seed in (1, 1, 2, 3, 4)]
    assert who[0] == who[1]
    assert len(set(who)) > 1


def test_newcomers_from_known_groups_and_of_a_new_one(steady: Federation) -> None:
    federation = classes(newcomers={"rounds": (4, 9), "share": 0.3})
    assert federation.truth == steady.truth
    assert [len(federation.clients_at(number)) for number in (0, 3, 4, 8, 9, 99)] == [14, 14, 17, 17, 20, 20]
    label = steady.truth.labels if steady.truth is not None else {}
    assert {label[client] for client in federation.clients_at(0)} == set(label.values())
    federation = classes(newcomers={"origin": "new"})
    late = set(federation.clients) - set(federation.clients_at(0))
    assert steady.truth is not None
    assert tuple(sorted(late)) in steady.truth.members
    assert federation.clients_at(5) == federation.clients


@pytest.mark.parametrize(
    ("world", "over", "said"),
    [
        ("iid", {"drift": {"kind": "group"}}, "there are no groups to change between"),
        ("topics", {"drift": {"kind": "gain"}}, "no client has two classes"),
        ("iid", {"newcomers": {"origin": "new"}}, "there is no group that could be new"),
        ("iid", {"newcomers": {"rounds": ()}}, "no round to join at"),
        ("iid", {"newcomers": {"rounds": (0,)}}, "rounds is not usable"),
        ("iid", {"drift": {"rounds": 3}}, 'did you mean "round"'),
        ("iid", {"drift": 3}, "data.drift is not a table"),
    ],
)
def test_impossible_changes_are_named(world: str, over: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_recipe({"source": "digits", "world": world, "clients": 20, **over}).federation(seed=0)


def test_with_fewer_examples_clients_keep_some_of_their_own(steady: Federation) -> None:
    """Seven each, no one twice, all from what the client had; tests and groups as they were; others by another seed."""
    fewer = classes(fewer={"examples": 7})
    assert fewer.truth == steady.truth
    for client in steady.clients:
        kept, whole = fewer[client].train.index, steady[client].train.index
        assert len(kept) == len(set(kept.tolist())) == 7
        assert set(kept.tolist()) < set(whole.tolist())
        assert np.array_equal(fewer[client].test.index, steady[client].test.index)
    same = classes(fewer={"examples": 10**6})
    assert same.fingerprint == steady.fingerprint
    drawn = [fewer[client].train.index.tolist() for client in fewer.clients]
    assert drawn != [steady[client].train.index[:7].tolist() for client in steady.clients]


def test_a_share_keeps_sizes_as_different_as_they_are() -> None:
    """A quarter of the largest and of the smallest, at least one; tests stay."""
    whole = build(source="digits", world="quantity", clients=20)
    fewer = build(source="digits", world="quantity", clients=20, fewer={"share": 0.25, "examples": 3})
    sizes = [len(whole[client].train.index) for client in whole.clients]
    assert max(sizes) >= 10 * min(sizes)
    assert [len(fewer[client].train.index) for client in fewer.clients] == [max(round(size / 4), 1) for size in sizes]
    for client in whole.clients:
        assert set(fewer[client].train.index.tolist()) < set(whole[client].train.index.tolist())
        assert np.array_equal(fewer[client].test.index, whole[client].test.index)
    least = build(source="digits", world="quantity", clients=20, fewer={"share": 1e-6})
    assert {len(least[client].train.index) for client in least.clients} == {1}
    # Clients that exchange data exchange what they kept.
    federation = classes(fewer={"examples": 5}, drift={"round": 3, "kind": "group", "share": 0.2})
    for client in changed(federation):
        assert len(federation.data_at(client, 3).train) == 5


def test_a_table_is_prepared_from_the_rows_that_are_learned_from(tmp_path: Path) -> None:
    """Not from those that clients do not keep, nor from clients that come later."""
    rng = np.random.default_rng(0)
    rows = [f"s{site},{rng.normal(10 * site):.3f},{rng.choice(['a', 'b'])}" for site in range(6) for _ in range(40)]
    (tmp_path / "own.csv").write_text("site,x,label\n" + "\n".join(rows) + "\n")
    own = {"source": "own", "path": str(tmp_path / "own.csv"), "client": "site"}
    changes = {"fewer": {"examples": 7}, "newcomers": {"rounds": [2], "share": 0.34}}
    found = read_recipe({**own, **changes}).federation(0, prepare)
    raw = read_recipe({**own, **changes}).federation(0)
    kept = np.concatenate([raw[client].train.index for client in raw.clients_at(0)])
    assert (len(raw.clients_at(0)), len(kept)) == (4, 28)
    table = raw["s0"].train.pool.table
    assert table is not None
    values = table.columns["x"].values[kept]
    assert found.preparation is not None
    (number,) = found.preparation.inputs
    assert isinstance(number, NumberInput)
    assert (number.centre, number.scale) == pytest.approx((values.mean(), values.std()), rel=0.05)  # cut off far out
    assert found["s5"].train.inputs.shape == (7, 1)
