"""Whether the control port can be reached: read from the system, and asked over real TLS."""

import socket
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="it comes with Flower, which is an extra")

from deploy.apps import free_port
from deploy.servers import upstream
from fedclade.deploy import reach
from fedclade.deploy.keys import new_authority
from fedclade.deploy.reach import check_public, check_superlink, listeners, network_order, public_address
from refusals import check_refused


def levels(port: int) -> list[tuple[str, str]]:
    return [(finding.level, finding.what) for finding in check_superlink(str(port))]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system has no /proc/net/tcp")
def test_a_real_listener_is_seen() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        listening.listen()
        assert listeners(port) == [ip_address("127.0.0.1")]
        assert levels(port) == [("ok", f"port {port} listens on loopback only")]
    port = free_port()
    assert levels(port) == [("ok", f"nothing listens on port {port} yet")]


@pytest.mark.parametrize(
    ("raw", "address"),
    [
        ("0100007F", "127.0.0.1"),
        ("00000000", "0.0.0.0"),
        ("0700000A", "10.0.0.7"),
        ("00000000000000000000000001000000", "::1"),
        ("00000000000000000000000000000000", "::"),
        ("0000000000000000FFFF00000100007F", "::ffff:127.0.0.1"),
    ],
)
def test_addresses_as_the_kernel_prints_them(raw: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.byteorder", "little")
    assert ip_address(network_order(bytes.fromhex(raw))) == ip_address(address)


@pytest.mark.parametrize(
    ("found", "level"),
    [
        (["127.0.0.1"], "ok"),
        (["::1", "::ffff:127.0.0.1"], "ok"),
        (["0.0.0.0"], "wrong"),
        (["::"], "wrong"),
        (["127.0.0.1", "10.0.0.7"], "wrong"),
        (None, "warning"),
    ],
)
def test_beyond_loopback_is_wrong(found: list[str] | None, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listening = None if found is None else [ip_address(address) for address in found]
    monkeypatch.setattr(reach, "listeners", lambda _: listening)
    assert [each for each, _ in levels(8000)] == [level]


def test_an_open_control_api_is_found(app: Path) -> None:
    with upstream(app / "keys") as (port, seen):
        found = list(check_public(f"https://127.0.0.1:{port}", app / "keys" / "ca.crt"))
    opened = [finding.what for finding in found if finding.level == "wrong"]
    assert len(opened) == 8
    assert "POST /v1/control/list-nodes is answered, with 200: it must be refused" in opened
    assert ("POST", "/v1/fleet/%2e%2e/control/list-nodes", 0) in seen  # sent as it stands


@pytest.mark.parametrize("status", [403, 404, 401, 500])
def test_only_a_refusal_is_a_refusal(status: int, app: Path) -> None:
    with upstream(app / "keys", status=status) as (port, _):
        found = list(check_public(f"localhost:{port}", app / "keys" / "ca.crt"))
    refused = status in (403, 404)
    assert any("are refused" in finding.what and finding.level == "ok" for finding in found) == refused
    assert any("sites are refused as well" in finding.what for finding in found) == refused
    assert any("no SuperLink behind it" in finding.what for finding in found) == (status == 500)


def test_the_address_must_be_the_apps(app: Path, tmp_path: Path) -> None:
    (tmp_path / "other.crt").write_bytes(new_authority(datetime.now(UTC)).certificate_pem)
    with upstream(app / "keys") as (port, _):
        for dialled, authority, said in (
            (port, tmp_path / "other.crt", "does not speak TLS"),
            (port, tmp_path / "gone", "cannot be probed"),
            (free_port(), app / "keys" / "ca.crt", "it cannot be reached"),
        ):
            (found,) = check_public(f"127.0.0.1:{dialled}", authority)
            assert found.level == "wrong"
            assert said in found.what


def test_public_addresses() -> None:
    assert public_address("https://fleet.example.org") == ("fleet.example.org", 443)
    assert public_address("fleet.example.org:8443") == ("fleet.example.org", 8443)
    assert public_address("https://[2001:db8::7]:8443/") == ("2001:db8::7", 8443)
    for given in ("http://a.org", "https://", "https://a.org/v1", "https://a.org:port", "ftp://a.org"):
        check_refused("the public address is not usable, --public", public_address, given)
