"""Attacks on the page: a real dashboard, raw requests. None of them gets anything, and nothing is ever written."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dashboard.making import Written, finished
from dashboard.payloads import SCRIPTS, WAYS_OUT
from dashboard.serving import ENOUGH, Served, serving
from fedclade.dashboard.listing import key_of

CANARY = "canary-5b1c"
# fmt: off
ADDRESSES = ("/", "/events", "/run/x", "/run/x/live", "/run/x/clients", "/run/x/events", "/run/x/client/y",
    "/run/x/client/y/model", "/compare", "/compare/live", "/compare/events", "/static/dash.js", "/plotly.js",
    "/nothing",
)
# fmt: on
TAGS = {
    *("html", "head", "body", "meta", "title", "link", "script", "header", "nav", "main", "a", "p", "h1", "h2", "form"),
    *("div", "section", "input", "button", "table", "thead", "tbody", "tr", "th", "td", "span", "progress", "code"),
    *("dl", "dt", "dd", "details", "summary", "pre"),
}


def hostile_name(payload: str) -> str:
    """A folder can have any name without a slash or an end of a string in it."""
    return payload.replace("/", "\N{FRACTION SLASH}")[:200]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs whose every name is an attack, and a secret beside it."""
    above = tmp_path_factory.mktemp("attacks")
    (above / "secret").mkdir()
    (above / "secret" / "canary").write_text(CANARY)
    runs = above / "runs"
    for payload in SCRIPTS:
        path = finished(runs / "named" / hostile_name(payload), ("a", "b"), rounds=1, method="flt")
        (path / "experiment.toml").write_text(
            f"[method]\nname = {json.dumps(payload)}\n[run]\nrounds = 1\n[x]\ny = {json.dumps(payload)}\n"
        )
    clients = Written(runs / "run", SCRIPTS, rounds=3)
    facts = {"distance": SCRIPTS[0], "sizes": list(SCRIPTS[:9]), "count": SCRIPTS[1], "confidence": SCRIPTS[2]}
    clients.round(1, 0.5, discovery=facts, moved=list(SCRIPTS[:4]))
    for payload in SCRIPTS:
        clients.folder.note("newcomers", round=1, clients=[payload])
        clients.folder.note(payload, round=payload, time=payload, clients=payload)
        wrong = [{"client": payload, "verb": payload, "reason": payload}]
        clients.folder.note("round", round=2, refused=wrong, silent=wrong, bytes_up=payload, facts={payload: payload})
    clients.round(3, 0.5, {client: number % 3 for number, client in enumerate(SCRIPTS)})
    clients.finish(0.5)
    leading_away = finished(runs / "links")
    for name in ("experiment.toml", "events.jsonl", "result.json", "clients.parquet"):
        (leading_away / name).unlink()
        (leading_away / name).symlink_to(above / "secret" / "canary")
    (runs / "link").symlink_to(above / "secret")
    return runs


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Served]:
    with serving(folder) as served:
        yield served


def key(name: str) -> str:
    return key_of(name.encode())


class Looked(HTMLParser):
    """The tags of a page, its scripts, and where it leads to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def harmless(text: str) -> None:
    """Nothing in a page but what its templates put there."""
    for tag, attributes in Looked(text).seen:
        assert tag in TAGS, f"<{tag} {attributes}>"
        assert not [name for name in attributes if name.startswith(("on", "hx-on", "hx-vals", "style"))], attributes
        for name in ("href", "src", "action", "hx-get", "sse-connect", "data-again"):
            if name in attributes:
                value = attributes[name] or ""
                assert value == "data:," or (value.startswith("/") and not value.startswith("//")), attributes
        if tag == "script":
            assert set(attributes) == {"src", "defer"}
        if tag == "meta":
            assert set(attributes) in ({"charset"}, {"name", "content"})


# -- names ------------------------------------------------------------------------------------------------------------


def test_there_are_enough_attacks() -> None:
    assert len(set(SCRIPTS)) >= 40
    assert len(set(WAYS_OUT)) >= 40


def test_names_of_runs_stay_names(page: Served) -> None:
    listed = page.ask("/")
    assert listed.status == 200
    harmless(listed.text)
    assert listed.text.count('<tr id="run-') == len(SCRIPTS) + 2
    for payload in SCRIPTS:
        address = f"/run/{key('named/' + hostile_name(payload))}"
        for part in ("", "/live", "/clients"):
            answer = page.ask(address + part)
            assert answer.status == 200
            harmless(answer.text)


def test_names_of_clients_and_of_what_happened_stay_names(page: Served) -> None:
    run = f"/run/{key('run')}"
    for part in ("", "/live", "/clients"):
        answer = page.ask(run + part)
        assert answer.status == 200
        harmless(answer.text)
    for payload in SCRIPTS:
        answer = page.ask(f"{run}/client/{key(payload)}")
        assert answer.status == 200
        harmless(answer.text)
        model = page.ask(f"{run}/client/{key(payload)}/model")
        assert model.status == 200
        assert model.headers["content-type"] == "application/octet-stream"
        name = model.headers["content-disposition"].removeprefix('attachment; filename="').removesuffix('.safetensors"')
        assert name.replace("-", "").replace("_", "").isalnum()
        assert name.isascii()


def test_names_stay_names_side_by_side(page: Served) -> None:
    keys = [key("named/" + hostile_name(payload)) for payload in SCRIPTS]
    for start in range(0, len(keys), 12):
        query = "&".join(f"run={each}" for each in keys[start : start + 12])
        for part in ("/compare", "/compare/live"):
            answer = page.ask(f"{part}?{query}")
            assert answer.status == 200
            harmless(answer.text)


def test_names_stay_names_in_a_stream(folder: Path) -> None:
    """What is sent while a run goes on is escaped too, and no name ends a message."""
    path = folder.parent / "live" / "run"
    run = Written(path, SCRIPTS, rounds=3)
    run.round(1, 0.5, discovery={"distance": SCRIPTS[0]})
    run.folder.note("newcomers", round=1, clients=list(SCRIPTS[:5]))
    run.folder.note("left", round=1, clients=list(SCRIPTS[-5:]))
    run.round(2, 0.6)
    run.finish(0.6)  # so that the stream ends
    with serving(path.parent) as page:
        start = f"{(path / 'events.jsonl').stat().st_ino}-0-0"
        sent = page.ask(f"/run/{key('run')}/events?after={start}").text
    messages = [message.splitlines() for message in sent.split("\r\n\r\n") if message]
    kinds = [line for lines in messages for line in lines if line.startswith("event: ")]
    wanted = ("status", "happenings", "groups", "clients", "points", "end")
    assert kinds == [f"event: {kind}" for kind in wanted]
    assert "joined: &lt;script&gt;" in sent
    for lines in messages:
        assert all(line.split(":")[0] in ("id", "event", "data") for line in lines), lines
        harmless("\n".join(line.removeprefix("data: ") for line in lines if line.startswith("data: ")))


# -- ways out ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "place",
    [
        "/{}",
        "/run/{}",
        "/run/{}/events",
        "/run/RUN/client/{}",
        "/run/RUN/client/{}/model",
        "/static/{}",
        "/compare?run={}",
        "/compare/events?run={}",
        "/?page={}",
    ],
)
def test_no_address_leaves_the_folder(place: str, page: Served) -> None:
    for way in WAYS_OUT:
        raw = place.replace("RUN", key("run")).format(way)
        if not all(33 <= ord(letter) < 127 for letter in raw):
            raise AssertionError(f"not a request: {raw}")
        answer = page.ask(raw)
        allowed = (200,) if place.startswith(("/?page", "/compare/events")) or raw in ("/.", "/..", "/../") else ()
        assert answer.status in (*allowed, 400, 404), (raw, answer.status)
        assert CANARY.encode() not in answer.body
        assert b"root:" not in answer.body


def test_links_in_a_run_lead_nowhere(page: Served) -> None:
    assert key("link") not in page.ask("/").text
    for part in ("", "/live", "/clients"):
        answer = page.ask(f"/run/{key('links')}{part}")
        assert answer.status == 200
        assert CANARY not in answer.text
    assert "experiment.toml is missing" in page.ask(f"/run/{key('links')}").text


# -- who asks ---------------------------------------------------------------------------------------------------------


def hosts(port: int) -> list[str]:
    return [
        *(
            "",
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1",
            "localhost",
            "127.0.0.1:80",
            f"127.0.0.1:{port + 1}",
        ),
        *(f"127.0.0.1:{port}.evil.example", f"127.0.0.1.evil.example:{port}", f"evil.example#127.0.0.1:{port}"),
        *(f"user@127.0.0.1:{port}", f"127.0.0.1:{port}@evil.example", f"0.0.0.0:{port}", f"[::1]:{port}", "[::1]"),
        *(f"127.1:{port}", f"2130706433:{port}", f"0x7f.1:{port}", f"127.0.0.1.:{port}", f"localhost.:{port}"),
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
    for wrong in ("", "x", short, other, page.token + "x", page.token.swapcase(), "%00", "%ff%fe", "\N{SNOWMAN}"):
        raw = wrong.encode().decode("latin-1") if wrong.isascii() else "%E2%98%83"
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
    run = key("run")
    for address in ("/", "/events", f"/run/{run}", f"/run/{run}/events", "/plotly.js", "/static/dash.js"):
        answer = page.ask(address, "HEAD")
        assert (answer.status, answer.body) == (200, b"")


def test_every_answer_is_guarded(page: Served) -> None:
    for address, known in [
        (address, known) for address in ADDRESSES if "events" not in address for known in (True, False)
    ]:
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
    for raw in (
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET " + b"a" * 200_000,
        b"\x16\x03\x01",
        b"GET / HTTP/1.1\r\nA: \xff\r\n\r\n",
    ):
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
    found = {}
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        found[os.fsdecode(path)] = (seen.st_size, seen.st_mtime_ns, seen.st_mode)
    return found


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
    assert {Path(path).name for path in changed} == {
        "checkpoint",
        "round-00002",
        "manifest.json",
        "state.json",
        "state.safetensors",
    }


def test_it_ends_at_once_though_somebody_listens(tmp_path: Path) -> None:
    run = Written(tmp_path / "run")
    with serving(tmp_path) as page:
        lines = [socket.create_connection(("127.0.0.1", page.port), ENOUGH) for _ in range(5)]
        for line, address in zip(lines, ("/events", *[f"/run/{key('run')}/events"] * 4), strict=True):
            line.sendall(
                f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nCookie: {page.cookie}\r\n\r\n".encode()
            )
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
    assert (missing.returncode, missing.stderr) == (
        2,
        "error: there is no such folder, nowhere: need a folder with runs in it\n",
    )
