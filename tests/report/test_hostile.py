"""Clients may be called anything: on pages their names are text, and never markup or a program."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import Groups, checked_ids
from fedclade.report.groups import write_groups
from fedclade.report.html import write_report
from fedclade.report.page import render_page
from fedclade.report.plots import draw_plots
from fedclade.report.run_data import RunData
from fedclade.runs.own_groups import find_own_groups
from report.folders import asked, discovery, evaluation, made, planted, round_event
from report.parsing import Page, check_page
from report.payloads import PAYLOADS

CHROMIUM = shutil.which("chromium") or ""


def hostile_data() -> fc.Federation:
    """A table in which everything has such a name: clients in two groups, columns and labels."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(30, 3)) + 5 * (place % 2) for place in range(len(PAYLOADS))])
    table: dict[str, object] = {name: rows[:, number] for number, name in enumerate(PAYLOADS[:3])}
    table["client"] = [name for name in PAYLOADS for _ in range(30)]
    table["label"] = rng.choice(PAYLOADS[10:13], len(rows))
    return fc.data.from_frame(table, client="client", label="label", name="<b>data</b>")


def hostile_run(path: Path) -> RunData:
    """A run in which clients, the method and its settings have such names."""
    names = (PAYLOADS[0], PAYLOADS[2], PAYLOADS[11], PAYLOADS[26])
    lines = [(number, name, 0.5, place % number) for number in (1, 2) for place, name in enumerate(PAYLOADS)]
    facts = {
        "discovery": discovery(names),
        "scores": dict.fromkeys(PAYLOADS, 0.5),
        "clusters": [{"node": 0, "members": 4, "mean_norm": 1.0, "restless_norm": 2.0}],
        "splits": [{"node": 0, "children": [1, 2], "parts": [names[:2], names[2:]], "clients": names}],
    }
    first = [planted(PAYLOADS[::2], PAYLOADS[1::2]), round_event(1, 1, 1, **facts)]
    return made(path, asked(PAYLOADS[10]), [*first, evaluation(1, 0.5), evaluation(2, 0.5)], lines)


def test_there_are_enough_of_them() -> None:
    assert len(checked_ids(PAYLOADS, where="here")) >= 60  # all are names that a client may have


def test_the_groups_page_shows_names_as_text(tmp_path: Path) -> None:
    answer = find_own_groups(hostile_data())
    assert answer.has_groups
    page = check_page(write_groups(answer, tmp_path)[1])
    for name in (*PAYLOADS, "<b>data</b>"):
        assert name in page.text


def test_figures_show_names_as_text(tmp_path: Path) -> None:
    figures = list(draw_plots([hostile_run(tmp_path / "run")]))
    assert len(figures) >= 12
    (tmp_path / "page.html").write_text(render_page("page.html", figures, version="0"), encoding="utf-8")
    check_page(tmp_path / "page.html")


def test_the_report_shows_names_as_text(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    federation = fc.data.from_arrays({name: (rng.random((8, 3)), np.arange(8) % 2) for name in PAYLOADS[:4]})
    runs = [
        fc.train(federation, method, net="logistic", rounds=1, participation=1.0, workers=0, out=tmp_path / name)
        for method, name in ((fc.Local(), "<b>run"), (fc.FedAvg(), "other"))
    ]
    page = check_page(write_report([run.folder for run in runs], tmp_path / "report.html"))
    assert "<b>run" in page.text


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM, reason="needs chromium")
def test_a_browser_runs_nothing_and_complains_of_nothing(tmp_path: Path) -> None:
    """Opened from the disk, with every name resolved to nowhere."""
    page = write_groups(find_own_groups(hostile_data()), tmp_path)[1]
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    words += ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--virtual-time-budget=20000"]
    done = subprocess.run(
        [*words, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "<title>fedclade groups</title>" in done.stdout  # no name has changed it
    assert done.stdout.count('class="main-svg"') >= 6  # the figures were drawn
    assert "CONSOLE" not in done.stderr
    offered = set(re.findall('data-title="([^"]*)"', done.stdout))
    assert offered == {"Download plot as a PNG", "Zoom", "Pan", "Reset axes"}  # and no upload


def test_notebooks_show_names_as_text() -> None:
    page = Page(Groups((PAYLOADS[:3], PAYLOADS[3:]))._repr_html_())
    assert set(page.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert PAYLOADS[0] in page.text
    assert "2 groups" in page.text


def test_a_notebook_shows_a_federation_with_hostile_names_as_text() -> None:
    """The names of its classes, of its columns in the notes, and its own."""
    federation = replace(hostile_data(), notes=(f"column {PAYLOADS[0]} is left out",))
    page = Page(federation._repr_html_())
    assert set(page.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    attributes = {name for _, each in page.elements for name in each}
    assert attributes == {"class", "style"}
    for name in (*PAYLOADS[10:13], f"column {PAYLOADS[0]} is left out", "<b>data</b>"):
        assert name in page.text


def test_notebooks_show_tables_in_their_own_colours() -> None:
    """Light or dark: nothing is said of colours; and names between dollar signs are no formulas."""
    shown = hostile_data()._repr_html_()
    assert "color" not in shown
    assert "background" not in shown
    assert shown.startswith('<table class="tex2jax_ignore mathjax_ignore">')


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
