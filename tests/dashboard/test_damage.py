"""Files that were cut, changed or mixed up: every page still answers, and no other run is hidden by it."""

import random
from pathlib import Path

import pytest

from dashboard.making import Written, finished
from fedclade.dashboard import listing
from fedclade.dashboard.app import Pages
from fedclade.dashboard.listing import key_of
from fedclade.dashboard.streams import Place, news

RUNS = ("done", "going")
CLIENTS = ("x", "y")
ODD = (
    *(b"null", b"{}", b"[]", b"1e999", b'"x"', b"NaN", b"-1", b"\0" * 50, b"\xff\xfe", b"[" * 5000),
    b'{"event": "evaluation", "round": 1e400, "accuracy_by_group": {"a": 1}, "group_count": -5, "time": []}\n',
    b'{"event": "round", "round": 99999999999999999999999, "bytes_up": -1e308, "bytes_down": 1e308}\n',
)


def harmed(content: bytes, chance: random.Random) -> bytes:
    """The content after an accident."""
    here, there = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    flipped = bytearray(content)
    for _ in range(3):
        flipped[chance.randrange(len(content))] = chance.randrange(256)
    odd = chance.choice(ODD)
    return chance.choice(
        [content[:here], content[:here] + content[there:], bytes(flipped), odd, content[:here] + odd + content[here:]]
    )


def look_at_everything(pages: Pages) -> None:
    assert pages._all_runs(1).status_code == 200
    keys = [key_of(name.encode()) for name in RUNS]
    for key in keys:
        for template in ("run.html", "_live.html", "_clients.html"):
            assert pages._run(key, template).status_code == 200
        for client in CLIENTS:
            assert pages._client(key, key_of(client.encode())).status_code in (200, 404, 500)
            assert pages._model(key, key_of(client.encode())).status_code in (200, 404, 500)
        run, story = pages.desk.told(key)
        assert news(pages.desk, pages.draw, run, story, Place())
    assert pages._compare(keys, "compare.html").status_code == 200


@pytest.mark.parametrize("seed", range(4))
def test_no_accident_breaks_a_page(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "FRESH", -1.0)
    finished(tmp_path / "done", CLIENTS)
    going = Written(tmp_path / "going", CLIENTS)
    going.round(1, 0.5)
    going.folder.close()
    pages = Pages(tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file() and "checkpoint" not in path.parts)
    chance = random.Random(seed)
    for _ in range(25):
        path = chance.choice(files)
        before = path.read_bytes()
        path.write_bytes(harmed(before, chance) if before else b"x")
        look_at_everything(pages)
        path.write_bytes(before)
    path.unlink()
    look_at_everything(pages)
