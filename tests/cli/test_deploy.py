"""`deploy init` and `deploy check` as a user types them."""

import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="it comes with Flower, which is an extra")

from cli.calling import call, parsed
from fedclade.deploy.init import OPEN_CONTROL, TEST_CA

needs_flwr = pytest.mark.skipif(not Path(sys.executable).with_name("flwr").is_file(), reason="flwr is not installed")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_init_tells_a_person_what_to_do(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    code, out, err = call("deploy init app --clients north,south --host fleet.example.org --port 9443", capsys)
    assert (code, err) == (0, "")
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
    told = parsed("deploy init app --sites 3 --json", capsys)
    assert told["folder"] == str(here / "app")
    assert told["sites"] == ["site-1", "site-2", "site-3"]
    assert told["address"] == "127.0.0.1:8443"
    assert told["warnings"] == [OPEN_CONTROL, TEST_CA]
    files = told["files"]
    assert isinstance(files, list)
    assert sorted(files) == sorted(str(path.relative_to("app")) for path in Path("app").rglob("*") if path.is_file())
    _, out, _ = call("deploy init other --quiet", capsys)
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
        (
            "deploy init taken",
            "the folder is taken, .*/taken: got mine.txt, need a new or empty folder; do: choose another",
        ),
        ("deploy init taken/mine.txt", "the folder's name is not usable"),
        ("deploy init app --clients a,a", 'client "a" is there twice, --clients'),
        ("deploy init app --clients a,b;c", "a site's name is not usable, --clients: got 'b;c', need letters"),
        ("deploy init app --clients a,", "a client's id is not a usable name, --clients"),
        ("deploy init app --clients a --sites 2", "the sites are named twice, --sites"),
        ("deploy init app --sites 0", "a number of sites is not usable, --sites: got 0, need 1 to 1000"),
        ("deploy init app --host https://a.org", "a host is not usable, --host: got 'https://a.org', need a name"),
        ("deploy init app --port 70000", "a port is not usable, --port: got 70000, need 1 to 65535"),
        ("deploy init app --port 8000", "the proxy and the SuperLink cannot share a port, --port: got 8000 for both"),
        ("deploy init app --port x", "Invalid value"),
        ("deploy check nowhere", "there is no such folder, .*/nowhere: need an app; do: fedclade deploy init"),
        ("deploy check taken", "there is no app here, .*/taken: need a pyproject.toml"),
        ("deploy chek app", "No such command"),
    ],
)
def test_mistakes(command: str, said: str, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "taken").mkdir()
    (here / "taken" / "mine.txt").write_text("mine")
    code, out, err = call(command, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.match(f"error: {said}", err)
    assert [path.name for path in here.rglob("*")] == ["taken", "mine.txt"]  # nothing was written


@pytest.mark.slow
@needs_flwr
def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    call("deploy init app", capsys)
    code, out, err = call("deploy check app", capsys)
    assert (code, err) == (0, "")
    assert re.search(r"^ok +bundle +no key is among its 6 files", out, re.MULTILINE)
    assert re.search(r"^warning +keys/ca.crt +it is a test CA +use your own", out, re.MULTILINE)
    Path("app/keys/server.key").chmod(0o644)
    Path("app/fleet_app/load_data.py").unlink()
    code, out, err = call("deploy check app --quiet", capsys)
    assert code == 2
    assert err == (
        "error: the app is not ready, app: got 2 missing or wrong, fleet_app/load_data.py first, need none; "
        "do: what the list says\n"
    )
    assert not re.search("^ok", out, re.MULTILINE)
    assert re.search(
        r"^wrong +keys/server.key +others can read it: mode 644 +chmod 600 keys/server.key", out, re.MULTILINE
    )
    code, out, _ = call("deploy check app --json", capsys)
    told = json.loads(out)
    assert (code, told["ready"]) == (2, False)
    assert {"level": "missing", "where": "fleet_app/load_data.py", "what": "there is no load_data"}.items() <= next(
        finding for finding in told["findings"] if finding["level"] == "missing"
    ).items()


@pytest.mark.slow
def test_check_refuses_a_public_address_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    call("deploy init app", capsys)
    code, out, err = call("deploy check app --public http://fleet.example.org", capsys)
    assert (code, out) == (2, "")
    assert err.startswith(
        "error: the public address is not usable, --public: got 'http://fleet.example.org', need https"
    )
