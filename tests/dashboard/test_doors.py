"""Attacks on a real dashboard: which requests are answered, and that nothing is ever written."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path

import anyio
import pytest
from starlette.applications import Starlette
from starlette.types import Message, Scope

from dashboard.making import Written, finished, key
from dashboard.serving import ENOUGH, Served, serving
from fedclade.dashboard.guard import Guard

ADDRESSES = (
    *("/", "/events", "/run/x", "/run/x/live", "/run/x/clients", "/run/x/events", "/run/x/client/y"),
    *("/run/x/client/y/model", "/compare", "/compare/live", "/compare/events", "/static/dash.js", "/palette.css"),
    *("/plotly.js", "/nothing"),
)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(finished(tmp_path_factory.mktemp("doors") / "run").parent) as served:
        yield served


def hosts(port: int) -> list[str]:
    return [
        *("", "evil.example", f"evil.example:{port}", "127.0.0.1", "localhost", "127.0.0.1:80"),
        *(f"127.0.0.1:{port + 1}", f"127.1:{port}", f"2130706433:{port}", f"0x7f.1:{port}"),
        *(f"127.0.0.1:{port}.evil.example", f"127.0.0.1.evil.example:{port}", f"evil.example#127.0.0.1:{port}"),
        *(f"user@127.0.0.1:{port}", f"127.0.0.1:{port}@evil.example", f"0.0.0.0:{port}", f"[::1]:{port}", "[::1]"),
        *(f"127.0.0.1.:{port}", f"localhost.:{port}"),
        *(f"localhost.evil.example:{port}", f"127.0.0.1:{port}, evil.example", f"127.0.0.1:{port} ", f"xn--lgb:{port}"),
        *(f"169.254.169.254:{port}", f"[::ffff:127.0.0.1]:{port}", f"127.0.0.2:{port}", f"localhost:{port}/x"),
    ]


def test_another_host_is_refused(page: Served) -> None:
    """A name that an attacker's server can point to this machine (DNS rebinding)."""
    refused = [host for host in hosts(page.port) if host.strip() != f"127.0.0.1:{page.port}"]
    assert len(refused) >= 20
    for host in refused:
        for address in ("/", f"/?token={page.token}", "/plotly.js"):
            answer = page.ask(address, headers={"Host": host})
            assert answer.status in (400, 421), (host, answer.status)
            assert "set-cookie" not in answer.headers
    for host in (f"127.0.0.1:{page.port}", f"localhost:{page.port}", f"LOCALHOST:{page.port}"):
        assert page.ask("/", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    ("port", "host", "status"),
    [
        *((80, "127.0.0.1", 401), (80, "localhost", 401), (80, "127.0.0.1:80", 401), (80, "evil.example", 421)),
        *((8080, "127.0.0.1", 421), (8080, "localhost", 421), (8080, "127.0.0.1:8080", 401)),
    ],
)
def test_browsers_leave_port_80_out(port: int, host: str, status: int) -> None:
    """401: the host is right, only the token is missing."""
    scope: Scope = {"type": "http", "method": "GET", "path": "/", "query_string": b""}
    scope["headers"] = [(b"host", host.encode())]
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(message: Message) -> None:
        sent.append(message)

    anyio.run(Guard(Starlette(), token="x" * 43, port=port), scope, receive, send)
    assert sent[0]["status"] == status


def test_two_hosts_are_refused(page: Served) -> None:
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nHost: evil\r\nCookie: {page.cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", page.port), ENOUGH) as line:
        line.sendall(request.encode())
        assert line.recv(100).split()[1] in (b"400", b"421")


def test_another_page_is_refused(page: Served) -> None:
    port = page.port
    origins = [
        *("null", "http://evil.example", "https://evil.example", f"https://127.0.0.1:{port}", "http://127.0.0.1", ""),
        *(f"http://127.0.0.1:{port + 1}", f"http://127.0.0.1:{port}.evil.example", f"http://evil.example:{port}"),
        *("file://", f"http://[::1]:{port}", f"http://localhost.evil.example:{port}", "chrome-extension://abc", "*"),
        *(f"http://127.0.0.1:{port}/", f"http://user@127.0.0.1:{port}", "http://localhost", "data:", "http://0.0.0.0"),
        f"http://127.0.0.1:{port}, http://evil.example",
    ]
    assert len(origins) >= 20
    for origin in origins:
        for address in ("/", "/events", f"/?token={page.token}"):
            answer = page.ask(address, headers={"Origin": origin})
            assert answer.status == 403, origin
            assert "access-control-allow-origin" not in answer.headers
    assert page.ask("/", headers={"Origin": page.base}).status == 200
    for site in ("cross-site", "same-site"):  # another port of this machine is the same site to a browser
        for mode, kind in (("no-cors", "script"), ("cors", "empty"), ("navigate", "iframe"), ("no-cors", "image")):
            given = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": kind}
            assert page.ask("/", headers=given).status == 403
    given = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert page.ask("/", headers=given, known=False).status == 401  # a link may lead here; it brings no cookie


def test_without_the_token_there_is_nothing(page: Served) -> None:
    for address in ADDRESSES:
        answer = page.ask(address, known=False)
        assert answer.status == 401, address
        assert "set-cookie" not in answer.headers
    short, last = page.token[:-1], page.token[-1]
    other = short + ("A" if last != "A" else "B")
    for guess in ("", "x", short, other, page.token + "x", page.token.swapcase(), "%00", "%ff%fe", "\N{SNOWMAN}"):
        raw = guess.encode().decode("latin-1") if guess.isascii() else "%E2%98%83"
        assert page.ask(f"/?token={raw}", known=False).status == 401
        assert page.ask("/", headers={"Cookie": f"fedclade-{page.port}={raw}"}, known=False).status == 401
    assert page.ask(f"/?token=x&token={page.token}", known=False).status == 401
    assert page.ask(f"/run/x?token={page.token}", known=False).status == 401
    assert page.ask("/", headers={"Cookie": f"fedclade={page.token}"}, known=False).status == 401
    assert page.ask("/", headers={"Authorization": f"Bearer {page.token}"}, known=False).status == 401


def test_the_token_becomes_a_cookie(page: Served) -> None:
    answer = page.ask(f"/?token={page.token}", known=False)
    assert answer.status == 200
    cookie = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= cookie
    assert not [part for part in cookie if part.startswith(("domain", "expires", "max-age"))]
    assert page.token not in answer.text
    assert len(page.token) >= 43  # 256 bits
    assert page.ask("/", headers={"Cookie": answer.headers["set-cookie"].split(";")[0]}, known=False).status == 200
    assert page.token not in page.ask("/").text


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"])
def test_nothing_can_be_sent(method: str, page: Served) -> None:
    for address in ADDRESSES:
        answer = page.ask(address, method)
        assert answer.status in (400, 405), (method, address)
    assert page.ask("/", method, {"Content-Type": "application/x-www-form-urlencoded"}).status in (400, 405)


def test_the_head_of_every_page_ends(page: Served) -> None:
    run = f"/run/{key('run')}"
    for address in ("/", "/events", run, f"{run}/events", "/plotly.js", "/palette.css", "/static/dash.js"):
        answer = page.ask(address, "HEAD")
        assert (answer.status, answer.body) == (200, b"")


def test_every_answer_is_guarded(page: Served) -> None:
    for address, known in product([each for each in ADDRESSES if "events" not in each], (True, False)):
        headers = page.ask(address, known=known).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in headers


def test_only_this_machine_is_served(page: Served) -> None:
    """The socket is bound to 127.0.0.1: no other address of this machine answers."""
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("no /proc/net/tcp here")
    listening = [line.split()[1] for line in table.read_text().splitlines()[1:] if line.split()[3] == "0A"]
    assert [address for address in listening if address.endswith(f":{page.port:04X}")] == [f"0100007F:{page.port:04X}"]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", page.port), 5)


def test_broken_requests_do_not_harm(page: Served) -> None:
    broken = (b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nA: \xff\r\n\r\n")
    for raw in (*broken, b"GET " + b"a" * 200_000, b"\x16\x03\x01"):
        answer = b""
        with socket.create_connection(("127.0.0.1", page.port), ENOUGH) as line, suppress(OSError):  # it may hang up
            line.sendall(raw)
            line.shutdown(socket.SHUT_WR)
            answer = line.recv(100)
        assert answer[9:12] in (b"", b"400", b"414", b"421", b"431"), answer
    assert page.ask("/").status == 200


# -- what it leaves behind --------------------------------------------------------------------------------------------


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file and folder with its size, change and mode."""
    files = {os.fsdecode(path): path.lstat() for path in folder.rglob("*")}
    return {path: (file.st_size, file.st_mtime_ns, file.st_mode) for path, file in files.items()}


def test_nothing_is_written(tmp_path: Path) -> None:
    done = finished(tmp_path / "runs" / "done")
    going = Written(tmp_path / "runs" / "going")
    going.round(1, 0.5)
    (done / "clients.parquet").write_bytes(b"damaged")
    before = snapshot(tmp_path)
    with serving(tmp_path / "runs") as page:
        for run in ("done", "going"):
            for part in ("", "/live", "/clients", f"/client/{key('a')}", f"/client/{key('a')}/model"):
                assert page.ask(f"/run/{key(run)}{part}").status in (200, 404, 500)
        assert page.ask(f"/run/{key('done')}/events").status == 200
        assert page.ask(f"/compare?run={key('done')}&run={key('going')}").status == 200
        going.save(2)  # nobody keeps the writer out
        assert page.end() == 0
    going.folder.close()
    after = snapshot(tmp_path)
    changed = {path for path in after if after[path] != before.get(path)}
    saved = {"checkpoint", "round-00002", "manifest.json", "state.json", "state.safetensors"}
    assert {Path(path).name for path in changed} == saved


def test_it_ends_at_once_though_somebody_listens(tmp_path: Path) -> None:
    run = Written(tmp_path / "run")
    with serving(tmp_path) as page:
        lines = [socket.create_connection(("127.0.0.1", page.port), ENOUGH) for _ in range(5)]
        for line, address in zip(lines, ("/events", *[f"/run/{key('run')}/events"] * 4), strict=True):
            request = f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nCookie: {page.cookie}\r\n\r\n"
            line.sendall(request.encode())
            assert b"200 OK" in line.recv(100)
        assert page.end() == 0
        assert b"Traceback" not in page.said()
        for line in lines:
            line.close()
    run.folder.close()


def test_a_port_that_is_taken(tmp_path: Path, page: Served) -> None:
    command = [sys.executable, "-m", "fedclade", "dashboard", str(tmp_path), "--port", str(page.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ENOUGH, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: the port cannot be used, --port {page.port}: got ")
    missing = subprocess.run([*command[:4], "nowhere"], capture_output=True, text=True, timeout=ENOUGH, check=False)
    said = "error: there is no such folder, nowhere: need a folder with runs in it\n"
    assert (missing.returncode, missing.stderr) == (2, said)
