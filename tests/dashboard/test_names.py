"""Attacks by names and addresses, on a real dashboard: they stay words, and lead nowhere out of the folder."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dashboard.making import Written, finished, key
from dashboard.serving import Served, serving
from fedclade.store.events import LeftEvent, NewcomersEvent
from report.parsing import Page
from report.payloads import SCRIPTS

pytestmark = pytest.mark.slow

CANARY = "canary-5b1c"
TAGS = {
    *("html", "head", "body", "meta", "title", "link", "script", "header", "nav", "main", "a", "p", "h1", "h2", "form"),
    *("div", "section", "input", "button", "table", "thead", "tbody", "tr", "th", "td", "span", "progress", "code"),
    *("dl", "dt", "dd", "details", "summary", "pre"),
}


# In an address each of these would leave the folder, if any of it were ever taken for a path.
WAYS_OUT = (
    *("..", "../", "../secret", "../secret/canary", "../../secret/canary", "../../../../../../etc/passwd"),
    *("..%2fsecret%2fcanary", "..%2Fsecret%2Fcanary", "%2e%2e", "%2e%2e/secret/canary"),
    *("%2e%2e%2fsecret%2fcanary", "%252e%252e%252fsecret%252fcanary", "%25252e%25252e%25252fsecret"),
    *("..%252fsecret%252fcanary", "..;/secret/canary", "..;a=b/secret/canary", "..\\secret\\canary"),
    *("..%5csecret%5ccanary", "..%255csecret%255ccanary", "....//secret/canary", "....\\/secret/canary"),
    *("..././secret/canary", ".%00./secret/canary", "..%00/secret/canary", "secret%00", "%00"),
    *("%c0%ae%c0%ae/secret/canary", "%c0%ae%c0%ae%c0%afsecret%c0%afcanary"),
    *("%e0%80%ae%e0%80%ae/secret/canary", "%uff0e%uff0e/secret/canary", "%ef%bc%8e%ef%bc%8e/secret/canary"),
    *("/etc/passwd", "//etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "file:%2f%2f%2fetc%2fpasswd"),
    *("~/.ssh/id_rsa", "~root", ".", "./run", "run/../../secret/canary", "run%2f..%2f..%2fsecret%2fcanary"),
    *("link", "link/canary", "run#/../secret/canary", "run?/../secret/canary", "run%23/../secret/canary"),
    *("run%3f/../secret/canary", "C:\\Windows\\win.ini", "\\\\127.0.0.1\\share", "*"),
    "a" * 5000,
)


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
        name = json.dumps(payload)
        (path / "experiment.toml").write_text(f"[method]\nname = {name}\n[run]\nrounds = 1\n[x]\ny = {name}\n")
    clients = Written(runs / "run", SCRIPTS, rounds=3)
    facts = {"distance": SCRIPTS[0], "sizes": list(SCRIPTS[:9]), "count": SCRIPTS[1], "confidence": SCRIPTS[2]}
    clients.round(1, 0.5, discovery=facts, moved=list(SCRIPTS[:4]))
    for payload in SCRIPTS:
        clients.folder.log_event(NewcomersEvent(round=1, clients=(payload,)))
        clients.log_line(event=payload, round=payload, time=payload, clients=payload)
        refusals = [{"client": payload, "verb": payload, "reason": payload}]
        odd = {"bytes_up": payload, "facts": {payload: payload}}
        clients.log_line(event="round", round=2, refused=refusals, silent=refusals, **odd)
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


def harmless(text: str) -> None:
    """Nothing in a page but what its templates put there."""
    for tag, attributes in Page(text).elements:
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


def harmless_page(page: Served, address: str) -> str:
    answer = page.ask(address)
    assert answer.status == 200
    harmless(answer.text)
    return answer.text


def test_names_of_runs_stay_names(page: Served) -> None:
    assert harmless_page(page, "/").count('<tr id="run-') == len(SCRIPTS) + 2
    for payload in SCRIPTS:
        for part in ("", "/live", "/clients"):
            harmless_page(page, f"/run/{key('named/' + hostile_name(payload))}{part}")
    keys = [key("named/" + hostile_name(payload)) for payload in SCRIPTS]
    for start in range(0, len(keys), 12):
        query = "&".join(f"run={each}" for each in keys[start : start + 12])
        harmless_page(page, f"/compare?{query}")
        harmless_page(page, f"/compare/live?{query}")


def test_names_of_clients_and_of_what_happened_stay_names(page: Served) -> None:
    run = f"/run/{key('run')}"
    for part in ("", "/live", "/clients", *(f"/client/{key(payload)}" for payload in SCRIPTS)):
        harmless_page(page, run + part)
    for payload in SCRIPTS:
        model = page.ask(f"{run}/client/{key(payload)}/model")
        assert model.status == 200
        assert model.headers["content-type"] == "application/octet-stream"
        name = model.headers["content-disposition"].removeprefix('attachment; filename="').removesuffix('.safetensors"')
        assert name.replace("-", "").replace("_", "").isalnum()
        assert name.isascii()


def test_names_stay_names_in_a_stream(folder: Path) -> None:
    """What is sent while a run goes on is escaped too, and no name ends a message."""
    path = folder.parent / "live" / "run"
    run = Written(path, SCRIPTS, rounds=3)
    run.round(1, 0.5, discovery={"distance": SCRIPTS[0]})
    run.folder.log_event(NewcomersEvent(round=1, clients=SCRIPTS[:5]))
    run.folder.log_event(LeftEvent(round=1, clients=SCRIPTS[-5:]))
    run.round(2, 0.6)
    run.finish(0.6)  # so that the stream ends
    with serving(path.parent) as page:
        start = f"{(path / 'events.jsonl').stat().st_ino}-0-0-0"
        sent = page.ask(f"/run/{key('run')}/events?after={start}").text
    messages = [message.splitlines() for message in sent.split("\r\n\r\n") if message]
    kinds = [line.removeprefix("event: ") for lines in messages for line in lines if line.startswith("event: ")]
    assert kinds == ["status", "history", "groups", "clients", "points", "end"]
    assert "joined: &lt;script&gt;" in sent
    for lines in messages:
        assert all(line.split(":")[0] in ("id", "event", "data") for line in lines), lines
        harmless("\n".join(line.removeprefix("data: ") for line in lines if line.startswith("data: ")))


PLACES = (
    *("/{}", "/run/{}", "/run/{}/events", "/run/RUN/client/{}", "/run/RUN/client/{}/model", "/static/{}"),
    *("/compare?run={}", "/compare/events?run={}", "/?page={}"),
)


@pytest.mark.parametrize("place", PLACES)
def test_no_address_leaves_the_folder(place: str, page: Served) -> None:
    asked = [place.replace("RUN", key("run")).format(way) for way in WAYS_OUT]
    assert all(33 <= ord(letter) < 127 for raw in asked for letter in raw), "not a request"
    with ThreadPoolExecutor(len(asked)) as together:  # a stream says nothing for a second
        answers = list(together.map(page.ask, asked))
    for raw, answer in zip(asked, answers, strict=True):
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
