"""A site's examples: what load_data may give, and that it is called once a run."""

import stat
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from fedclade.data import build
from fedclade.deploy.site import LoadedData, find_client
from refusals import check_refused

SITE = {"name": "berlin", "data": "there"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    return tmp_path


class Counting:
    """A load_data that counts its calls."""

    def __init__(self, loaded: LoadedData) -> None:
        self.loaded, self.calls = loaded, 0

    def __call__(self, site: Mapping[str, object]) -> LoadedData:
        assert site["data"] == "there"
        self.calls += 1
        return self.loaded


def some(count: int = 50) -> tuple[np.ndarray, np.ndarray]:
    inputs = np.arange(count * 6, dtype=np.float32).reshape(count, 2, 3)
    return inputs, np.arange(count) % 4


def test_holds_out_a_fifth() -> None:
    held = find_client(Counting(some()), SITE, "1")
    data = held.data_at(0)
    assert held.name == "berlin"
    assert (len(data.train), len(data.test)) == (40, 10)
    together = np.concatenate([data.train.inputs, data.test.inputs]).reshape(50, 6)
    assert sorted(together[:, 0].tolist()) == [6.0 * number for number in range(50)]
    labels = np.concatenate([data.train.labels, data.test.labels])
    assert labels.tolist() == [int(row[0]) // 6 % 4 for row in together]


def test_loads_once_a_run(home: Path) -> None:
    """Flower starts a process for every message; here each call is one."""
    load = Counting(some())
    first = find_client(load, SITE, "1").data_at(0)
    for number in range(5):
        again = find_client(load, SITE, "1").data_at(number)
        assert np.array_equal(again.train.inputs, first.train.inputs)
        assert np.array_equal(again.test.labels, first.test.labels)
    assert load.calls == 1
    find_client(load, SITE, "2")
    assert load.calls == 2
    kept = [path for path in (home / "fedclade-sites").glob("*/*") if path.is_dir()]
    assert len(kept) == 1  # the old run's are gone
    assert stat.S_IMODE(kept[0].stat().st_mode) == 0o700


def test_both_parts_or_one_class_may_be_given() -> None:
    """A client of a world keeps the examples that it tests on, bit for bit."""
    world = build(source="digits", world="classes", clients=4, groups=2, seed=0)
    mine = world["client-02"]
    data = find_client(Counting(mine), SITE, "1").data_at(3)
    for one, other in ((data.train, mine.train), (data.test, mine.test)):
        assert np.array_equal(one.inputs, other.inputs)
        assert np.array_equal(one.labels, other.labels)
        assert one.inputs.dtype == other.inputs.dtype
    inputs, _ = some(10)
    assert len(find_client(Counting((inputs, np.full(10, 3))), SITE, "2").data_at(0).train) == 8


def test_mistakes_are_named_at_the_site() -> None:
    for config in ({}, {"name": 7}, {"name": ""}, {"name": "a\nb"}):
        check_refused(r"name|client", find_client, Counting(some()), config, "1")
    check_refused("this is not a table, load_data: got list", find_client, Counting([1, 2, 3]), SITE, "1")
    wrong = Counting((np.zeros((3, 2)), np.zeros(3)))
    check_refused("labels do not fit the inputs, load_data", find_client, wrong, SITE, "1")
