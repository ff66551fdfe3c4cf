"""What tests do with a page in a real browser: open it, wait for its parts, and keep what it asked for."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dashboard.serving import ENOUGH, Served

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Dialog, Page

WAIT = 1000.0 * ENOUGH  # milliseconds
POINTS = "(document.querySelector('[data-figure=accuracy]').data?.[0]?.x.length ?? 0)"


@dataclass
class Watched:
    """A page, and all that it asked for or complained about."""

    page: "Page"
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.note)
        self.page.on("dialog", self.refuse)

    def note(self, message: "ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def refuse(self, dialog: "Dialog") -> None:
        self.complaints.append("a script ran")
        dialog.dismiss()

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


def points(page: "Page") -> int:
    """How many points the curve of the accuracy has."""
    return int(page.evaluate(POINTS))


def wait_for_points(page: "Page", count: int) -> None:
    page.wait_for_function(f"count => {POINTS} >= count", arg=count)


def wait_for_words(page: "Page", selector: str, words: str) -> None:
    """The parts of a page are sent one after another."""
    script = "([selector, words]) => document.querySelector(selector)?.innerText.includes(words)"
    page.wait_for_function(script, arg=[selector, words])
