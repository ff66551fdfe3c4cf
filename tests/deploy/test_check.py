"""Every defect that is planted in an app is found and named, with what to do about it."""

import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="it comes with Flower, which is an extra")

from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from deploy.apps import planned
from fedclade.deploy import bundle, check
from fedclade.deploy.check import check_app
from fedclade.deploy.findings import Finding
from fedclade.deploy.init import write_app
from fedclade.deploy.keys import new_authority, server_certificate, site_key
from refusals import check_refused

pytestmark = pytest.mark.slow

FLWR = Path(sys.executable).with_name("flwr")
needs_flwr = pytest.mark.skipif(not FLWR.is_file(), reason="flwr is not installed")


Plant = Callable[[Path], object]


def replaced(name: str, old: str, new: str) -> Plant:
    def plant(app: Path) -> None:
        text = (app / name).read_text()
        assert old in text
        (app / name).write_text(text.replace(old, new))

    return plant


def written(name: str, content: str) -> Plant:
    return lambda app: (app / name).write_text(content)


def removed(name: str) -> Plant:
    return lambda app: (app / name).unlink()


def copied(source: str, name: str) -> Plant:
    return lambda app: shutil.copy(app / source, app / name)


def loosened(name: str, mode: int) -> Plant:
    return lambda app: (app / name).chmod(mode)


def certified(past_days: int, names: tuple[str, ...] = ("127.0.0.1", "localhost"), known: bool = True) -> Plant:
    """A certificate that a CA of today, known to the app or not, made so many days ago."""

    def plant(app: Path) -> None:
        now = datetime.now(UTC)
        authority = new_authority(now)
        server = server_certificate(authority, names, now - timedelta(days=past_days))
        if known:
            (app / "keys" / "ca.crt").write_bytes(authority.certificate_pem)
        (app / "keys" / "server.pem").write_bytes(server.certificate_pem)
        (app / "keys" / "server.key").write_bytes(server.key_pem)

    return plant


def swapped_keys(app: Path) -> None:
    one, two = app / "keys/sites/site-1", app / "keys/sites/site-2"
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)


def paired(key: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> Plant:
    """This key and its public half as those of a site."""

    def plant(app: Path) -> None:
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        (app / "keys/sites/site-1").write_bytes(private)
        public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        (app / "keys/sites/site-1.pub").write_bytes(public)

    return plant


def other_ca_in_config(app: Path) -> None:
    (app / "keys" / "other.crt").write_bytes(new_authority(datetime.now(UTC)).certificate_pem)
    replaced(".flwr/config.toml", "ca.crt", "other.crt")(app)


def key_of_another_name(app: Path) -> None:
    (app / "keys/sites/a b.pub").write_bytes(site_key("a b")[1])


DEFECTS: list[tuple[Plant, str, str, str]] = [
    (written("pyproject.toml", "[tool"), "wrong", "pyproject.toml", "it is not TOML"),
    (replaced("pyproject.toml", "serverapp =", "server ="), "missing", "pyproject.toml", "no serverapp"),
    (replaced("pyproject.toml", "server_app:app", "servers:app"), "missing", "pyproject.toml", "fleet_app/servers.py"),
    (replaced("pyproject.toml", 'folder = "/', 'folder = "'), "wrong", "pyproject.toml", "folder in"),
    (removed("fleet_app/client_app.py"), "missing", "pyproject.toml", "clientapp is in fleet_app/client_app.py"),
    (written("fleet_app/server_app.py", "x = 1"), "missing", "fleet_app/server_app.py", "does not define app"),
    (written("fleet_app/server_app.py", "app ="), "wrong", "fleet_app/server_app.py", "it is not Python"),
    (removed("fleet_app/load_data.py"), "missing", "fleet_app/load_data.py", "there is no load_data"),
    (written("fleet_app/load_data.py", "def load(site): ..."), "missing", "fleet_app/load_data.py", "does not define"),
    (written("fleet_app/load_data.py", "def load_data(): ..."), "wrong", "fleet_app/load_data.py", "takes 0 arguments"),
    (written("experiment.toml", "[data"), "wrong", "experiment.toml", "not TOML"),
    (removed("experiment.toml"), "wrong", "experiment.toml", "there is no such experiment"),
    (removed("flower.env"), "missing", "flower.env", "it is not there"),
    (replaced("flower.env", "TELEMETRY_ENABLED=0", "TELEMETRY_ENABLED=1"), "wrong", "flower.env", "ENABLED is 1"),
    (replaced("flower.env", "export FLWR_DISABLE_UP", "# "), "wrong", "flower.env", "UPDATE_CHECK is not set"),
    (replaced("flower.env", "export FLWR_HOME", "export HOME_OF_FLWR"), "wrong", "flower.env", "FLWR_HOME is not set"),
    (replaced("flower.env", "export FLEET_ADDRESS", "# "), "missing", "flower.env", "FLEET_ADDRESS is not set"),
    (replaced("flower.env", "export SUPERLINK_PORT", "# "), "missing", "flower.env", "SUPERLINK_PORT is not set"),
    (removed("start-superlink.sh"), "missing", "start-superlink.sh", "it is not there"),
    (replaced("start-superlink.sh", "127.0.0.1 --port", "0.0.0.0 --port"), "wrong", "start-superlink.sh", "--host"),
    (replaced("start-superlink.sh", "--enable-supernode-auth", ""), "wrong", "start-superlink.sh", "--enable-super"),
    (replaced("start-site.sh", "--host", "--insecure --host"), "wrong", "start-site.sh", "no TLS"),
    (removed(".flwr/config.toml"), "missing", ".flwr/config.toml", "it is not there"),
    (written(".flwr/config.toml", "="), "wrong", ".flwr/config.toml", "it is not TOML"),
    (replaced(".flwr/config.toml", "127.0.0.1:8000", "10.0.0.7:8000"), "wrong", ".flwr/config.toml", "address is"),
    (replaced(".flwr/config.toml", "address", "insecure = true\naddress"), "wrong", ".flwr/config.toml", "insecure"),
    (replaced(".flwr/config.toml", "ca.crt", "gone.crt"), "wrong", ".flwr/config.toml", "which is no file"),
    (other_ca_in_config, "wrong", ".flwr/config.toml", "another CA"),
    (removed("nginx.conf"), "warning", "nginx.conf", "it is not there"),
    (replaced("nginx.conf", "server 127.0.0.1:8000;", "server 127.0.0.1:8001;"), "wrong", "nginx.conf", "upstream"),
    (removed("keys/ca.crt"), "missing", "keys/ca.crt", "it is not there"),
    (removed("keys/server.key"), "missing", "keys/server.key", "it is not there"),
    (written("keys/server.pem", "no certificate"), "wrong", "keys/server.pem", "it is no certificate"),
    (written("keys/ca.crt", "no certificate"), "wrong", "keys/ca.crt", "it is no certificate"),
    (certified(past_days=366), "wrong", "keys/server.pem", "it expired on"),
    (certified(past_days=366), "wrong", "keys/server.pem", "certificate has expired"),
    (certified(past_days=340), "warning", "keys/server.pem", "it expires on"),
    (certified(past_days=-2), "wrong", "keys/server.pem", "it is not valid before"),
    (certified(past_days=0, names=("localhost",)), "wrong", "keys/server.pem", "that dials 127.0.0.1 refuses it"),
    (certified(past_days=0, known=False), "wrong", "keys/server.pem", "unable to get local issuer certificate"),
    (copied("keys/ca.key", "keys/server.key"), "wrong", "keys/server.key", "it does not belong to keys/server.pem"),
    (written("keys/server.key", "no key"), "wrong", "keys/server.key", "it cannot be used"),
    (loosened("keys/server.key", 0o640), "wrong", "keys/server.key", "others can read it: mode 640"),
    (loosened("keys/sites/site-1", 0o604), "wrong", "keys/sites/site-1", "others can read it: mode 604"),
    (loosened("keys", 0o755), "warning", "keys", "others can look into it"),
    (swapped_keys, "wrong", "keys/sites/site-1.pub", "it does not belong to keys/sites/site-1"),
    (paired(ed25519.Ed25519PrivateKey.generate()), "wrong", "keys/sites/site-1.pub", "no ECDSA key on a NIST curve"),
    (written("keys/sites/site-2", "no key"), "wrong", "keys/sites/site-2.pub", "a key cannot be read"),
    (removed("keys/sites/site-2.pub"), "missing", "keys/sites/site-2.pub", "it is not there"),
    (lambda app: shutil.rmtree(app / "keys" / "sites"), "missing", "keys/sites", "no site has a key"),
    (key_of_another_name, "wrong", "keys/sites/a b.pub", "a site's name is not usable"),
]  # fmt: skip


def bad(found: list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.level in ("missing", "wrong")]


@pytest.fixture
def without_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundle takes a second and has its own tests."""
    monkeypatch.setattr(check, "check_bundle", lambda _: [])


@needs_flwr
def test_an_app_as_it_was_written_is_good(app: Path) -> None:
    found = check_app(app)
    assert bad(found) == []
    assert [finding.what for finding in found if finding.level == "warning"] == ["it is a test CA"]
    assert len(found) > 15


@pytest.mark.usefixtures("without_bundle")
@pytest.mark.parametrize(
    ("plant", "level", "where", "what"), DEFECTS, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_planted_defect_is_found(plant: Plant, level: str, where: str, what: str, app: Path) -> None:
    plant(app)
    found = [finding for finding in check_app(app) if (finding.level, finding.where) == (level, where)]
    assert any(what in finding.what and finding.do for finding in found), found


@pytest.mark.usefixtures("without_bundle")
def test_what_is_no_defect(app: Path) -> None:
    """A site that made its key itself, a key on another curve that Flower takes, load_data that is imported."""
    paired(ec.generate_private_key(ec.SECP256R1()))(app)
    (app / "keys/sites/site-2").unlink()
    (app / "keys" / "ca.key").unlink()
    (app / "fleet_app" / "load_data.py").write_text("from somewhere import reader as load_data\n")
    assert bad(check_app(app)) == []


@pytest.mark.usefixtures("without_bundle")
def test_a_moved_app_and_sites_without_keys_are_named(app: Path) -> None:
    moved = app.rename(app.with_name("moved"))
    assert [finding.where for finding in bad(check_app(moved))] == [".flwr/config.toml"]
    assert "runs are kept outside this app" in str(check_app(moved))
    replaced("experiment.toml", "clients = 2", "clients = 3")(moved)
    assert "waits for 3 sites, and 2 have keys" in str(check_app(moved))
    replaced("experiment.toml", 'name = "flower"', 'name = "simulated" #')(moved)
    assert any(finding.where == "experiment.toml" for finding in bad(check_app(moved)))


@pytest.mark.usefixtures("without_bundle")
def test_an_experiment_that_a_server_would_refuse(app: Path) -> None:
    replaced("experiment.toml", "shape = [1, 8, 8]", "shape = [8]")(app)
    replaced("experiment.toml", 'name = "mlp"', 'name = "lenet"')(app)
    assert [finding.where for finding in bad(check_app(app))] == ["experiment.toml"]
    (app / "experiment.toml").write_text('[data]\nsource = "digits"\nworld = "iid"\n[engine]\nname = "flower"\n')
    assert "a deployed app has its data at the sites" in str(bad(check_app(app)))


@pytest.mark.usefixtures("without_bundle")
def test_another_name_in_the_certificate(tmp_path: Path) -> None:
    folder = tmp_path / "app"
    write_app(planned(folder, hosts=("fleet.example.org", "2001:db8::7")))
    assert bad(check_app(folder)) == []
    replaced("flower.env", "fleet.example.org", "[2001:db8::7]")(folder)
    assert bad(check_app(folder)) == []
    replaced("flower.env", "2001:db8::7", "2001:db8::8")(folder)
    assert [finding.what for finding in bad(check_app(folder))] == [
        "a site that dials 2001:db8::8 refuses it: IP address mismatch, certificate is not valid for '2001:db8::8'"
    ]


def test_where_there_is_no_app(tmp_path: Path) -> None:
    for folder, said in ((tmp_path, "there is no app here"), (tmp_path / "nowhere", "there is no such folder")):
        check_refused(said, check_app, folder)


@needs_flwr
@pytest.mark.parametrize(
    ("plant", "level", "what"),
    [
        (written("fleet_app/secret.py", 'KEY = """-----BEGIN OPENSSH PRIVATE KEY-----"""'), "wrong", "secret.py"),
        (replaced("pyproject.toml", '"experiment.toml"]', '"experiment.toml", "README.md"]'), "warning", "README.md"),
        (replaced("pyproject.toml", '"experiment.toml"]', '"gone.toml"]'), "wrong", "gone.toml"),
        (replaced("pyproject.toml", "publisher", "publishers"), "wrong", "publisher"),
    ],
)
def test_the_bundle_is_looked_into(plant: Plant, level: str, what: str, app: Path) -> None:
    plant(app)
    found = list(bundle.check_bundle(app))
    assert any(finding.level == level and what in finding.what for finding in found), found
    assert list(app.rglob("*.fab")) == []


@needs_flwr
def test_a_key_of_the_keys_folder_in_the_bundle(app: Path) -> None:
    """Without the list of what may go in, and without .gitignore, Flower takes what looks like code."""
    (app / ".gitignore").unlink()
    replaced("pyproject.toml", "fab-include", "# fab-include")(app)
    (app / "keys" / "all.json").write_text("{}")
    found = bad(list(bundle.check_bundle(app)))
    assert [finding.what for finding in found] == ["keys/all.json would go to every site, and it is a key"]


def test_flower_is_there_in_the_right_release_with_its_command(monkeypatch: pytest.MonkeyPatch, app: Path) -> None:
    levels = {"1.41.0": "ok", "1.41.3": "ok", "1.40.0": "wrong", "1.42.0": "wrong", "2.41": "wrong"}
    for version, level in levels.items():
        monkeypatch.setattr(bundle, "version", lambda _, version=version: version)
        assert [finding.level for finding in bundle.check_flower()] == [level]

    def absent(_: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(bundle, "version", absent)
    assert [finding.level for finding in bundle.check_flower()] == ["missing"]
    monkeypatch.setattr(sys, "executable", str(app / "python"))
    assert [(finding.level, finding.where) for finding in bundle.check_bundle(app)] == [("missing", "bundle")]
