"""nginx.conf in a real nginx on loopback, before a real HTTPS server: Flower's Fleet API passes, and nothing else."""

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="it comes with Flower, which is an extra")

from deploy.apps import free_port, planned
from deploy.servers import upstream
from fedclade.deploy.init import write_app
from fedclade.deploy.reach import check_public

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = pytest.mark.skipif(
    NGINX is None and not os.environ.get("CI"), reason="there is no nginx here; .ci/run installs it"
)


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs, and what came through it."""

    folder: Path
    port: int
    superlink_port: int
    seen: list[tuple[str, str, int]]

    def asked(self, head: str, body: bytes = b"") -> int:
        """The status of a request that goes out as it stands."""
        context = ssl.create_default_context(cafile=str(self.folder / "keys" / "ca.crt"))
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=30) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
        ):
            lines = f"{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            length = "" if "Transfer-Encoding" in head else f"Content-Length: {len(body)}\r\n"
            secure.sendall(f"{lines}{length}\r\n".encode("latin-1"))
            for start in range(0, len(body), 2**16):
                try:
                    secure.sendall(body[start : start + 2**16])
                except OSError:  # it has heard enough
                    break
            answer = b""
            while b"\r\n" not in answer and (more := secure.recv(4096)):
                answer += more
        return int(answer.split()[1])


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The app's own proxy, started by its own script."""
    folder = tmp_path_factory.mktemp("proxied") / "app"
    port, superlink_port = free_port(), free_port()
    write_app(planned(folder, port=port, superlink_port=superlink_port))
    with upstream(folder / "keys", superlink_port) as (_, seen), started(folder, port):
        yield Proxy(folder, port, superlink_port, seen)


@contextmanager
def started(folder: Path, port: int) -> Iterator[None]:
    with open(folder / "nginx.log", "wb") as log:
        process = subprocess.Popen([str(folder / "start-proxy.sh")], stdout=log, stderr=log)
    try:
        until_open(port, process, folder / "nginx.log")
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def until_open(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(200):
        assert process.poll() is None, log.read_text()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_the_fleet_api_passes(proxy: Proxy) -> None:
    for name in ("x", "pull-messages", "send-node-heartbeat"):
        proxy.seen.clear()
        assert proxy.asked(f"POST /v1/fleet/{name}", b"body") == 200
        assert proxy.seen == [("POST", f"/v1/fleet/{name}", 4)]


REFUSED = [
    *("/", "/health", "/docs", "/openapi.json", "/redoc", "/v1", "/v1/", "/v1/fleet", "/v1/fleet/", "/v1/fleets/x"),
    *("/v1/control/list-nodes", "/v1/control/register-node", "/v1/control/start-run", "/v1/runtime/acquire-task"),
    *("/v1/fleet/../control/list-nodes", "/v1/fleet/x/../../control/list-nodes", "/v1/fleet/./../control/list-nodes"),
    *("/v1/fleet/%2e%2e/control/list-nodes", "/v1/fleet/%2E%2E/control/list-nodes", "/v1/fleet/.%2e/control/x"),
    *("/v1/fleet/..%2fcontrol/list-nodes", "/v1/fleet/%2e%2e%2fcontrol%2flist-nodes", "/v1/fleet%2f..%2fcontrol/x"),
    *("/v1/fleet/%252e%252e/control/list-nodes", "/v1/fleet/..;/control/list-nodes", "/v1/fleet;/../control/x"),
    *("/v1/control/../fleet/x", "/v1/control/%2e%2e/fleet/x", "/v1/control;/../fleet/x", "/v1/./fleet/x"),
    *("//v1/control/list-nodes", "//v1/fleet/x", "/v1//fleet/x", "/v1/fleet//x", "/v1/fleet//../control/list-nodes"),
    *("/V1/fleet/x", "/v1/Fleet/x", "/v1/FLEET/x", "/v1/fleet/X", "/v1/CONTROL/list-nodes", "/v1/Control/list-nodes"),
    *("/v1/%66leet/x", "/v1/fleet/%78", "/%76%31/control/list-nodes", "/v1/%63ontrol/list-nodes"),
    *("/v1/fleet/x;y", "/v1/fleet/x?y", "/v1/fleet/x?", "/v1/fleet/x#y", "/v1/fleet/x/", "/v1/fleet/x/y"),
    *("/v1/fleet/x%0d%0a", "/v1/fleet/x%20", "/v1/fleet/\\..\\control\\x", "/v1/fleet/x.y", "/v1/fleet/-x"),
    *("https://localhost/v1/control/list-nodes", "https://127.0.0.1:1/openapi.json"),
]  # fmt: skip
MALFORMED = [
    *("/v1/fleet/../../../etc", "/v1/fleet/x%00", "/v1/fleet/%zz", "/v1/fleet/%", "v1/fleet/x", "*", "/v1/fleet/\x00"),
]


@pytest.mark.parametrize(
    ("methods", "path", "allowed"),
    [
        *((("POST", "GET"), path, {403}) for path in REFUSED),
        *((("POST",), path, {400, 403}) for path in MALFORMED),
        (("GET", "HEAD", "PUT", "DELETE", "PATCH"), "/v1/fleet/x", {400, 403, 405}),
        (("OPTIONS", "CONNECT", "TRACE", "post", "X"), "/v1/fleet/x", {400, 403, 405}),
    ],
)
def test_everything_else_is_refused(methods: tuple[str, ...], path: str, allowed: set[int], proxy: Proxy) -> None:
    proxy.seen.clear()
    assert {proxy.asked(f"{method} {path}") for method in methods} <= allowed
    assert proxy.seen == []


def test_bodies_are_bounded(proxy: Proxy) -> None:
    """Flower's pieces of 5 MB pass; 16 MiB and a byte do not, nor a body that does not say its length."""
    proxy.seen.clear()
    assert proxy.asked("POST /v1/fleet/push-object", bytes(6_000_000)) == 200
    assert proxy.asked("POST /v1/fleet/push-object", bytes(16 * 2**20)) == 200
    assert proxy.seen == [("POST", "/v1/fleet/push-object", size) for size in (6_000_000, 16 * 2**20)]
    assert proxy.asked("POST /v1/fleet/push-object", bytes(16 * 2**20 + 1)) == 413
    head = "POST /v1/fleet/push-object HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX:"
    assert proxy.asked(head, b"4\r\nbody\r\n0\r\n\r\n") == 411
    assert len(proxy.seen) == 2
    assert [path for path in (proxy.folder / ".flwr").rglob("*") if path.is_file() and "proxy-" in str(path)] == []


def test_a_request_inside_a_request_is_refused(proxy: Proxy) -> None:
    """Two lengths that contradict each other: what one server takes for a body, another might take for a request."""
    inner = b"0\r\n\r\nPOST /v1/control/list-nodes HTTP/1.1\r\nHost: localhost\r\n\r\n"
    proxy.seen.clear()
    head = "POST /v1/fleet/x HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nX:"
    assert proxy.asked(head, inner) == 400
    assert proxy.seen == []


def test_check_finds_nothing_open(proxy: Proxy) -> None:
    authority = proxy.folder / "keys" / "ca.crt"
    found = list(check_public(f"https://127.0.0.1:{proxy.port}", authority))
    assert [(finding.level, finding.what) for finding in found] == [
        ("ok", "control and runtime APIs are refused"),
        ("ok", "sites get through to the SuperLink"),
    ]
    beside = list(check_public(f"https://127.0.0.1:{proxy.superlink_port}", authority))
    assert {finding.level for finding in beside} == {"wrong", "ok"}


def test_a_superlink_of_another_ca_is_not_trusted(proxy: Proxy, tmp_path: Path) -> None:
    """A program that takes the SuperLink's port on the server gets nothing of the sites."""
    port, superlink_port = free_port(), free_port()
    folder, other = tmp_path / "app", tmp_path / "other"
    write_app(planned(folder, port=port, superlink_port=superlink_port))
    write_app(planned(other))
    with upstream(other / "keys", superlink_port) as (_, seen), started(folder, port):
        assert Proxy(folder, port, superlink_port, seen).asked("POST /v1/fleet/x", b"body") == 502
        assert seen == []
    assert proxy.asked("POST /v1/fleet/x") == 200
