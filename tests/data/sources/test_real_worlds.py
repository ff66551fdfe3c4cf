"""The papers' scenarios on the real data: sizes, classes and disjointness as the papers say."""

import numpy as np
import pytest

from fedclade.data import Federation, Part, build

pytestmark = pytest.mark.usefixtures("real")


def all_parts(federation: Federation) -> list[Part]:
    return [part for held in federation.data.values() for part in (held.train, held.test)]


def positions(parts: list[Part]) -> list[int]:
    return [int(place) for part in parts for place in part.index]


def classes_of_groups(federation: Federation) -> list[set[int]]:
    assert federation.truth is not None
    return [
        {int(label) for client in group for label in np.unique(federation[client].train.labels)}
        for group in federation.truth.members
    ]


def test_scenario_1() -> None:
    federation = build(source="mnist", world="classes", clients=100, groups=5)
    sizes = [len(federation[client].train) + len(federation[client].test) for client in federation.clients]
    assert len(sizes) == 100
    assert 540 <= min(sizes) <= max(sizes) <= 600
    used = positions(all_parts(federation))
    assert len(set(used)) == len(used) == sum(sizes)
    classes = classes_of_groups(federation)
    assert [len(each) for each in classes] == [2] * 5
    assert set().union(*classes) == set(range(10))


def test_scenario_2() -> None:
    federation = build(source="mnist", world="overlap", clients=100, groups=5)
    used = positions(all_parts(federation))
    assert len(set(used)) == len(used)
    classes = classes_of_groups(federation)
    assert [len(each) for each in classes] == [3] * 5
    shared = sum(len(one & other) for one in classes for other in classes)
    assert shared == 5 * 3 + 2 * 5  # five shared ones, seen twice


@pytest.mark.parametrize("test_on", ["own", "group"])
def test_scenario_4(test_on: str) -> None:
    federation = build(source="emnist47", world="structured", clients=2400, groups=10, test_on=test_on)
    parts = all_parts(federation)
    assert len({id(part.pool) for part in parts}) == (
        1 if test_on == "own" else 2
    )  # clients hold positions: no second copy of the images
    assert sorted(positions(parts if test_on == "own" else parts[::2])) == list(range(95_495))
    assert federation.truth is not None
    for group, trained in zip(federation.truth.members, classes_of_groups(federation), strict=True):
        tested = {int(label) for client in group for label in np.unique(federation[client].test.labels)}
        assert tested <= trained
    assert {45, 46} in classes_of_groups(federation)


def test_writers() -> None:
    federation = build(source="mnist-writers", world="writers", clients=200)
    assert len(federation) == 200
    assert federation.truth is None
    assert min(len(federation[client].train) for client in federation.clients) >= 17
