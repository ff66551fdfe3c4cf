"""What tests do with a page in a real browser: open it, wait for what comes, and keep what it asked for."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.serving import ENOUGH, Served

if TYPE_CHECKING:
    from playwright.sync_api import Page

WAIT = 1000.0 * ENOUGH  # milliseconds


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
