"""The list while it is open: what a page is told when runs come, change and go."""

from pathlib import Path

from dashboard.making import finished
from fedclade.dashboard.app import Pages
from fedclade.dashboard.streams import Head, on_page, row_news


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
