"""Own data in an experiment: a table needs its client column, a folder brings its clients."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedclade.core.settings import build_settings, settings_table
from fedclade.data import Federation, OwnData, from_file, from_folder
from fedclade.data.load import prepare
from refusals import check_refused

TABLE = "site,x,fault\n" + "".join(f"{site},{number}.5,{number % 2}\n" for number in range(6) for site in "ab")


def test_a_table_is_read_from_where_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sites.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    own = build_settings(OwnData, {"path": "sites.csv", "client": "site", "label": "fault", "test": 0.5}, where="data")
    assert build_settings(OwnData, settings_table(own), where="data") == own
    same = from_file("sites.csv", client="site", label="fault", test=0.5, seed=4)
    assert held_out(own.federation(4)) == held_out(same)
    assert held_out(own.federation(5)) != held_out(same)


def held_out(federation: Federation) -> list[list[int]]:
    """The positions of each client's test examples."""
    return [held.test.index.tolist() for held in federation.data.values()]


def test_a_folder_brings_its_clients_and_a_table_names_them(tmp_path: Path) -> None:
    for name in "ab":
        np.savez(tmp_path / f"{name}.npz", x=np.arange(10).reshape(5, 2) ** 2 / 3, y=[0, 1, 0, 1, 0])
    own = OwnData(path=str(tmp_path))
    assert held_out(own.federation(1)) == held_out(from_folder(tmp_path, seed=1))
    check_refused("a folder has no client column", replace(own, client="site").federation, 1)
    (tmp_path / "sites.csv").write_text(TABLE)
    table = OwnData(path=str(tmp_path / "sites.csv"), label="fault")
    check_refused(
        r'client is missing, data.client: .*; do: give it: --client COLUMN, or client = "..." in \[data\]',
        lambda: prepare(table.federation(0)),
    )
    said = r"there is no such file or folder, data.path: got 'nowhere\.csv'"
    check_refused(said, OwnData(path="nowhere.csv").federation, 0)


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({}, "data.path"),
        ({"path": ""}, "data.path"),
        ({"path": "a.csv", "test": 0.0}, "data.test"),
        ({"path": "a.csv", "test": 1.0}, "data.test"),
        ({"path": "a.csv", "min_rows": 1}, "data.min_rows"),
        ({"path": "a.csv", "without": "heat"}, "data.without"),
        ({"path": "a.csv", "prepare": "minmax"}, "data.prepare"),
        ({"path": "a", "resize": [0, 5]}, "data.resize"),
        ({"path": "a", "resize": [5, 5, 3]}, "data.resize"),
        ({"path": "a.csv", "client": 3}, "data.client"),
        ({"path": "a.csv", "world": "iid"}, "data"),
    ],
)
def test_wrong_settings_are_named(values: dict[str, object], where: str) -> None:
    assert check_refused("data", build_settings, OwnData, values, where="data").where == where


def test_a_table_without_labels_has_one_class_without_a_name(tmp_path: Path) -> None:
    (tmp_path / "sites.csv").write_text(TABLE)
    federation = OwnData(path=str(tmp_path / "sites.csv"), client="site", label="").federation(0)
    assert (federation.classes, federation.class_names) == (1, ())
    table = federation["a"].train.pool.table
    assert table is not None
    assert list(table.columns) == ["x", "fault"]
