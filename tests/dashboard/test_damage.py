"""Files that were cut, changed or mixed up: every page still answers, and no other run is hidden by it."""

import random
from pathlib import Path

import pytest
from starlette.requests import Request

from dashboard.making import Written, finished, key
from fedclade.dashboard import listing
from fedclade.dashboard.app import Pages
from fedclade.dashboard.streams import TailPosition, news

RUNS = ("done", "going")
CLIENTS = ("x", "y")
ODD = (
    *(b"null", b"{}", b"[]", b"1e999", b'"x"', b"NaN", b"-1", b"\0" * 50, b"\xff\xfe", b"[" * 5000),
    b'{"event": "evaluation", "round": 1e400, "accuracy_by_group": {"a": 1}, "group_count": -5, "time": []}\n',
    b'{"event": "round", "round": 99999999999999999999999, "bytes_up": -1e308, "bytes_down": 1e308}\n',
)


def harmed(content: bytes, rng: random.Random) -> bytes:
    """The content after an accident."""
    here, there = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    flipped = bytearray(content)
    for _ in range(3):
        flipped[rng.randrange(len(content))] = rng.randrange(256)
    before, odd = content[:here], rng.choice(ODD)
    return rng.choice([before, before + content[there:], bytes(flipped), odd, before + odd + content[here:]])


def request(query: str = "", **path: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "path_params": path})


def look_at_everything(pages: Pages) -> None:
    assert pages.all_runs(request()).status_code == 200
    keys = [key(name) for name in RUNS]
    for run_key in keys:
        for template in ("run.html", "_live.html", "_clients.html"):
            assert pages.run(request(key=run_key), template).status_code == 200
        for client in CLIENTS:
            asked = request(key=run_key, client=key(client))
            assert pages.client(asked).status_code in (200, 404, 500)
            assert pages.model(asked).status_code in (200, 404, 500)
        run, tail = pages.run_cache.run_with_tail(run_key)
        assert news(pages.run_cache, pages.render, run, tail, TailPosition(), TailPosition.end_of(run, tail))
    assert pages.compare(request("&".join(f"run={each}" for each in keys)), "compare.html").status_code == 200


@pytest.mark.parametrize("seed", range(4))
def test_no_accident_breaks_a_page(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "SCAN_SECONDS", -1.0)
    finished(tmp_path / "done", CLIENTS)
    going = Written(tmp_path / "going", CLIENTS)
    going.round(1, 0.5)
    going.folder.close()
    pages = Pages(tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file() and "checkpoint" not in path.parts)
    rng = random.Random(seed)
    for _ in range(25):
        path = rng.choice(files)
        before = path.read_bytes()
        path.write_bytes(harmed(before, rng) if before else b"x")
        look_at_everything(pages)
        path.write_bytes(before)
    path.unlink()
    look_at_everything(pages)
