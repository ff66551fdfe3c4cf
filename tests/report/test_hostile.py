"""Clients may be called anything: on pages their names are text, and never markup or a program."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.data.holdings import Holdings
from fedclade.nouns import Groups, checked_ids
from fedclade.report.figures import drawn
from fedclade.report.groups import write_groups
from fedclade.report.page import rendered
from fedclade.report.story import Story
from fedclade.runs.looking import look
from report.folders import asked, discovery, evaluation, made, planted, round_event
from report.payloads import PAYLOADS

OURS = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "table", "thead", "tbody", "tr", "th"}
OURS |= {"td", "script"}
MARKUP = re.compile(r"<br>|<extra></extra>")  # what we write into figures ourselves


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, set[str]]] = []
        self.text = ""
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name for name, _ in attrs}))
        self.inside = tag

    def handle_data(self, data: str) -> None:
        self.text += data if self.inside != "script" else ""


def words_of(value: object) -> Iterator[str]:
    """Every piece of text in a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from words_of(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from words_of([name, each])


def check(path: Path) -> Page:
    """A page that is ours from end to end."""
    source = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(source)
    assert {tag for tag, _ in page.elements} <= OURS
    assert not [
        names
        for _, names in page.elements
        if {"src", "href", "action"} & names or any(name.startswith("on") for name in names)
    ]
    assert [tag for tag, _ in page.elements].count("script") == 2
    found = re.findall(r"const figure = (.*);", source)
    assert found
    for figure in found:
        assert not set("<>&") & set(figure)
        for words in words_of(json.loads(figure)):
            assert "<" not in MARKUP.sub("", words), words
    return page


def hostile_answer() -> Holdings:
    """A table in which everything has such a name: 48 clients in two groups, columns and labels."""
    chance = np.random.default_rng(0)
    rows = {name: chance.normal(size=(30, 3)) + 5 * (place % 2) for place, name in enumerate(PAYLOADS)}
    labels = {name: chance.integers(0, 3, 30) for name in PAYLOADS}
    return Holdings(
        "<b>data</b>",
        {name: each.astype(np.float32) for name, each in rows.items()},
        labels,
        (PAYLOADS[0], PAYLOADS[3], PAYLOADS[9]),
        (PAYLOADS[1], PAYLOADS[2], PAYLOADS[4]),
    )


def hostile_story(path: Path) -> Story:
    """A run in which clients, the method and its settings have such names."""
    names = (PAYLOADS[0], PAYLOADS[1], PAYLOADS[3], PAYLOADS[9])
    lines = [(number, name, 0.5, place % number) for number in (1, 2) for place, name in enumerate(PAYLOADS)]
    cluster = {"node": 0, "members": 4, "mean_norm": 1.0, "restless_norm": 2.0}
    split = {"node": 0, "children": [1, 2], "parts": [names[:2], names[2:]], "clients": names}
    facts = {
        "discovery": discovery(names),
        "scores": dict.fromkeys(PAYLOADS, 0.5),
        "clusters": [cluster],
        "splits": [split],
    }
    events = [
        planted(PAYLOADS[::2], PAYLOADS[1::2]),
        round_event(1, 1, 1, **facts),
        evaluation(1, 0.5),
        evaluation(2, 0.5),
    ]
    return made(path, asked("<img src=x onerror=document.title='owned'>"), events, lines)


def test_there_are_enough_of_them() -> None:
    assert len(set(PAYLOADS)) >= 40
    assert len(checked_ids(PAYLOADS, where="here")) == len(PAYLOADS)  # all are names that a client may have


def test_the_groups_page_shows_names_as_text(tmp_path: Path) -> None:
    answer = look(hostile_answer())
    assert answer.clear
    page = check(write_groups(answer, tmp_path)[1])
    for name in (*PAYLOADS, "<b>data</b>"):
        assert name in page.text


def test_figures_show_names_as_text(tmp_path: Path) -> None:
    story = hostile_story(tmp_path / "run")
    figures = list(drawn([story]))
    assert len(figures) >= 12
    (tmp_path / "page.html").write_text(rendered("page.html", figures, version="0"), encoding="utf-8")
    check(tmp_path / "page.html")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_runs_nothing_and_complains_of_nothing(tmp_path: Path) -> None:
    """Opened from the disk, with every name resolved to nowhere."""
    browser = shutil.which("chromium")
    assert browser
    page = write_groups(look(hostile_answer()), tmp_path)[1]
    words = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [*words, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "<title>fedclade groups</title>" in done.stdout  # nobody has changed it
    assert done.stdout.count('class="main-svg"') >= 6  # the figures were drawn
    assert "CONSOLE" not in done.stderr
    offered = set(re.findall('data-title="([^"]*)"', done.stdout))
    assert offered == {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}  # and no upload


def test_notebooks_show_names_as_text() -> None:
    shown = Groups((PAYLOADS[:3], PAYLOADS[3:]))._repr_html_()
    page = Page()
    page.feed(shown)
    assert {tag for tag, _ in page.elements} == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert PAYLOADS[0] in page.text
    assert "2 groups" in page.text


def test_runs_comparisons_and_findings_show_themselves(tmp_path: Path) -> None:
    federation = fc.data.build(source="digits", world="rotation", clients=6, groups=2)
    assert "2 groups, confidence" in fc.find_groups(federation)._repr_html_()
    comparison = fc.compare(
        federation, [fc.Local()], net="logistic", rounds=1, participation=1.0, workers=0, out=tmp_path / "<b>runs"
    )
    run = comparison.runs[0]
    assert f"{100 * run.accuracy:.1f} %" in run._repr_html_()
    assert "&lt;b&gt;runs" in run._repr_html_()
    assert '<td style="text-align:left">local</td>' in comparison._repr_html_()
