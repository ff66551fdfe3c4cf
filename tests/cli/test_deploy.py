"""`deploy init` and `deploy check` as a user types them."""

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="it comes with Flower, which is an extra")

from cli.calling import call, error_of, output_of, parsed
from fedclade.deploy.init import OPEN_CONTROL, TEST_CA

needs_flwr = pytest.mark.skipif(not Path(sys.executable).with_name("flwr").is_file(), reason="flwr is not installed")


def test_init_tells_a_person_what_to_do(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    out = output_of("deploy init app --clients north,south --host fleet.example.org --port 9443", capsys)
    assert f"The app is in {here / 'app'}" in out
    assert "Sites dial fleet.example.org:9443." in out
    for name in ("north", "south"):
        assert f"  flwr supernode register keys/sites/{name}.pub fleet --name {name}  # once\n" in out
    assert f"WARNING: {OPEN_CONTROL}\n" in out
    assert f"WARNING: {TEST_CA}\n" in out
    readme = Path("app/README.md").read_text()
    for line in re.findall(r"^  (\S[^#\n]*?) *(?:#.*)?$", out, re.MULTILINE):  # every command is in the README too
        assert line in readme


def test_init_for_machines_and_quietly(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    answer = parsed("deploy init app --sites 3 --json", capsys)
    assert answer["folder"] == str(here / "app")
    assert answer["sites"] == ["site-1", "site-2", "site-3"]
    assert answer["address"] == "127.0.0.1:8443"
    assert answer["warnings"] == [OPEN_CONTROL, TEST_CA]
    files = answer["files"]
    assert isinstance(files, list)
    assert sorted(files) == sorted(str(path.relative_to("app")) for path in Path("app").rglob("*") if path.is_file())
    out = output_of("deploy init other --quiet", capsys)
    assert out.splitlines() == [
        f"flwr supernode register keys/sites/site-{number}.pub fleet --name site-{number}" for number in (1, 2)
    ]


def test_init_in_the_current_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "fleet").mkdir()
    monkeypatch.chdir(here / "fleet")
    assert call("deploy init .", capsys)[0] == 0
    assert Path("pyproject.toml").is_file()
    assert call("deploy init .", capsys)[0] == 2


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("deploy init", "Missing argument"),
        ("deploy init my_app", "the folder's name is not usable, .*/my_app: got 'my_app', need a letter"),
        ("deploy init taken", "the folder is taken, .*/taken: got mine.txt, need a new .*; do: choose another"),
        ("deploy init app --clients a,b;c", "a site's name is not usable, --clients: got 'b;c', need letters"),
        ("deploy init app --port 8000", "the proxy and the SuperLink cannot share a port, --port: got 8000 for both"),
        ("deploy check nowhere", "there is no such folder, .*/nowhere: need an app; do: fedclade deploy init"),
        ("deploy check taken", "there is no app here, .*/taken: need a pyproject.toml"),
        ("deploy chek app", "No such command"),
    ],
)
def test_mistakes(command: str, said: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "taken").mkdir()
    (here / "taken" / "mine.txt").write_text("mine")
    assert re.match(f"error: {said}", error_of(command, capsys))
    assert [path.name for path in here.rglob("*")] == ["taken", "mine.txt"]  # nothing was written


@pytest.mark.slow
@needs_flwr
def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    call("deploy init app", capsys)
    out = output_of("deploy check app", capsys)
    assert re.search(r"^ok +bundle +no key is among its 6 files", out, re.MULTILINE)
    assert re.search(r"^warning +keys/ca.crt +it is a test CA +use your own", out, re.MULTILINE)
    Path("app/keys/server.key").chmod(0o644)
    Path("app/fleet_app/load_data.py").unlink()
    code, out, err = call("deploy check app --quiet", capsys)
    got = "2 missing or wrong, fleet_app/load_data.py first"
    assert (code, err) == (2, f"error: the app is not ready, app: got {got}, need none; do: what the list says\n")
    assert not re.search("^ok", out, re.MULTILINE)
    assert re.search(r"^wrong +keys/server.key +others can read it: mode 644 +chmod 600 keys/", out, re.MULTILINE)
    code, out, _ = call("deploy check app --json", capsys)
    answer = json.loads(out)
    assert (code, answer["ready"]) == (2, False)
    (missing,) = [finding for finding in answer["findings"] if finding["level"] == "missing"]
    assert (missing["where"], missing["what"]) == ("fleet_app/load_data.py", "there is no load_data")


@pytest.mark.slow
def test_check_refuses_a_public_address_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    call("deploy init app", capsys)
    err = error_of("deploy check app --public http://fleet.example.org", capsys)
    assert err.startswith(
        "error: the public address is not usable, --public: got 'http://fleet.example.org', need https"
    )
