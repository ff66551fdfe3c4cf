"""A real browser, and a page of it that is watched."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dashboard.browsing import WAIT, Watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = Path("/usr/bin/chromium")


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


@pytest.fixture
def watched(browser: "Browser") -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(WAIT)
    yield Watched(context.new_page())
    context.close()
