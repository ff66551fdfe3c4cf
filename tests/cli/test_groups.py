"""`fedclade groups`: the answer on the screen, for machines, and in files; and one line for what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cli.calling import call, parsed


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_table(path: Path, apart: float) -> None:
    """Nine sites of 60 rows; every third one is hotter by so many deviations, and has fewer faults the further."""
    chance = np.random.default_rng(0)
    lines = ["site,heat,speed,fault"]
    for site in range(9):
        hot = site % 3 == 0
        heat = chance.normal(size=60) + apart * hot
        for one, other, fault in zip(heat, chance.normal(size=60), chance.integers(0, 2, 60), strict=True):
            lines.append(f"s{site},{one:.5f},{other:.5f},{'yes' if fault else 'no'}")
    path.write_text("\n".join(lines) + "\n")


def test_groups_are_printed_and_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(here / "data.csv", 3.0)
    code, out, _ = call("groups data.csv --client site --label fault", capsys)
    assert code == 0
    first, sure, head, *rows, last = out.splitlines()
    assert first == "2 groups in 9 clients"
    assert sure.startswith("How sure: silhouette 0.")
    assert head.split() == ["group", "clients", "unlike", "the", "others", "who"]
    assert [row.split()[:3] for row in rows] == [["group", "0", "3"], ["group", "1", "6"]]
    assert "heat +" in rows[0]
    assert "s0, s3, s6" in rows[0]
    assert last == "Written: groups.json, groups.html"
    told = json.loads((here / "groups.json").read_text())
    assert (told["clear"], told["count"], told["clients"], told["examples"]) == (True, 2, 9, 540)
    assert told["groups"][0]["clients"] == ["s0", "s3", "s6"]
    assert set(told["sure"]) == {"silhouette", "needed", "height_ratio", "stability"}
    # A third of the sites is 3 deviations hotter: means are 2 above and 1 below the mean of all, over a deviation of
    # sqrt(1 + 2) since the groups' own spread adds (2/3) 1 + (1/3) 4 = 2 to the variance.
    assert told["groups"][0]["feature_means"]["heat"] == pytest.approx(2 / 3**0.5, abs=0.1)
    assert told["groups"][1]["feature_means"]["heat"] == pytest.approx(-1 / 3**0.5, abs=0.1)
    assert sum(told["groups"][0]["label_shares"].values()) == pytest.approx(1)
    assert (here / "groups.html").stat().st_size > 1e6


def test_no_groups_is_an_answer_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(here / "data.csv", 0.0)
    told = parsed("groups data.csv --client site --label fault --json --out there", capsys)
    assert (told["clear"], told["count"]) == (False, 1)
    assert told["answer"] == "no clear groups: use one model for all 9 clients"
    assert told["written"] == ["there/groups.json", "there/groups.html"]
    code, out, _ = call("groups data.csv --client site --without fault -q", capsys)
    assert (code, out) == (0, "no clear groups: use one model for all 9 clients\n")


def test_a_client_unlike_all_others_is_named_everywhere(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance = np.random.default_rng(0)
    lines = ["site,a,b"]
    for site in [f"s{number:02d}" for number in range(12)] + ["odd"]:
        lines += [f"{site},{one:.5f},{other:.5f}" for one, other in chance.normal(size=(100, 2)) + 4 * (site == "odd")]
    (here / "data.csv").write_text("\n".join(lines) + "\n")
    code, out, _ = call("groups data.csv --client site", capsys)
    assert code == 0
    first, _, _, *rows, _ = out.splitlines()
    assert first == "one model for 12 clients; 1 unlike all others: odd"
    assert [row.split()[:3] for row in rows] == [["everybody", "else", "12"], ["odd", "alone", "1"]]
    told = json.loads((here / "groups.json").read_text())
    assert (told["clear"], told["count"], told["outliers"]) == (False, 1, ["odd"])
    assert [len(group["clients"]) for group in told["groups"]] == [12, 1]
    page = (here / "groups.html").read_text()
    assert first in page
    assert "told from chance" not in page


def test_names_are_never_obeyed_by_a_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(here / "data.csv", 3.0)
    text = (here / "data.csv").read_text().replace("heat", "he\x1b[31mat", 1).replace("\n", ",7\n")
    (here / "data.csv").write_text(text.replace("fault,7", "fault,\x1b[2Jsame", 1))
    code, out, _ = call("groups data.csv --client site --label fault", capsys)
    assert code == 0
    assert "\x1b" not in out
    assert "he?[31mat +" in out
    assert "Left out, the same in every row: ?[2Jsame\n" in out


@pytest.mark.slow
def test_a_thousand_clients_that_are_all_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"s{number:04d},{one},{other}" for number in range(1000) for one, other in ((0, 1), (1, 3), (2, 2))]
    (here / "data.csv").write_text("site,a,b\n" + "\n".join(rows) + "\n")
    code, out, _ = call("groups data.csv --client site -q", capsys)
    assert (code, out) == (0, "no clear groups: use one model for all 1000 clients\n")
    assert (here / "groups.html").exists()


@pytest.mark.parametrize(
    ("change", "words", "said"),
    [
        (lambda text: text + "s9,1\n", "", "error: a line is broken, data.csv, line 542: got 2 values"),
        (
            lambda text: text.replace("site", "place", 1),
            "",
            'error: there is no column "site", data.csv: got 4 columns',
        ),
        (
            lambda text: text + "s9,warm,1,no\n",
            "",
            "error: a feature is not a number, data.csv, column 'heat': got 'warm'",
        ),
        (lambda text: text, "--encoder public", "error: a table needs no encoder, --encoder: got public"),
        (lambda text: text, "--out data.csv", "error: the groups cannot be written, data.csv"),
        (lambda text: text, "--without fault", "error: the label's column is left out, --without: got 'fault'"),
        (lambda text: text, "--without colour", 'error: there is no column "colour"'),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    here: Path, capsys: pytest.CaptureFixture[str], change: Callable[[str], str], words: str, said: str
) -> None:
    write_table(here / "data.csv", 3.0)
    (here / "data.csv").write_text(change((here / "data.csv").read_text()))
    code, out, err = call(f"groups data.csv --client site --label fault {words}", capsys)
    assert (code, out) == (2, "")
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert not (here / "groups.html").exists()
