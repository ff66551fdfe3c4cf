"""The page in a real browser: it lives while a run goes on, stands large stores, and never asks anybody else."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import safetensors.numpy

import fedclade as fc
from dashboard.making import Written, finished, many
from dashboard.payloads import SCRIPTS
from dashboard.serving import ENOUGH, Served, serving
from fedclade.dashboard.listing import key_of
from fedclade.data import Federation
from fedclade.report.html import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

pytestmark = pytest.mark.slow

CHROMIUM = Path("/usr/bin/chromium")
WAIT = 1000.0 * ENOUGH  # milliseconds
RUNS_LISTED, RUN_OPENED = 2.0, 3.0  # seconds that a person may have to wait
NOISY = 5  # times as long on a machine that others use too
LONG = 4 * WAIT  # milliseconds for a whole run

LIVE = """
[data]
source = "digits"
world = "label-permutation"
clients = 12
groups = 3
[method]
name = "cfl"
[local]
epochs = 2
lr = 0.1
[run]
rounds = 60
evaluate_every = 1
"""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Debian's chromium. In CI it must be there; elsewhere its absence is a reason to skip."""
    if not CHROMIUM.exists() and not os.environ.get("CI"):
        pytest.skip("there is no /usr/bin/chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playing:
        started = playing.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield started
        started.close()


@dataclass
class Watched:
    """A page, and all that it asked for or complained about."""

    page: "Page"
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def content(self) -> None:
        """Nothing left this machine, and nobody complained."""
        outside = [url for url in self.requests if not re.match(r"http://127\.0\.0\.1:\d+/|data:|blob:|file:", url)]
        assert outside == []
        assert self.complaints == []


@pytest.fixture
def watched(browser: "Browser") -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(WAIT)
    page = context.new_page()
    seen = Watched(page)
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("console", lambda told: seen.complaints.append(told.text) if told.type in ("error", "warning") else None)

    def dialog(shown: "Dialog") -> None:
        seen.complaints.append("a script ran")
        shown.dismiss()

    page.on("dialog", dialog)
    yield seen
    context.close()


def open_list(watched: Watched, served: Served) -> None:
    """As a user does: with the printed address."""
    watched.page.goto(served.address)
    watched.page.wait_for_url(served.base + "/")
    watched.page.wait_for_selector("#rows", state="attached")


def points(page: "Page", figure: str = "accuracy") -> int:
    """How many points the first curve of a figure has."""
    script = "name => document.querySelector(`[data-figure=${name}]`).data?.[0]?.x.length ?? 0"
    return int(page.evaluate(script, figure))


def wait_for_points(page: "Page", count: int) -> None:
    page.wait_for_function(
        "count => (document.querySelector('[data-figure=accuracy]').data?.[0]?.x.length ?? 0) >= count", arg=count
    )


def wait_for_words(page: "Page", selector: str, words: str) -> None:
    """A page is told of its parts one after another."""
    page.wait_for_function(
        "([selector, words]) => document.querySelector(selector)?.innerText.includes(words)", arg=[selector, words]
    )


def until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + ENOUGH
    while not reached():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)


def test_a_live_run(watched: Watched, tmp_path: Path) -> None:
    """The list shows a run that was started after it was opened; its page grows until it says finished."""
    (tmp_path / "experiment.toml").write_text(LIVE)
    (tmp_path / "runs").mkdir()
    page = watched.page
    with serving(tmp_path / "runs") as served:
        open_list(watched, served)
        assert page.locator("#rows tr").count() == 0
        assert page.is_visible("#empty")
        page.evaluate("window.sameDocument = true")
        words = [sys.executable, "-m", "fedclade", "run", "experiment.toml", "--out", "runs/live"]
        with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL) as training:
            try:
                # A quick machine has finished it before a page is open: it waits where it begins until one is.
                until(lambda: (tmp_path / "runs/live/events.jsonl").exists() or training.poll() is not None)
                assert training.poll() is None
                training.send_signal(signal.SIGSTOP)
                page.wait_for_selector("#rows tr")
                page.wait_for_selector("#empty", state="hidden")
                assert page.inner_text("#count").startswith("1 in ")
                assert page.evaluate("window.sameDocument") is True
                with page.expect_request(lambda request: f"/run/{key_of(b'live')}/events?" in request.url):
                    page.click("#rows td.name a")
                page.wait_for_selector("#status .state.running")
                page.evaluate("window.sameDocument = true")
                before = points(page)
                assert before < 60
                training.send_signal(signal.SIGCONT)
                wait_for_points(page, before + 1)
                page.wait_for_selector("#status .state.finished", timeout=LONG)
                page.wait_for_selector("#groups tbody tr:nth-child(3)")
                wait_for_points(page, 60)
                assert page.evaluate("window.sameDocument") is True
                assert training.wait() == 0
            finally:
                training.kill()  # a process that waits would wait for ever
        assert "60 of 60" in page.inner_text("#status")
        assert page.locator("#groups tbody tr").count() == 3
        wait_for_words(page, "#happenings", "2 groups instead of 1")
        wait_for_words(page, "#happenings", "3 groups instead of 2")
        page.wait_for_selector("#clients tbody tr:nth-child(12)")
    watched.content()


def test_every_step_of_a_run_is_seen(watched: Watched, tmp_path: Path) -> None:
    """A run that the test writes: one group, then three; its writer goes, and comes back; it is finished."""
    run = Written(tmp_path / "run", [f"client-{number}" for number in range(6)], rounds=4)
    page = watched.page
    with serving(tmp_path) as served:
        open_list(watched, served)
        page.click("#rows td.name a")
        page.wait_for_selector("#status .state.running")
        assert "Nobody has been evaluated yet" in page.inner_text("#groups")
        page.evaluate("window.sameDocument = true")
        run.round(1, 0.25)
        page.wait_for_selector("#groups tbody tr:nth-child(1)")
        wait_for_points(page, 1)
        assert page.locator("#groups tbody tr").count() == 1
        run.round(2, 0.5, {client: number % 3 for number, client in enumerate(run.clients)}, splits=[1, 2])
        page.wait_for_selector("#groups tbody tr:nth-child(3)")
        wait_for_points(page, 2)
        wait_for_words(page, "#happenings", "3 groups instead of 1")
        wait_for_words(page, "#happenings", "2 groups were split")
        wait_for_words(page, "#status", "50.0 %")
        page.wait_for_selector("[data-figure=groups] .legend .traces >> nth=2")
        assert page.locator("[data-figure=groups] .legend .traces").count() == 3
        run.folder.close()
        page.wait_for_selector("#status .state.stopped")
        run.folder.hold()
        run.folder.latest()
        page.wait_for_selector("#status .state.running")
        run.round(3, 0.6, {client: number % 3 for number, client in enumerate(run.clients)})
        run.round(4, 0.75, {client: number % 3 for number, client in enumerate(run.clients)})
        run.finish(0.75, groups=3)
        page.wait_for_selector("#status .state.finished")
        wait_for_words(page, "#status", "75.0 %")
        wait_for_points(page, 4)
        assert page.evaluate("window.sameDocument") is True
        assert points(page) == 4
    watched.content()


def test_a_run_that_is_cut_back_is_shown_anew(watched: Watched, tmp_path: Path) -> None:
    run = Written(tmp_path / "run", rounds=5)
    run.round(1, 0.25)
    run.round(2, 0.5)
    page = watched.page
    with serving(tmp_path) as served:
        open_list(watched, served)
        page.goto(f"{served.base}/run/{key_of(b'run')}")
        wait_for_points(page, 2)
        log = tmp_path / "run" / "events.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        aside = tmp_path / "run" / ".aside"
        aside.write_bytes(b"".join(lines[:3]))
        os.replace(aside, log)  # as `resume` does
        page.wait_for_function("() => document.querySelector('[data-figure=accuracy]')?.data?.[0].x.length === 1")
        wait_for_words(page, "#status", "round\n1 of 5")
    run.folder.close()
    watched.content()


def best_of_three(opened: Callable[[], None]) -> float:
    """Seconds that the quickest of three loads of a page takes: others may be using this machine too."""
    taken = []
    for _ in range(3):
        begin = time.monotonic()
        opened()
        taken.append(time.monotonic() - begin)
    return min(taken)


def test_a_thousand_runs(watched: Watched, tmp_path: Path) -> None:
    many(tmp_path, 1000)
    page = watched.page
    with serving(tmp_path) as served:

        def opened() -> None:
            page.goto(served.address)
            page.wait_for_url(served.base + "/")
            page.wait_for_function("() => document.querySelectorAll('#rows tr').length === 1000")

        taken = best_of_three(opened)
        print(f"1,000 runs listed in {taken:.2f} s")
        assert taken < NOISY * RUNS_LISTED
        page.fill("#filter", "run-0123")
        assert page.locator("#rows tr:visible").count() == 1
        assert "run-0123" in page.locator("#rows tr:visible").inner_text()
    watched.content()


def test_a_thousand_clients(watched: Watched, tmp_path: Path) -> None:
    finished(tmp_path / "large", [f"client-{number:04d}" for number in range(1000)], rounds=20)
    page = watched.page
    with serving(tmp_path) as served:
        open_list(watched, served)
        page.click("#rows td.name a")
        page.wait_for_selector("#clients tbody tr")

        def opened() -> None:
            page.reload()
            page.wait_for_function("() => document.querySelectorAll('#clients tbody tr').length === 1000")
            page.wait_for_selector("[data-figure=accuracy] .legend .traces")
            page.wait_for_selector("[data-figure=groups] .legend .traces")

        taken = best_of_three(opened)
        print(f"a run with 1,000 clients opened in {taken:.2f} s")
        assert taken < NOISY * RUN_OPENED
        assert "500" in page.inner_text("#groups tbody tr:nth-child(1)")
        assert "and 488 more" in page.inner_text("#groups tbody tr:nth-child(1)")
    watched.content()


def test_three_runs_side_by_side_and_a_client(watched: Watched, tmp_path: Path) -> None:
    for name, rounds in (("one", 2), ("two", 3), ("three", 4)):
        finished(tmp_path / name, rounds=rounds)
    page = watched.page
    with serving(tmp_path) as served:
        open_list(watched, served)
        assert page.is_disabled("#compare")
        for box in page.locator("#rows input").all():
            box.check()
        page.click("#compare")
        page.locator("[data-figure=megabytes]").scroll_into_view_if_needed()
        page.wait_for_selector("[data-figure=megabytes] .legend .traces")
        curves = page.evaluate(
            "[...document.querySelector('[data-figure=rounds]').data].map(d => [d.name, d.x.length])"
        )
        assert sorted(curves) == [["one", 2], ["three", 4], ["two", 3]]
        assert page.locator("tbody tr").count() == 3
        for figure in ("rounds", "megabytes"):
            assert page.text_content(f"[data-figure={figure}] .ytitle") == "mean accuracy, %"
        assert page.text_content("[data-figure=megabytes] .xtitle") == "megabytes sent, up and down"
        page.click("tbody td.name a")
        page.wait_for_selector("#clients tbody tr")
        page.click("#clients tbody tr:nth-child(3) a")
        page.wait_for_selector("[data-figure=client] .legend .traces")
        assert page.inner_text("h1") == "c"
        with page.expect_download() as download:
            page.click("a.button")
        kept = safetensors.numpy.load_file(download.value.path())
        assert kept["layer.bias"].tolist() == [2.0, 2.0]
    watched.content()


def test_names_run_nowhere(watched: Watched, tmp_path: Path) -> None:
    """Every attack as the name of a run, of a method and of clients, in every page: no script of theirs runs."""
    hostile = [name.replace("/", "\N{FRACTION SLASH}")[:200] for name in SCRIPTS]
    first = finished(tmp_path / "runs" / "clients", SCRIPTS, rounds=2)
    small = finished(tmp_path / "small", ("a",), rounds=1)
    for name in hostile:
        shutil.copytree(small, tmp_path / "runs" / "named" / name)
    assert first.exists()
    page = watched.page
    page.add_init_script("window.alert = () => { window.attacked = true; }")
    tags = "script:not([src]), iframe, object, embed, base, video, audio, svg script"
    innocent = """tags => !window.attacked
        && [...document.querySelectorAll('*')].every(e => [...e.attributes].every(a => !/^on/i.test(a.name)))
        && document.querySelectorAll(tags).length === 0
        && [...document.querySelectorAll('a')].every(a => a.closest('.modebar') || a.origin === location.origin)"""
    with serving(tmp_path / "runs") as served:
        open_list(watched, served)
        assert page.locator("#rows tr").count() == len(SCRIPTS) + 1
        assert page.evaluate(innocent, tags)
        keys = [key_of(f"named/{name}".encode()) for name in hostile]
        for start in range(0, len(keys), 12):
            page.goto(f"{served.base}/compare?" + "&".join(f"run={key}" for key in keys[start : start + 12]))
            page.wait_for_selector("[data-figure=rounds] .legend .traces")
            assert page.evaluate(innocent, tags)
            names = page.evaluate(
                "[...document.querySelectorAll('[data-figure=rounds] .legendtext')].map(e => e.textContent)"
            )
            shown = [" ".join(f"named/{name}"[:39].split()) for name in hostile[start : start + 12]]
            assert all(any(each in " ".join(name.split()) for name in names) for each in shown if "&" not in each), (
                names
            )
        page.goto(f"{served.base}/run/{key_of(b'clients')}")
        page.locator("[data-figure=spread]").scroll_into_view_if_needed()
        page.wait_for_selector("[data-figure=spread] .main-svg >> nth=0")
        assert page.evaluate(innocent, tags)
        assert page.locator("#clients tbody tr").count() == len(SCRIPTS)
        page.locator("#clients tbody tr a").first.click()
        page.wait_for_selector("[data-figure=client] .legend .traces")
        assert page.evaluate(innocent, tags)
    watched.content()


# A browser without windows shows every page: what it would tell a hidden one is told by hand.
SHOW = """hidden => {
    Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


@contextmanager
def one_live_run(browser: "Browser", folder: Path) -> Iterator[tuple["Page", Served, Path]]:
    """A page, a dashboard of one run that is going on, and a finished run that can be put beside it."""
    small = finished(folder / "small", ("a",), rounds=1)
    context = browser.new_context()
    context.set_default_timeout(WAIT)
    with closing(Written(folder / "runs" / "run").folder), serving(folder / "runs") as served:
        yield context.new_page(), served, small
    context.close()


def test_a_page_that_nobody_sees_gives_its_connection_back(browser: "Browser", tmp_path: Path) -> None:
    """And is up to date when it is seen again, with what was ticked and typed."""
    with one_live_run(browser, tmp_path) as (first, served, small):
        first.goto(served.address)
        first.wait_for_selector("#rows tr")
        first.check("#rows input")
        first.fill("#filter", "run")
        with first.expect_event("requestfailed", lambda request: "/events?page=1&" in request.url):
            first.evaluate(SHOW, arg=True)
        shutil.copytree(small, tmp_path / "runs" / "run-while-hidden")
        with first.expect_request(lambda request: "/events?page=1&" in request.url):
            first.evaluate(SHOW, arg=False)
        first.wait_for_selector("#rows tr >> nth=1")
        assert first.is_checked(f"#tick-{key_of(b'run')}")
        assert first.input_value("#filter") == "run"
        shutil.copytree(small, tmp_path / "runs" / "run-afterwards")
        first.wait_for_selector("#rows tr >> nth=2")


def test_a_page_opened_in_the_background_gives_its_connection_back(browser: "Browser", tmp_path: Path) -> None:
    """It is hidden before its connection stands, and follows the runs from when it is first seen."""
    with one_live_run(browser, tmp_path) as (page, served, small):
        page.add_init_script(f"({SHOW})(true)")
        with page.expect_event("requestfailed", lambda request: "/events?page=1&" in request.url):
            page.goto(served.address)
        with page.expect_request(lambda request: "/events?page=1&" in request.url):
            page.evaluate(SHOW, arg=False)
        shutil.copytree(small, tmp_path / "runs" / "run-afterwards")
        page.wait_for_selector("#rows tr >> nth=1")


def test_the_report_opens_from_disk_without_a_network(watched: Watched, two_groups: Federation, tmp_path: Path) -> None:
    runs = [
        fc.train(two_groups, method, net="logistic", rounds=2, lr=0.2, workers=0, out=tmp_path / type(method).__name__)
        for method in (fc.FedAvg(), fc.Local())
    ]
    report = write_report([run.folder for run in runs], tmp_path / "report.html")
    watched.page.context.set_offline(True)
    watched.page.goto(report.as_uri())
    watched.page.wait_for_selector(".main-svg >> nth=0")
    assert watched.page.locator(".js-plotly-plot").count() >= 2
    assert all(url.startswith(("file:", "data:", "blob:")) for url in watched.requests), watched.requests
    watched.content()
