"""The pages of results are made from the stored results, and say of each what it came to."""

import json
import os
import re
from pathlib import Path

import pytest

from fedclade_papers.headlines import HEADLINES, Cell, Headline, Truth, cell_text, number_rows, truth_rows
from fedclade_papers.item import Terms
from fedclade_papers.item_pages import item_page
from fedclade_papers.registry import ITEMS, items_named
from fedclade_papers.results_page import front_page, import_results, load_results, name_of, pages
from fedclade_papers.run_plans import setting_data
from fedclade_papers.verdict_units import Unit, units_of
from fedclade_papers.verdicts import VERDICTS, Reading

DOCS = Path(__file__).parents[2] / "docs"
STORED = {Path(name_of(result)).stem: result for result in load_results(DOCS / "results")}
UNITS = units_of(list(STORED.values()))

FEDAVG = {"row": "FedAvg", "column": "MNIST accuracy", "printed": 82.73, "ours": 85.0, "deviation": 0.5}
ROUNDS = {"row": "ABC", "column": "rounds", "printed": "never", "ours": 5, "deviation": 0}
RESULT: dict[str, object] = {
    "item": "flt-table1:mnist",
    "paper": "FLT",
    "title": "Accuracy in scenario 1",
    "scale": "paper",
    "as_published": False,
    "rule": "",
    "differs": "EMNIST-47",
    "missing": "",
    "lines": [FEDAVG, ROUNDS],
    "claims": [
        {"claim": "Local is last", "holds": False, "seen": "70.1 %", "main": False, "by_paper": True},
        {"claim": "FLT is ahead", "holds": True, "seen": "98.8 %", "main": True, "by_paper": True},
        {"claim": "moments too", "holds": True, "seen": "99 %", "main": False, "by_paper": False},
    ],
    "series": {"FedAvg": {"x": [1.0], "y": [2.0]}, "picture": {"matrix": [[1]], "order": ["a"]}},
    "pictures": ["a.svg"],
    "notes": ["a smaller step was tried: the same"],
    "command": "fedclade reproduce flt-table1:mnist --scale paper",
    "seeds": [0],
    "run_cpu_seconds": 100.4,
    "seconds": 2.0,
    "cpu_seconds_here": 3.0,
}
PUBLISHED = {**RESULT, "as_published": True, "lines": [{**FEDAVG, "ours": 80.0, "deviation": 0.0}], "claims": []}


def unit_of(*results: dict[str, object]) -> Unit:
    return next(unit for unit in units_of(list(results)) if unit.name == "flt-table1:mnist")


# --- the stored pages ------------------------------------------------------------------------------------------------


def test_the_pages_are_up_to_date() -> None:
    """After new results: python -m fedclade_papers.results_page docs. Every link leads to a file."""
    made = pages(load_results(DOCS / "results"))
    stored = {"results.md", *(f"results/{path.name}" for path in (DOCS / "results").glob("*.md"))}
    assert made.keys() == stored == {"results.md", *(f"results/{name}.md" for name in ITEMS)}
    for name, text in made.items():
        path = DOCS / name
        assert path.read_text(encoding="utf-8") == text, name
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert (path.parent / link).is_file(), (name, link)


def test_the_first_page_is_short() -> None:
    assert len((DOCS / "results.md").read_text(encoding="utf-8").splitlines()) < 250


def test_every_item_has_one_of_five_verdicts_and_what_is_open_its_hours() -> None:
    text = (DOCS / "results.md").read_text(encoding="utf-8")
    for unit in UNITS:
        assert unit.verdict in VERDICTS
        (line,) = (line for line in text.splitlines() if line.startswith(f"| [{unit.name}]("))
        said = line.split("|")[3].strip()
        if unit.verdict == "open":
            assert re.fullmatch(r"open, \d+ (seconds|minutes?|hours?) on two cores", said), line
        else:
            assert said == unit.verdict
    counted = dict(re.findall(r"^\| ([a-z' ]+?) \| it .*? \| (\d+) \| \d+ \|$", text, re.MULTILINE))
    counted |= dict(re.findall(r"^\| (not testable here) \| .*? \| (\d+) \| \d+ \|$", text, re.MULTILINE))
    assert {name: int(count) for name, count in counted.items()} == {
        verdict: sum(unit.verdict == verdict for unit in UNITS) for verdict in VERDICTS
    }


def test_every_claim_is_stated_once() -> None:
    texts = [(unit.whole_name, claim.text) for unit in UNITS for claim in unit.claims]
    assert len(texts) == len(set(texts))


def test_stored_results_say_how_they_were_made() -> None:
    """The command, the processor, and the commits of fedclade with which they were run and read."""
    assert {path.stem for path in (DOCS / "results").glob("*.json")} == set(STORED)
    for name, result in STORED.items():
        item, environment = str(result["item"]), result["environment"]
        assert item.partition(":")[0] in ITEMS
        assert str(result["command"]).startswith(f"fedclade reproduce {item} --scale paper")
        assert isinstance(environment, dict)
        assert environment["python"]
        assert environment["processors"], name
        assert environment["fedclade_commits"], name
        for commit in (*environment["fedclade_commits"], environment["read_at"]):
            assert re.fullmatch("[0-9a-f]{40}(, changed)?", commit), name
        assert result["scale"] == "paper", "small scale gives no verdict"
    named = {str(name) for result in STORED.values() for name in result["pictures"]}  # type: ignore[attr-defined]  # a list
    assert named == {path.name for path in (DOCS / "results").iterdir() if path.suffix not in (".json", ".md")}
    assert all((DOCS / "results" / name).stat().st_size < 100_000 for name in named)


@pytest.mark.skipif(
    not os.environ.get("FEDCLADE_DATA") and not os.environ.get("CI"),
    reason="FEDCLADE_DATA names no folder: which data stand in for which depends on what is there",
)
def test_stored_results_are_of_the_recipes_as_they_are(tmp_path: Path) -> None:
    for name, result in STORED.items():
        (item,) = items_named([str(result["item"])])
        terms = Terms(tmp_path, "paper", bool(result["as_published"]))
        recipe = json.loads(json.dumps({each.name: setting_data(each) for each in item.settings(terms)}))
        assert result["recipe"] == recipe, name
        assert (result["differs"], result["rule"], result["missing"]) == (item.differences, item.rule, item.missing)


# --- pages by hand ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "# flt-table1: ",
        "\n**reproduced**\n",
        "| claim | verdict | by the text | by the authors' code |",
        "| **FLT is ahead** | reproduced | 98.8 % | - |\n| Local is last | open | 70.1 % | - |\n",
        "| fedclade's own: moments too | reproduced | 99 % | - |",
        "| method or case | measured | printed | by the text | by the authors' code |",
        "| FedAvg | MNIST accuracy | 82.73 | 85 ± 0.50 | 80 |",
        "| ABC | rounds | never | 5 | - |",
        "![Accuracy in scenario 1, by the text](a.svg)",
        "\nNote: a smaller step was tried: the same\n",
        "By the text: `fedclade reproduce flt-table1:mnist --scale paper`, seeds 0, 100 s of processor time.\n",
    ],
)
def test_a_page_of_an_item_by_hand(text: str) -> None:
    assert text in item_page([unit_of(RESULT, PUBLISHED)])


def test_a_page_of_an_item_that_is_open() -> None:
    text = item_page([unit_of(RESULT), *(each for each in units_of([RESULT]) if each.name == "flt-table1:cifar10")])
    assert re.search(r"## cifar10\n\n\*\*open, \d+ hours on two cores\*\*\n", text)
    assert "`fedclade reproduce flt-table1:cifar10 --scale paper`, about " in text


def test_a_page_says_what_is_missing() -> None:
    text = item_page([each for each in UNITS if each.whole_name == "flt-table3"])
    assert "**not testable here**" in text
    assert "## What is missing\n\nLEAF's FEMNIST" in text


def test_the_first_screen_looks_everything_up() -> None:
    """Verdicts and numbers are those of the stored results; a claim or number that is not there is an error."""
    number: tuple[str, Reading, str, str] = ("flt-table1:mnist", "text", "FedAvg", "MNIST accuracy")
    headline = Headline(
        "FLT",
        (Truth("it is ahead", "flt-table1:mnist", "FLT is"), Truth("it is all well", "flt-table1:mnist")),
        ("printed", "ours"),
        (("FedAvg", (Cell(*number, printed=True), Cell(*number))),),
        "What a reader must know.",
        "a.svg",
        "",
    )
    units = {unit.name: unit for unit in units_of([RESULT])}
    link = "(results/flt-table1.md)"
    assert truth_rows(headline, units) == [
        ("FLT", "it is ahead", f"[reproduced]{link}", "98.8 %"),
        ("FLT", "it is all well", f"[reproduced]{link}", "1 of 1 main claims"),
    ]
    assert number_rows(headline, units) == [("FedAvg", "82.73", "85")]
    with pytest.raises(KeyError, match="no number FedAvg, rounds"):
        cell_text(Cell("flt-table1:mnist", "text", "FedAvg", "rounds"), units)


def test_every_paper_has_a_headline() -> None:
    assert [headline.paper for headline in HEADLINES] == list(dict.fromkeys(item.paper for item in ITEMS.values()))


def test_words_are_explained_where_they_are_used() -> None:
    text = front_page(UNITS)
    assert {"FedAvg", "FedSEM"} <= set(
        re.findall(r"^- \*\*(.+?)\*\*: ", text.partition("\n## Words\n")[2], re.MULTILINE)
    )


def test_matrices_are_stored_as_pictures(tmp_path: Path) -> None:
    """Curves as SVG, matrices as PNG; the same bytes are made again."""
    (tmp_path / "made" / "results").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "made" / "results" / "flt-table1-mnist.json").write_text(json.dumps(RESULT))
    import_results(tmp_path / "made", tmp_path / "docs")
    files = {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()}
    stem = "flt-table1-mnist-paper"
    assert files.keys() == {f"{stem}.json", f"{stem}.svg", f"{stem}.png"}
    (result,) = load_results(tmp_path / "docs")
    assert result["series"] == {"FedAvg": {"x": [1.0], "y": [2.0]}}
    assert result["pictures"] == [f"{stem}.svg", f"{stem}.png"]
    import_results(tmp_path / "made", tmp_path / "docs")
    assert {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()} == files
