"""The list while it is open: what a page is told when runs come, change and go."""

import shutil
from pathlib import Path

import anyio
import pytest

from dashboard.making import finished
from fedclade.dashboard import listing, streams
from fedclade.dashboard.app import Pages
from fedclade.dashboard.streams import Head, changes, list_stream, on_page, row_news


def test_rows_come_change_and_go_where_they_belong(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d", "e"):
        finished(tmp_path / name, ("x",), rounds=1)
    pages = Pages(tmp_path)
    runs = {run.name: run for run in pages.desk.runs().values()}
    seen = {name: runs[name] for name in ("b", "c")}
    there = {"a": runs["a"], "b": runs["b"], "d": runs["d"]}
    changed, above, below = row_news(pages.draw, seen, there)
    assert changed.split() == ["<tr", 'id="run-c"', 'hx-swap-oob="delete"></tr>']
    assert 'hx-swap-oob="afterbegin:#rows"' in above
    assert f"/run/{runs['a'].key}" in above
    assert 'hx-swap-oob="beforeend:#rows"' in below
    assert f"/run/{runs['d'].key}" in below
    assert row_news(pages.draw, seen, seen) == []


def test_a_page_hears_of_its_own_runs_only(tmp_path: Path) -> None:
    run = finished(tmp_path / "a", ("x",), rounds=1)
    known = next(iter(Pages(tmp_path).desk.runs().values()))
    runs = {f"{number:04d}": known for number in range(1500)}
    assert run.exists()
    assert list(on_page(runs, 1)) == [f"{number:04d}" for number in range(1000)]
    assert list(on_page(runs, 2)) == [f"{number:04d}" for number in range(1000, 1500)]
    assert on_page(runs, 3) == {}


def test_the_head_says_how_many_there_are(tmp_path: Path) -> None:
    pages = Pages(tmp_path)
    none = pages.draw("_head.html", head=Head.of(pages.desk, pages.desk.runs()))
    assert f"0 in <code>{tmp_path}</code></p>" in none
    assert '<p id="empty" hx-swap-oob="true">There is no run here yet' in none
    one = pages.draw("_head.html", head=Head(1, 1, "runs"))
    assert "1 in <code>runs</code>, 1 running</p>" in one
    assert '<p id="empty" hx-swap-oob="true" hidden>' in one


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pages:
    """Of one run; every look is a new one, and looks follow at once."""
    monkeypatch.setattr(listing, "FRESH", -1.0)
    monkeypatch.setattr(streams, "TICK", 0.001)
    finished(tmp_path / "runs" / "first", ("x",), rounds=1)
    return Pages(tmp_path / "runs")


def first_heard(pages: Pages, heard: str, page: int = 1) -> dict[str, str]:
    """The first thing that a page is told which was made from the list `heard`."""

    async def hear() -> dict[str, str]:
        return await anext(list_stream(pages.desk, pages.draw, page, heard, anyio.Event()))

    return anyio.run(hear)


def test_what_came_between_a_page_and_its_connection_is_told(pages: Pages) -> None:
    heard, _ = pages.desk.versioned()
    shutil.copytree(pages.desk.folder / "first", pages.desk.folder / "second")
    pages.desk.versioned()  # somebody else has looked meanwhile
    told = first_heard(pages, heard)
    assert told["event"] == "rows"
    assert "2 in <code>" in told["data"]
    assert "id" not in told, "its row is still to come"


def test_a_page_that_connects_again_is_told_from_where_it_was(pages: Pages) -> None:
    async def hear(heard: str, count: int) -> list[dict[str, str]]:
        stream = list_stream(pages.desk, pages.draw, 1, heard, anyio.Event())
        return [await anext(stream) for _ in range(count)]

    heard, _ = pages.desk.versioned()
    shutil.copytree(pages.desk.folder / "first", pages.desk.folder / "second")
    head, row = anyio.run(hear, heard, 2)
    assert ">second<" in row["data"]
    shutil.copytree(pages.desk.folder / "first", pages.desk.folder / "third")
    head, row = anyio.run(hear, row["id"], 2)
    assert "3 in <code>" in head["data"]
    assert ">third<" in row["data"]
    assert ">second<" not in row["data"]


def test_a_list_too_long_ago_is_asked_for_anew(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "KEPT", 1)
    heard, _ = pages.desk.versioned()
    shutil.copytree(pages.desk.folder / "first", pages.desk.folder / "second")
    now, _ = pages.desk.versioned()
    assert pages.desk.at(heard) is None
    assert first_heard(pages, heard) == {"event": "restart", "data": "another list", "id": now}


def test_the_same_list_keeps_its_name(pages: Pages) -> None:
    assert pages.desk.versioned() == pages.desk.versioned()


def test_a_comparison_hears_what_came_before_it_connected(pages: Pages) -> None:
    async def hear(heard: str) -> list[str]:
        return [told["event"] async for told in changes(pages.desk, [key], heard, anyio.Event())]

    heard, runs = pages.desk.versioned()
    [key] = runs
    assert anyio.run(hear, heard) == ["end"]
    result = pages.desk.folder / "first" / "result.json"
    result.write_text(result.read_text() + " ")
    assert anyio.run(hear, heard) == ["changed", "end"]
