"""The page in a real browser while a run goes on: it grows, is shown anew, and rests while nobody looks."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dashboard.browsing import WAIT, Watched, open_list, points, wait_for_points, wait_for_words
from dashboard.making import Written, finished, key
from dashboard.serving import ENOUGH, Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

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
                with page.expect_request(lambda request: f"/run/{key('live')}/events?" in request.url):
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
        wait_for_words(page, "#history", "2 groups instead of 1")
        wait_for_words(page, "#history", "3 groups instead of 2")
        page.wait_for_selector("#clients tbody tr:nth-child(12)")
    watched.content()


def test_every_step_of_a_run_is_seen(watched: Watched, tmp_path: Path) -> None:
    """A run that the test writes: one group, then three; its writer goes, and comes back; it is finished."""
    run = Written(tmp_path / "run", [f"client-{number}" for number in range(6)], rounds=4)
    thirds = {client: number % 3 for number, client in enumerate(run.clients)}
    page = watched.page
    with serving(tmp_path) as served:
        open_list(watched, served)
        page.click("#rows td.name a")
        page.wait_for_selector("#status .state.running")
        assert "No client has been evaluated yet" in page.inner_text("#groups")
        page.evaluate("window.sameDocument = true")
        run.round(1, 0.25)
        page.wait_for_selector("#groups tbody tr:nth-child(1)")
        wait_for_points(page, 1)
        assert page.locator("#groups tbody tr").count() == 1
        run.round(2, 0.5, thirds, splits=[1, 2])
        page.wait_for_selector("#groups tbody tr:nth-child(3)")
        wait_for_points(page, 2)
        wait_for_words(page, "#history", "3 groups instead of 1")
        wait_for_words(page, "#history", "2 groups were split")
        wait_for_words(page, "#status", "50.0 %")
        page.wait_for_selector("[data-figure=groups] .legend .traces >> nth=2")
        assert page.locator("[data-figure=groups] .legend .traces").count() == 3
        run.folder.close()
        page.wait_for_selector("#status .state.stopped")
        run.folder.acquire()
        run.folder.restore_latest()
        page.wait_for_selector("#status .state.running")
        run.round(3, 0.6, thirds)
        run.round(4, 0.75, thirds)
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
        page.goto(f"{served.base}/run/{key('run')}")
        wait_for_points(page, 2)
        log, aside = tmp_path / "run" / "events.jsonl", tmp_path / "run" / ".aside"
        aside.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:3]))
        os.replace(aside, log)  # as `resume` does
        page.wait_for_function("() => document.querySelector('[data-figure=accuracy]')?.data?.[0].x.length === 1")
        wait_for_words(page, "#status", "round\n1 of 5")
    run.folder.close()
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
        assert first.is_checked(f"#tick-{key('run')}")
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
