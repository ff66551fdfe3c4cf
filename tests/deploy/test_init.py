"""An app as it is written: complete, private where it must be, and nothing of anybody's lost."""

import os
import re
import runpy
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cryptography", reason="it comes with Flower, which is an extra")

from deploy.apps import planned
from fedclade.core import InputError
from fedclade.data import ClientData, build
from fedclade.deploy import init
from fedclade.deploy.certificates import check_certificates
from fedclade.deploy.init import OPEN_CONTROL, TEST_CA, write_app
from refusals import check_refused

FLWR = Path(sys.executable).with_name("flwr")
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}


def test_everything_is_there_with_its_warnings(app: Path) -> None:
    found = {str(path.relative_to(app)) for path in app.rglob("*") if path.is_file()}
    code = {f"fleet_app/{name}.py" for name in ("__init__", "server_app", "client_app", "load_data")}
    scripts = {"start-superlink.sh", "start-proxy.sh", "start-site.sh", "flower.env"}
    keys = {"keys/ca.crt", "keys/ca.key", "keys/server.pem", "keys/server.key"}
    sites = {"keys/sites/site-1", "keys/sites/site-1.pub", "keys/sites/site-2", "keys/sites/site-2.pub"}
    rest = {"pyproject.toml", "experiment.toml", "README.md", "nginx.conf", ".flwr/config.toml", ".gitignore"}
    assert found == code | scripts | keys | sites | rest
    assert [path.name for path in app.parent.iterdir()] == ["app"]  # nothing is left aside
    for path in app.rglob("*.toml"):
        tomllib.loads(path.read_text())
    for path in app.rglob("*.py"):
        compile(path.read_text(), path, "exec")
    for path in app.glob("*.sh"):
        assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0
    assert OPEN_CONTROL in (app / "README.md").read_text()
    assert TEST_CA in (app / "README.md").read_text()
    for name in ("nginx.conf", "start-superlink.sh"):
        words = " ".join((app / name).read_text().replace("#", " ").split())
        assert OPEN_CONTROL in words


def test_modes_hold_whatever_the_umask(tmp_path: Path) -> None:
    for umask in (0o000, 0o077):
        before = os.umask(umask)
        try:
            folder = tmp_path / f"umask-{umask}"
            write_app(planned(folder))
        finally:
            os.umask(before)
        modes = {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}
        private = {name for name, mode in modes.items() if mode == 0o600}
        assert private == {"keys/ca.key", "keys/server.key", "keys/sites/site-1", "keys/sites/site-2"}
        assert {modes[name] for name in ("keys", "keys/sites", ".flwr")} == {0o700}
        assert {mode for name, mode in modes.items() if name.endswith(".sh")} == {0o755}


@pytest.mark.slow
@pytest.mark.skipif(not FLWR.is_file(), reason="flwr is not installed")
def test_the_bundle_has_the_app_and_nothing_else(app: Path, tmp_path: Path) -> None:
    """Whatever lies about in the folder: keys with other endings, runs, data, a table of results."""
    for name in ("runs/first/events.jsonl", "data/table.json", "keys/more.json", "keys/key.py", "notes.md", "a.yaml"):
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text("{}")
    built = tmp_path / "built"
    built.mkdir()
    quiet = {**os.environ, **QUIET, "FLWR_HOME": str(built)}
    subprocess.run([str(FLWR), "build", "--app", str(app)], cwd=built, env=quiet, check=True)
    (bundle,) = built.glob("*.fab")
    with zipfile.ZipFile(bundle) as opened:
        assert sorted(opened.namelist()) == [
            ".info/CONTENT",
            "experiment.toml",
            *(f"fleet_app/{name}.py" for name in ("__init__", "client_app", "load_data", "server_app")),
            "pyproject.toml",
        ]


def test_nothing_is_overwritten_and_an_empty_folder_stays_the_same(app: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in app.rglob("*") if path.is_file()}
    check_refused("the folder is taken", planned, app)
    assert {path: path.read_bytes() for path in app.rglob("*") if path.is_file()} == before
    folder = tmp_path / "empty"
    folder.mkdir()
    number = folder.stat().st_ino
    write_app(planned(folder))
    assert folder.stat().st_ino == number
    assert (folder / "keys" / "ca.crt").is_file()


def test_what_is_in_the_way_is_kept(tmp_path: Path) -> None:
    for name, content in (("app", "another file"), ("other", "")):
        plan = planned(tmp_path / name)
        plan.folder.mkdir()
        (plan.folder / "README.md").write_text(content)
        check_refused("the app cannot be written", write_app, plan)
        assert (plan.folder / "README.md").read_text() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app", "other"]
    (tmp_path / "file").write_text("mine")
    check_refused("the app cannot be written", write_app, planned(tmp_path / "file" / "app"))


def test_half_an_app_is_never_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full; `cryptography` is missing, which says what to install."""

    def full(folder: Path, name: str, file: init.File) -> None:
        if name == "keys/server.key":
            raise OSError(28, "No space left on device")
        original(folder, name, file)

    original = init.write
    monkeypatch.setattr(init, "write", full)
    check_refused(r"the app cannot be written, .*No space left", write_app, planned(tmp_path / "app"))
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setitem(sys.modules, "cryptography.x509", None)
    with pytest.raises(InputError, match=r'need the package cryptography; do: pip install "fedclade\[flower\]"'):
        write_app(planned(tmp_path / "app"))
    assert list(tmp_path.iterdir()) == []


def test_a_path_with_spaces_and_quotes(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s a "test" ä' / "app"
    write_app(planned(folder))
    config = tomllib.loads((folder / ".flwr" / "config.toml").read_text())
    assert config["superlink"]["fleet"]["root-certificates"] == str(folder / "keys" / "ca.crt")
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    assert project["tool"]["flwr"]["app"]["config"]["folder"] == str(folder / "runs" / "first")
    command = ["bash", "-c", 'source "$0" && echo "$FLWR_HOME"', str(folder / "flower.env")]
    asked = subprocess.run(command, capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == str(folder / ".flwr")


def test_the_first_run_needs_no_data(tmp_path: Path) -> None:
    """Sites without data play clients of the digits world; more sites get more clients."""
    for count, clients in ((2, 4), (5, 5)):
        folder = tmp_path / f"app-{count}"
        write_app(planned(folder, sites=tuple(f"site-{number}" for number in range(count))))
        load_data = loaded(folder)
        world = build(source="digits", world="classes", clients=clients, groups=2, seed=0)
        played = load_data({"name": "site-1", "number": 1})
        assert isinstance(played, ClientData)
        assert (played.train.labels == world[world.clients[1]].train.labels).all()
        shape = tomllib.loads((folder / "experiment.toml").read_text())["data"]["shape"]
        assert list(played.train.inputs.shape[1:]) == shape


def loaded(folder: Path) -> Callable[[dict[str, object]], Any]:
    """The function that a user edits; arrays or a client's data come back."""
    found: Callable[[dict[str, object]], Any] = runpy.run_path(str(folder / "fleet_app" / "load_data.py"))["load_data"]
    return found


def test_the_experiment_waits_for_the_sites_and_a_site_reads_its_file(tmp_path: Path, app: Path) -> None:
    write_app(planned(tmp_path / "three", sites=("a", "b", "c")))
    experiment = tomllib.loads((tmp_path / "three" / "experiment.toml").read_text())
    assert experiment["engine"]["clients"] == 3
    assert experiment["data"]["source"] == "sites"
    readme = (tmp_path / "three" / "README.md").read_text()
    for name in "abc":
        assert f"\nflwr supernode register keys/sites/{name}.pub fleet --name {name}\n" in readme
    np.savez(tmp_path / "mine.npz", inputs=np.ones((3, 1, 8, 8)), labels=np.array([0, 9, 4], dtype=np.uint8))
    inputs, labels = loaded(app)({"name": "site-1", "number": 0, "data": str(tmp_path / "mine.npz")})
    assert (inputs.dtype, inputs.shape, labels.tolist()) == (np.float32, (3, 1, 8, 8), [0, 9, 4])


def test_start_site(app: Path, tmp_path: Path) -> None:
    """The script's own words, with a SuperNode that only tells what it was given."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "flower-supernode").write_text('#!/bin/sh\nprintf "%s\\n" "$FLWR_HOME" "$@"\n')
    (tools / "flower-supernode").chmod(0o755)
    (tmp_path / "my data.npz").write_bytes(b"")

    def started(*words: str) -> subprocess.CompletedProcess[str]:
        path = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        command = [str(app / "start-site.sh"), *words]
        return subprocess.run(command, cwd=tmp_path, env=path, capture_output=True, text=True, check=False)

    home, *words = started("site-2", "my data.npz").stdout.splitlines()
    assert home == str(app / ".flwr" / "sites" / "site-2")
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given == {
        "--superlink": "127.0.0.1:8443",
        "--root-certificates": "keys/ca.crt",
        "--auth-supernode-private-key": "keys/sites/site-2",
        "--node-config": f'name="site-2" number=1 data="{tmp_path}/my data.npz"',
        "--host": "127.0.0.1",
        "--port": "9095",
    }
    assert 'name="site-1" number=0\n' in started("site-1").stdout
    stranger = started("site-3")
    assert stranger.returncode == 2
    assert "error: the site is not known" in stranger.stderr
    assert started().returncode != 0
    assert started("site-1", "nowhere.npz").returncode != 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command here")
def test_the_certificate_is_renewed_as_the_readme_says(app: Path) -> None:
    readme = (app / "README.md").read_text()
    commands = re.search(r"```sh\n(openssl x509 -x509toreq.*?)```", readme, re.DOTALL)
    assert commands is not None
    before = (app / "keys" / "server.pem").read_bytes()
    subprocess.run(["bash", "-ec", commands.group(1)], cwd=app, capture_output=True, check=True)
    assert (app / "keys" / "server.pem").read_bytes() != before
    found = list(check_certificates(app, "127.0.0.1:8443"))
    assert [finding.where for finding in found if finding.level == "warning"] == ["keys/ca.crt"]  # a test CA
    assert {finding.level for finding in found} == {"ok", "warning"}
