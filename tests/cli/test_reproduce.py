"""`fedclade reproduce`: what it lists, what it refuses, what it writes, and that it does nothing twice."""

import json
from pathlib import Path

import pytest

from cli.calling import call, parsed
from fedclade.data import SOURCES
from fedclade.papers.registry import ITEMS


def test_it_lists_every_item(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed("reproduce --list --json", capsys)["items"]
    assert isinstance(found, list)
    assert [item["item"] for item in found] == list(ITEMS)
    first = found[0]
    assert (first["paper"], first["parts"]) == ("FLT", ["mnist", "cifar10"])
    assert 0 < first["minutes_small"] < first["minutes_paper"]
    code, out, _ = call("reproduce --list --quiet", capsys)
    assert (code, out.split()) == (0, list(ITEMS))
    code, out, _ = call("reproduce --list flt-table4 cfl-theory", capsys)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["item", "flt-table4", "cfl-theory", "Times"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("reproduce flt-tabel4", 'the item is not known, reproduce: got "flt-tabel4", need one of flt-table1, '),
        (
            "reproduce flt-table4:cnn",
            'the part of an item is not known, flt-table4: got "cnn", need one of mlp, leaf_cnn',
        ),
        (
            "reproduce flt-table1:mnsit",
            'the part of an item is not known, flt-table1: got "mnsit", need one of mnist, cifar10; do: did you mean',
        ),
        ("reproduce --scale large", "Invalid value for '--scale'"),
        ("reproduce cfl-figure3 --as-published", "the item has one reading only, --as-published: got cfl-figure3, "),
        ("reproduce cfl-theory --out /proc/xx", "the folder cannot be written, /proc/xx/small: got "),
        (
            "reproduce cfl-theory --out /dev/null",
            "the folder cannot be written, /dev/null/small: got Not a directory, ",
        ),
    ],
)
def test_what_is_wrong_is_said(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(command, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert message in err


@pytest.mark.slow
def test_an_item_that_is_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All properties hold in every instance; the second call takes what is stored."""
    made = parsed(f"reproduce cfl-theory --scale small --out {tmp_path} --json", capsys)
    items = made["items"]
    assert isinstance(items, list)
    assert items[0]["verdict"] == "reproduced"
    assert all(claim["seen"].startswith("1000 of 1000") for claim in items[0]["claims"])
    stored = tmp_path / "small" / "results" / "cfl-theory.json"
    written = stored.stat().st_mtime_ns
    code, out, err = call(f"reproduce cfl-theory --out {tmp_path}", capsys)
    assert code == 0
    assert err == "cfl-theory: reproduced, as it was\n"
    assert "cfl-theory" in out
    assert stored.stat().st_mtime_ns == written
    assert json.loads(stored.read_bytes()) == items[0]


def test_help_tells_what_names_are(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call("reproduce --help", capsys)
    assert code == 0
    assert "Items, as --list names them" in out


def test_an_item_that_is_named_twice_is_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = parsed(f"reproduce cfl-theory cfl-theory --scale tiny --out {tmp_path} --json", capsys)["items"]
    assert isinstance(made, list)
    assert [item["item"] for item in made] == ["cfl-theory"]


def test_what_has_one_reading_is_left_out_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call("reproduce --list --as-published", capsys)
    assert code == 0
    assert "flt-figure2 " in out
    assert "cfl-theory" not in out
    assert err.startswith("left out, for they have one reading only: cfl-figure3, ")


def test_items_without_data_keep_no_table_from_being_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("FEDCLADE_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setitem(SOURCES, "mnist", SOURCES["emnist47"])  # which nobody can fetch
    code, out, err = call(f"reproduce cfl-newcomers cfl-theory --scale tiny --out {tmp_path}", capsys)
    assert code == 2
    assert out.splitlines()[1].startswith("cfl-theory  no verdict at this scale  Theorem 1")
    lines = err.splitlines()
    assert lines[0].startswith("cfl-newcomers: not made, the files are not here, source emnist47")
    assert lines[-1] == (
        "error: 1 of 2 items were not made: got cfl-newcomers, need what the line of each says; "
        "do: fedclade data list, which says what to fetch, or mend the run; then the same command again"
    )
    code, out, _ = call(f"reproduce cfl-newcomers cfl-theory --scale tiny --out {tmp_path} --json", capsys)
    assert code == 2
    told = json.loads(out)
    assert [each["item"] for each in told["items"]] == ["cfl-theory"]
    assert list(told["not_made"]) == ["cfl-newcomers"]
