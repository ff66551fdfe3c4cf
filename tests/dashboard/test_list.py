"""The list while it is open: what is sent to a page when runs come, change and go."""

import shutil
from pathlib import Path

import anyio
import pytest

from dashboard.making import finished
from fedclade.dashboard import listing, streams
from fedclade.dashboard.app import Pages
from fedclade.dashboard.streams import ListHead, compare_stream, list_stream, row_news, runs_on_page


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pages:
    """Of one run; every look is a new one, and looks follow at once."""
    monkeypatch.setattr(listing, "SCAN_SECONDS", -1.0)
    monkeypatch.setattr(streams, "TICK", 0.001)
    finished(tmp_path / "runs" / "first", ("x",), rounds=1)
    return Pages(tmp_path / "runs")


def copy_first(pages: Pages, name: str) -> None:
    folder = pages.run_cache.listing.folder
    shutil.copytree(folder / "first", folder / name)


def messages(pages: Pages, heard: str, count: int) -> list[dict[str, str]]:
    """The first messages to a page that was made from the version `heard` of the list."""

    async def listen() -> list[dict[str, str]]:
        stream = list_stream(pages.run_cache.listing, pages.render, 1, heard, anyio.Event())
        return [await anext(stream) for _ in range(count)]

    return anyio.run(listen)


def test_rows_come_change_and_go_where_they_belong(pages: Pages) -> None:
    for name in ("a", "b", "c", "d"):
        copy_first(pages, name)
    runs = {run.name: run for run in pages.run_cache.listing.runs().values()}
    seen = {name: runs[name] for name in ("b", "c")}
    there = {"a": runs["a"], "b": runs["b"], "d": runs["d"]}
    changed, above, below = row_news(pages.render, seen, there)
    assert changed.split() == ["<tr", 'id="run-c"', 'hx-swap-oob="delete"></tr>']
    assert 'hx-swap-oob="afterbegin:#rows"' in above
    assert f"/run/{runs['a'].key}" in above
    assert 'hx-swap-oob="beforeend:#rows"' in below
    assert f"/run/{runs['d'].key}" in below
    assert row_news(pages.render, seen, seen) == []


def test_a_page_has_a_thousand_runs(pages: Pages) -> None:
    [known] = pages.run_cache.listing.runs().values()
    runs = {f"{number:04d}": known for number in range(1500)}
    assert [list(runs_on_page(runs, page)) for page in (1, 2, 3)] == [list(runs)[:1000], list(runs)[1000:], []]


def test_the_head_says_how_many_there_are(tmp_path: Path) -> None:
    pages = Pages(tmp_path)
    none = pages.render("_head.html", head=ListHead.of(pages.run_cache.listing, {}))
    assert f"0 in <code>{tmp_path}</code></p>" in none
    assert '<p id="empty" hx-swap-oob="true">There is no run here yet' in none
    one = pages.render("_head.html", head=ListHead(1, 1, "runs"))
    assert "1 in <code>runs</code>, 1 running</p>" in one
    assert '<p id="empty" hx-swap-oob="true" hidden>' in one


def test_a_page_that_connects_again_gets_what_came_since(pages: Pages) -> None:
    heard, _ = pages.run_cache.listing.runs_with_version()
    copy_first(pages, "second")
    pages.run_cache.listing.runs_with_version()  # another page has looked meanwhile
    head, row = messages(pages, heard, 2)
    assert (head["event"], row["event"]) == ("rows", "rows")
    assert "2 in <code>" in head["data"]
    assert "id" not in head, "its row is still to come"
    assert ">second<" in row["data"]
    copy_first(pages, "third")
    head, row = messages(pages, row["id"], 2)
    assert "3 in <code>" in head["data"]
    assert ">third<" in row["data"]
    assert ">second<" not in row["data"]


def test_a_page_of_an_old_version_is_loaded_again(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_LISTS", 1)
    heard, _ = pages.run_cache.listing.runs_with_version()
    assert heard == pages.run_cache.listing.runs_with_version()[0]  # the same list keeps its version
    copy_first(pages, "second")
    now, _ = pages.run_cache.listing.runs_with_version()
    assert pages.run_cache.listing.runs_at(heard) is None
    assert messages(pages, heard, 1) == [{"event": "restart", "data": "another list", "id": now}]


def test_a_comparison_gets_what_came_before_it_connected(pages: Pages) -> None:
    async def listen() -> list[str]:
        stream = compare_stream(pages.run_cache.listing, list(runs), heard, anyio.Event())
        return [message["event"] async for message in stream]

    heard, runs = pages.run_cache.listing.runs_with_version()
    assert anyio.run(listen) == ["end"]
    result = pages.run_cache.listing.folder / "first" / "result.json"
    result.write_text(result.read_text() + " ")
    assert anyio.run(listen) == ["changed", "end"]
