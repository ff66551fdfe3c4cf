"""`fedclade groups`: the answer on the screen, for machines, and in files; and one line for what is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.calling import error_of, output_of, parsed


def write_table(path: Path, apart: float) -> None:
    """Nine sites of 60 rows; every third one is hotter by so many deviations, and has fewer faults the further."""
    rng = np.random.default_rng(0)
    lines = ["site,heat,speed,fault"]
    for site in range(9):
        hot = site % 3 == 0
        heat = rng.normal(size=60) + apart * hot
        for one, other, fault in zip(heat, rng.normal(size=60), rng.integers(0, 2, 60), strict=True):
            lines.append(f"s{site},{one:.5f},{other:.5f},{'yes' if fault else 'no'}")
    path.write_text("\n".join(lines) + "\n")


def test_groups_are_printed_and_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(here / "data.csv", 3.0)
    out = output_of("groups data.csv --client site --label fault", capsys)
    first, sure, head, *rows, last = out.splitlines()
    assert first == "2 groups in 9 clients"
    assert sure.startswith("How sure: silhouette 0.")
    assert head.split() == ["group", "clients", "unlike", "the", "others", "members"]
    assert [row.split()[:3] for row in rows] == [["group", "0", "3"], ["group", "1", "6"]]
    assert "heat +" in rows[0]
    assert "s0, s3, s6" in rows[0]
    assert last == "Written: groups.json, groups.html"
    answer = json.loads((here / "groups.json").read_text())
    assert (answer["clear"], answer["count"], answer["clients"], answer["examples"]) == (True, 2, 9, 540)
    assert answer["groups"][0]["clients"] == ["s0", "s3", "s6"]
    assert set(answer["sure"]) == {"silhouette", "needed", "height_ratio", "stability"}
    # A third of the sites is 3 deviations hotter: means are 2 above and 1 below the mean of all, over a deviation of
    # sqrt(1 + 2) since the groups' own spread adds (2/3) 1 + (1/3) 4 = 2 to the variance.
    assert answer["groups"][0]["feature_means"]["heat"] == pytest.approx(2 / 3**0.5, abs=0.1)
    assert answer["groups"][1]["feature_means"]["heat"] == pytest.approx(-1 / 3**0.5, abs=0.1)
    assert sum(answer["groups"][0]["label_shares"].values()) == pytest.approx(1)
    assert (here / "groups.html").stat().st_size > 1e6


def test_no_groups_is_an_answer_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(here / "data.csv", 0.0)
    answer = parsed("groups data.csv --client site --label fault --json --out there", capsys)
    assert (answer["clear"], answer["count"]) == (False, 1)
    assert answer["answer"] == "no clear groups: use one model for all 9 clients"
    assert answer["written"] == ["there/groups.json", "there/groups.html"]
    out = output_of("groups data.csv --client site --without fault -q", capsys)
    assert out == "no clear groups: use one model for all 9 clients\n"


def test_a_client_unlike_all_others_is_named_everywhere(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    lines = ["site,a,b"]
    for site in [f"s{number:02d}" for number in range(12)] + ["odd"]:
        lines += [f"{site},{one:.5f},{other:.5f}" for one, other in rng.normal(size=(100, 2)) + 4 * (site == "odd")]
    (here / "data.csv").write_text("\n".join(lines) + "\n")
    out = output_of("groups data.csv --client site", capsys)
    first, _, _, *rows, _ = out.splitlines()
    assert first == "one model for 12 clients; 1 unlike all others: odd"
    assert [row.split()[:3] for row in rows] == [["everybody", "else", "12"], ["odd", "alone", "1"]]
    answer = json.loads((here / "groups.json").read_text())
    assert (answer["clear"], answer["count"], answer["outliers"]) == (False, 1, ["odd"])
    assert [len(group["clients"]) for group in answer["groups"]] == [12, 1]
    page = (here / "groups.html").read_text()
    assert first in page
    assert "told from chance" not in page


def test_names_are_never_obeyed_by_a_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(here / "data.csv", 3.0)
    text = (here / "data.csv").read_text().replace("heat", "he\x1b[31mat", 1).replace("\n", ",7\n")
    (here / "data.csv").write_text(text.replace("fault,7", "fault,\x1b[2Jsame", 1))
    out = output_of("groups data.csv --client site --label fault", capsys)
    assert "\x1b" not in out
    assert "he?[31mat +" in out
    assert "Note: columns left out: '\\x1b[2Jsame' (the same in every row)\n" in out


@pytest.mark.slow
def test_a_thousand_clients_that_are_all_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"s{number:04d},{one},{other}" for number in range(1000) for one, other in ((0, 1), (1, 3), (2, 2))]
    (here / "data.csv").write_text("site,a,b\n" + "\n".join(rows) + "\n")
    out = output_of("groups data.csv --client site -q", capsys)
    assert out == "no clear groups: use one model for all 1000 clients\n"
    assert (here / "groups.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--encoder public", "a table needs no encoder, --encoder: got public"),
        ("--out data.csv", "the groups cannot be written, data.csv"),
        ("--without fault", "column 'fault' is the column of clients, labels or parts (--without), data.csv"),
        ("--without colour", "column 'colour' is not there (--without), data.csv; do: name a column that is there"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(
    here: Path, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    write_table(here / "data.csv", 3.0)
    assert error_of(f"groups data.csv --client site --label fault {words}", capsys).startswith(f"error: {said}")
    assert not (here / "groups.html").exists()
