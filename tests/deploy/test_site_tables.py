"""Sites with tables over a loopback of Flower: prepared together, counted, continued, and refused where need be."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from conformance.loopback import FIRST_NODE, Loopback
from fedclade.core import Damaged, InputError
from fedclade.deploy.app import main
from fedclade.deploy.site import find_client
from fedclade.fleet.flower.apps import client_app
from fedclade.fleet.site import SiteClient
from fedclade.runs.experiment import read_experiment
from fedclade.runs.run import start
from fedclade.store.run_folder import RunFolder

NAMES = ("berlin", "lima", "oslo", "rome")
RUN = 'method = {name = "fedavg"}\nrun = {rounds = 2}\n'
SITES = (
    f'data = {{source = "sites", label = "fault"}}\nengine = {{name = "flower", clients = 4, wait_seconds = 2}}\n{RUN}'
)
Columns = dict[str, Any]


def table_of(seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    return {
        "heat": rng.normal(70 + seed, 5, 40).round(1),
        "metal": rng.choice(["steel", "brass"], 40),
        "index": np.arange(40),
        "fault": rng.choice(["no", "yes"], 40),
    }


def sites_with(tables: dict[str, Columns]) -> Loopback:
    held = {name: pa.table(columns) for name, columns in tables.items()}
    app = client_app(lambda config, _: SiteClient(str(config["name"]), lambda _: held[str(config["name"])]))
    nodes = {FIRST_NODE + number: name for number, name in enumerate(reversed(NAMES))}
    return Loopback({node: (app, {"name": name}) for node, name in nodes.items()}, registered=nodes)


def tables(change: Callable[[str, Columns], object] = lambda _name, _columns: None) -> dict[str, Columns]:
    found = {name: table_of(number) for number, name in enumerate(NAMES)}
    for name, columns in found.items():
        change(name, columns)
    return found


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    (tmp_path / "experiment.toml").write_text(SITES)
    return tmp_path / "experiment.toml"


def test_sites_come_to_what_one_file_comes_to(experiment: Path, tmp_path: Path) -> None:
    main(experiment, sites_with(tables()), {"folder": str(tmp_path / "there")}, None)
    lines = ["site,heat,metal,index,fault"]
    for name, columns in tables().items():
        lines += [f"{name}," + ",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    data = f'data = {{source = "own", path = "{tmp_path / "all.csv"}", client = "site", label = "fault"}}\n'
    (tmp_path / "here.toml").write_text(data + RUN)
    here = start(read_experiment(tmp_path / "here.toml"), out=tmp_path / "here")
    there = RunFolder.open(tmp_path / "there")
    mine, theirs = here.result, there.result()
    assert theirs["model_hash"] == mine["model_hash"]
    keys = [key for key in mine if key.startswith("bytes_up_column")]
    assert keys == ["bytes_up_columns", "bytes_up_column_counts", "bytes_up_column_sums"]
    # Sites are asked twice. First what the label's column is: `, "fault"`, `, ""`, four numbers, six flags. Then
    # for the classes too: ["no", "yes"] in the place of [].
    label, classes = len(', "fault"') + len(', ""') + 4 * 8 + 6, len('["no", "yes"]') - len("[]")
    assert theirs["bytes_up_columns"] == 2 * int(str(mine["bytes_up_columns"])) + 4 * (label + classes)
    for key in ("bytes_up_column_counts", "bytes_down_column_counts", "bytes_up_column_sums", "bytes_down_column_sums"):
        assert theirs[key] == mine[key], key
        assert int(str(mine[key])) > 0
    assert there.environment()["notes"] == [
        "columns left out: 'index' (an id: whole numbers that rise, or fall, from row to row)"
    ]


class Fading(Loopback):
    """A grid that is gone after the first round."""

    def push_messages(self, messages):  # type: ignore[no-untyped-def]  # passes everything on
        if sum(one.metadata.message_type == "train" for one in self.sent) == len(NAMES):
            raise ConnectionError("the SuperLink was killed")
        return super().push_messages(messages)


def test_a_run_goes_on_with_the_preparation_that_it_has(experiment: Path, tmp_path: Path) -> None:
    main(experiment, sites_with(tables()), {"folder": str(tmp_path / "whole")}, None)
    good, cut = sites_with(tables()), tmp_path / "cut"
    with pytest.raises(ConnectionError):
        main(experiment, Fading(good.nodes, good.registered), {"folder": str(cut)}, None)
    stored = (cut / "preparation.json").read_bytes()
    again = sites_with(tables())
    main(experiment, again, {"folder": str(cut)}, None)
    assert not [one for one in again.sent if one.metadata.message_type.startswith("query.column")]
    whole, found = (RunFolder.open(tmp_path / name).result() for name in ("whole", "cut"))
    assert found["model_hash"] == whole["model_hash"]
    for damaged in (stored[: len(stored) // 2], stored.replace(b"steel", b"stEEl"), b"[]"):
        (cut / "preparation.json").write_bytes(damaged)
        with pytest.raises(Damaged, match=r"preparation\.json"):
            main(experiment, sites_with(tables()), {"folder": str(cut)}, None)


def test_a_label_with_one_class_is_refused(experiment: Path, tmp_path: Path) -> None:
    def constant(_: str, columns: Columns) -> None:
        columns["fault"] = ["no"] * 40

    with pytest.raises(InputError, match=r"column 'fault' has too few classes, the sites' tables: got 1: no, need 2"):
        main(experiment, sites_with(tables(constant)), {"folder": str(tmp_path / "run")}, None)
    assert not (tmp_path / "run").exists()


def test_rows_with_another_label_are_set_aside(
    experiment: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Classes that are given beforehand: each site says in its own log how many rows have others, or none."""
    experiment.write_text(SITES.replace('label = "fault"', 'label = "fault", classes = ["no", "yes"], split = "later"'))

    def odd(_: str, columns: Columns) -> None:
        columns["fault"] = [*columns["fault"][:38], "maybe", ""]

    main(experiment, sites_with(tables(odd)), {"folder": str(tmp_path / "run")}, None)
    table = json.loads((tmp_path / "run" / "preparation.json").read_bytes())
    assert table["task"]["names"] == ["no", "yes"]
    counted = "2 of 40 rows have no label that is known, and are set aside"
    assert sum(counted in record.getMessage() for record in caplog.records) == len(NAMES)


def test_a_site_keeps_its_table_for_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLWR_HOME", str(tmp_path))
    (tmp_path / "data.csv").write_text("heat,fault\n1.5,no\n,yes\n")
    calls: list[int] = []

    def load_data(_: object) -> Path:
        calls.append(1)
        return tmp_path / "data.csv"

    first = find_client(load_data, {"name": "lima"}, "7").data_at(0)
    second = find_client(load_data, {"name": "lima"}, "7").data_at(1)
    assert isinstance(first, pa.Table)
    assert isinstance(second, pa.Table)
    assert second.to_pydict() == first.to_pydict() == {"heat": ["1.5", None], "fault": ["no", "yes"]}
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("label", "task"), [("heat", "regression"), ("heat", "auto"), ("new,loud", "auto"), ("new,loud", "multi-label")]
)
def test_sites_learn_what_one_file_learns(label: str, task: str, tmp_path: Path) -> None:
    """A label of numbers, and two of flags: the same scale, the same models and the same metrics."""

    def flags(_: str, columns: Columns) -> None:
        columns["new"], columns["loud"] = columns["index"] % 2, (columns["heat"] > 71).astype(int)

    held = tables(flags)
    said = f'label = "{label}"' + (f', task = "{task}"' if task != "auto" else "")
    (tmp_path / "sites.toml").write_text(SITES.replace('label = "fault"', said))
    main(tmp_path / "sites.toml", sites_with(held), {"folder": str(tmp_path / "there")}, None)
    lines = ["site," + ",".join(held["oslo"])]
    for name, columns in held.items():
        lines += [f"{name}," + ",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n")
    data = f'data = {{source = "own", path = "{tmp_path / "all.csv"}", client = "site", label = "{label}"}}\n'
    (tmp_path / "here.toml").write_text(data + RUN)
    mine = start(read_experiment(tmp_path / "here.toml"), out=tmp_path / "here").result
    theirs = RunFolder.open(tmp_path / "there").result()
    assert theirs["task"] == mine["task"] == ("regression" if label == "heat" else "multi-label")
    assert theirs["metrics"] == mine["metrics"]
    assert theirs["model_hash"] == mine["model_hash"]
    main(tmp_path / "sites.toml", sites_with(held), {"folder": str(tmp_path / "there")}, None)  # it is the same run


def test_a_site_label_that_is_not_clear_must_be_said(experiment: Path, tmp_path: Path) -> None:
    """30 whole numbers may be classes or measurements; no site has told one of them when that is asked."""

    def whole(_: str, columns: Columns) -> None:
        columns["fault"] = columns["index"] % 30

    sites = sites_with(tables(whole))
    with pytest.raises(InputError, match=r"not clear what label 'fault' is.*whole numbers.*say task = \"classifica"):
        main(experiment, sites, {"folder": str(tmp_path / "run")}, None)
    assert {one.metadata.message_type for one in sites.sent} == {"query.enrol", "query.columns"}
