"""Attacks by names and addresses, on a real dashboard: they stay words, and lead nowhere out of the folder."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dashboard.making import Written, finished
from dashboard.payloads import SCRIPTS, WAYS_OUT
from dashboard.serving import Served, serving
from fedclade.dashboard.listing import key_of

pytestmark = pytest.mark.slow

CANARY = "canary-5b1c"
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


# -- who asks ---------------------------------------------------------------------------------------------------------
