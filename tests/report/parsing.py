"""What a browser would see of a page."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

OURS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "div", "table", "thead", "tbody", "tr", "th"),
    *("td", "script", "details", "summary", "ul", "li", "pre", "code"),
}
MARKUP = re.compile(r"<br>|<extra></extra>")  # what we write into figures ourselves
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')  # a string of JSON


class Page(HTMLParser):
    """The elements of a page with their attributes, the text outside scripts, and the scripts."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self.feed(source)

    @property
    def tags(self) -> list[str]:
        return [tag for tag, _ in self.elements]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.scripts += [""] if tag == "script" else []

    def handle_data(self, data: str) -> None:
        if self.elements and self.elements[-1][0] == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def check_page(path: Path) -> Page:
    """A page that is ours from end to end, and fetches nothing."""
    page = Page(path.read_text(encoding="utf-8"))
    assert set(page.tags) <= OURS
    attributes = {name for _, names in page.elements for name in names}
    assert not {"src", "href", "srcset", "action"} & attributes
    assert not [name for name in attributes if name.startswith("on")]
    assert len(page.scripts) == 2
    found = re.findall(r"const figure = (.*);", page.scripts[-1])
    assert found
    for figure in found:
        assert not set("<>&") & set(figure)
        for words in TEXT.findall(figure):
            assert "<" not in MARKUP.sub("", json.loads(words)), words
    return page
