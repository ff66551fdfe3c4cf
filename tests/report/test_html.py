"""The report: one file, offline, with the figures of the runs, and nothing that a name could inject."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.api import Settings
from fedclade.data import Federation
from fedclade.nouns import InputError
from fedclade.report.comparison import as_text, compared
from fedclade.report.harm import harmed_in
from fedclade.report.html import verdict, write_report
from fedclade.report.story import read as read_run

QUICK: Settings = {"rounds": 2, "participation": 1.0, "evaluate_every": 1, "lr": 0.2, "workers": 0}


@pytest.fixture(scope="module")
def comparison(two_groups: Federation, tmp_path_factory: pytest.TempPathFactory) -> fc.Comparison:
    folder = tmp_path_factory.mktemp("report")
    return fc.compare(two_groups, [fc.FedAvg(), fc.Local()], seeds=2, net="logistic", out=folder, **QUICK)


class Page(HTMLParser):
    """What a browser would see: the tags with their attributes, and the text outside scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts = [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text())
    return page


def test_the_page_shows_what_the_runs_say(comparison: fc.Comparison, tmp_path: Path) -> None:
    page = read(comparison.report(tmp_path / "report.html"))
    for line in comparison.lines:
        for cell in as_text(line):
            assert cell in page.text
    for run in comparison.runs:
        assert str(run.result["model_hash"]) in page.text
    assert re.search(r"(fedavg|local) was best: \d+\.\d % mean accuracy over 6 clients", page.text)


def test_the_figures_hold_every_client_and_round(comparison: fc.Comparison, tmp_path: Path) -> None:
    page = read(comparison.report(tmp_path / "report.html"))
    figures = [json.loads(found) for found in re.findall(r"const figure = (.*);", page.scripts[-1])]
    curves, _, strips = figures[:3]
    named = {trace["name"]: trace for trace in curves["data"] if trace.get("name")}
    assert set(named) == {"fedavg", "local"}
    assert all(len(trace["x"]) == 2 for trace in named.values())
    marks = [len(trace["text"]) for trace in strips["data"] if trace["type"] == "scatter"]
    assert [marks[0] + marks[1], marks[2] + marks[3]] == [12, 12]  # 6 clients, 2 seeds; harmed ones apart
    assert curves["layout"]["yaxis"]["title"]["text"] == "mean accuracy of the clients, %"


def test_nothing_is_fetched(comparison: fc.Comparison, tmp_path: Path) -> None:
    path = comparison.report(tmp_path / "report.html")
    assert path.stat().st_size < 8e6  # plotly is in it, once
    page = read(path)
    assert not [tag for tag, attributes in page.tags if {"src", "href", "srcset", "action"} & set(attributes)]
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "img")]


def test_names_stay_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    nasty = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "{{ 7 * 7 }}", "a&b\"'`"]
    federation = fc.data.from_arrays({name: (rng.random((8, 3)), np.arange(8) % 2) for name in nasty})
    run = fc.train(federation, fc.Local(), net="logistic", out=tmp_path / "<b>run", **QUICK)
    other = fc.train(federation, fc.FedAvg(), net="logistic", out=tmp_path / "other", **QUICK)
    page = read(write_report([run.folder, other.folder], tmp_path / "report.html"))
    assert len([tag for tag, _ in page.tags if tag == "script"]) == 2
    assert not [tag for tag, _ in page.tags if tag in ("img", "b")]
    assert "{{ 7 * 7 }}" in page.scripts[-1]
    for figure in re.findall(r"const figure = (.*);", page.scripts[-1]):
        assert not re.search(r"<(script|img|b>)", json.dumps(json.loads(figure)))  # plotly reads a little HTML
    assert "<b>run" in page.text


def test_harmed_clients_by_hand(comparison: fc.Comparison) -> None:
    stories = [read_run(run.folder) for run in comparison.runs]
    fedavg, local = stories[0].final_accuracy(), stories[1].final_accuracy()
    assert len(fedavg) == 6
    hurt = harmed_in(stories)
    assert hurt[0] == tuple(client for client in sorted(fedavg) if fedavg[client] < local[client])
    assert hurt[1] == tuple(client for client in sorted(fedavg) if local[client] < fedavg[client])
    assert harmed_in(stories[:1]) == [None]  # nobody to compare with
    assert compared([comparison.runs[0].folder])[0].harmed is None


def test_an_unfinished_run_has_no_report(comparison: fc.Comparison, tmp_path: Path) -> None:
    from fedclade.runs.folder import RunFolder

    with RunFolder.create(tmp_path / "run", "", {}) as folder, pytest.raises(InputError, match="a run is not finished"):
        write_report([folder], tmp_path / "report.html")
    with pytest.raises(InputError, match="the report cannot be written"):
        comparison.report(tmp_path / "nowhere" / "report.html")


def test_the_verdict_leaves_out_what_is_not_known_and_says_ties(comparison: fc.Comparison) -> None:
    stories = [read_run(run.folder) for run in comparison.runs][:1]
    one, other = comparison.lines

    def said(first: float, second: float) -> str:
        return verdict(stories, [replace(one, accuracy=first), replace(other, accuracy=second)])

    assert said(0.5, 0.75).startswith(
        f"{other.method} was best: 75.0 % mean accuracy over 6 clients ({one.method} 50.0 %"
    )
    assert said(0.5, 0.5) == f"{one.method} and {other.method} came out alike: 50.0 % mean accuracy over 6 clients."
    for pair in ((float("nan"), 0.5), (0.5, float("nan"))):
        assert " was best: 50.0 %" in said(*pair)
        assert "not evaluated)." in said(*pair)
    assert said(float("nan"), float("nan")) == "Nobody could be evaluated."
