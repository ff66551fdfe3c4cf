"""One file, one answer: the command, Python, a run, and sites over Flower's messages find the same groups."""

import json
from pathlib import Path

import pyarrow.csv as pacsv
import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

import fedclade as fc
from cli.calling import call
from conformance.loopback import FIRST_NODE, Loopback
from fedclade.data.tables import read_table
from fedclade.deploy.app import main
from fedclade.fleet.flower.apps import client_app
from fedclade.fleet.site import SiteClient
from fedclade.store.run_folder import RunFolder
from realistic_tables import CLIENTS, WORLDS, planted_groups, realistic_table


def sites_of(path: Path) -> Loopback:
    """A node for each site, which has its own rows of the file and no others."""
    table = read_table(path)
    owners = table.column("site").to_pylist()
    rows: dict[str, list[int]] = {}
    for row, owner in enumerate(owners):
        rows.setdefault(owner, []).append(row)
    held = {site: table.drop_columns(["site"]).take(index) for site, index in rows.items()}
    app = client_app(lambda config, _: SiteClient(str(config["name"]), lambda _: held[str(config["name"])]))
    nodes = {FIRST_NODE + number: name for number, name in enumerate(sorted(held, reverse=True))}
    return Loopback({node: (app, {"name": name}) for node, name in nodes.items()}, registered=nodes)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WORLDS)
def test_every_door_finds_the_same_groups(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table, label, groups = realistic_table(name)
    pacsv.write_csv(table, "data.csv")
    wanted = [list(members) for members in planted_groups(groups)]

    assert call(f"groups data.csv --client site --label {label} --json", capsys)[0] == 0
    answer = json.loads(Path("groups.json").read_text())
    assert [each["clients"] for each in answer["groups"]] == wanted

    found = fc.find_groups("data.csv", client="site", label=label)
    assert [list(members) for members in found.groups] == wanted

    words = f"run data.csv --client site --label {label} --out run --set run.rounds=1 --json"
    code, out, _ = call(words, capsys)
    assert code == 0
    assert json.loads(out)["groups"] == wanted

    Path("experiment.toml").write_text(
        f'data = {{source = "sites", label = "{label}"}}\nmethod = {{name = "flt"}}\n'
        "run = {rounds = 1, participation = 1.0}\n"
        f'engine = {{name = "flower", clients = {CLIENTS}, wait_seconds = 300}}\n'
    )
    main(Path("experiment.toml"), sites_of(Path("data.csv")), {"folder": str(tmp_path / "sites")}, None)
    here, there = RunFolder.open(tmp_path / "run"), RunFolder.open(tmp_path / "sites")
    assert there.result()["groups"] == wanted
    mine, theirs = json.loads(here.preparation()), json.loads(there.preparation())
    assert theirs["inputs"] == mine["inputs"]
    assert theirs["task"] == mine["task"]
    assert there.result()["model_hash"] == here.result()["model_hash"]
