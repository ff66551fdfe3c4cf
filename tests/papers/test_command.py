"""`fedclade reproduce`: what it lists, what it refuses, what it writes, and that it does nothing twice."""

import json
import re
from pathlib import Path

import pytest

from cli.calling import call, parsed
from fedclade.data import SOURCES
from fedclade_papers.registry import ITEMS


def test_it_lists_every_item(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed("reproduce --list --json", capsys)["items"]
    assert isinstance(found, list)
    assert [item["item"] for item in found] == list(ITEMS)
    assert (found[0]["paper"], found[0]["parts"]) == ("FLT", ["mnist", "cifar10"])
    assert 0 < found[0]["minutes_small"] < found[0]["minutes_paper"]
    code, out, _ = call("reproduce --list --quiet", capsys)
    assert (code, out.split()) == (0, list(ITEMS))
    code, out, _ = call("reproduce --list flt-table4 cfl-theory", capsys)
    assert (code, [line.split()[0] for line in out.splitlines()]) == (0, ["item", "flt-table4", "cfl-theory", "Times"])


NOT_KNOWN = "the part of an item is not known"
REFUSED = {
    "flt-tabel4": 'the item is not known, reproduce: got "flt-tabel4", need one of flt-table1, ',
    "flt-table4:cnn": f'{NOT_KNOWN}, flt-table4: got "cnn", need one of mlp, leaf_cnn',
    "flt-table1:mnsit": f'{NOT_KNOWN}, flt-table1: got "mnsit", need one of mnist, cifar10; do: did you mean',
    "--scale large": "Invalid value for '--scale'",
    "cfl-figure3 --as-published": "the item has one reading only, --as-published: got cfl-figure3, ",
    "cfl-theory --out /proc/xx": "the folder cannot be written, /proc/xx/small: got ",
    "cfl-theory --out /dev/null": "the folder cannot be written, /dev/null/small: got Not a directory, ",
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.items(), ids=REFUSED)
def test_what_is_wrong_is_said(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(f"reproduce {arguments}", capsys)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.slow
def test_an_item_that_is_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All properties hold in every instance; the second call takes what is stored."""
    items = parsed(f"reproduce cfl-theory --scale small --out {tmp_path} --json", capsys)["items"]
    assert isinstance(items, list)
    assert all(claim["holds"] for claim in items[0]["claims"])
    assert all(claim["seen"].startswith("1000 of 1000") for claim in items[0]["claims"])
    stored = tmp_path / "small" / "results" / "cfl-theory.json"
    written = stored.stat().st_mtime_ns
    code, out, err = call(f"reproduce cfl-theory --out {tmp_path}", capsys)
    assert code == 0
    assert re.fullmatch(r"cfl-theory: (\d+) of \1 main claims hold; no verdict at this scale, as it was\n", err)
    assert "cfl-theory" in out
    assert stored.stat().st_mtime_ns == written
    assert json.loads(stored.read_bytes()) == items[0]


def test_an_item_that_is_named_twice_is_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = parsed(f"reproduce cfl-theory cfl-theory --scale tiny --out {tmp_path} --json", capsys)["items"]
    assert isinstance(made, list)
    assert [item["item"] for item in made] == ["cfl-theory"]
    assert all(claim["seen"].startswith("50 of 50") for claim in made[0]["claims"])


def test_an_item_with_one_reading_is_left_out_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call("reproduce --list --as-published", capsys)
    assert code == 0
    assert "flt-figure2 " in out
    assert "cfl-theory" not in out
    assert err.startswith("left out, for they have one reading only: cfl-figure3, ")


def test_items_without_data_keep_no_table_from_being_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FEDCLADE_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setitem(SOURCES, "mnist", SOURCES["emnist47"])  # which cannot be fetched
    command = f"reproduce cfl-newcomers cfl-theory --scale tiny --out {tmp_path}"
    code, out, err = call(command, capsys)
    assert code == 2
    assert re.match(
        r"cfl-theory  \d+ of \d+ main claims hold; no verdict at this scale  Theorem 1", out.splitlines()[1]
    )
    lines = err.splitlines()
    assert lines[0].startswith("cfl-newcomers: not made, the files are not here, source emnist47")
    assert lines[-1] == (
        "error: 1 of 2 items were not made: got cfl-newcomers, need what the line of each says; "
        "do: fedclade data list, which says what to fetch, or mend the run; then the same command again"
    )
    code, out, _ = call(f"{command} --json", capsys)
    answer = json.loads(out)
    assert (code, [each["item"] for each in answer["items"]]) == (2, ["cfl-theory"])
    assert list(answer["not_made"]) == ["cfl-newcomers"]
