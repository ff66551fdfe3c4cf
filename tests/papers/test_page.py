"""The page of results is that of the stored results, and says of each what it came to."""

import json
import os
import re
from pathlib import Path

import pytest

from fedclade.papers.item import Terms
from fedclade.papers.page import anchor, name_of, page, stored, take_in
from fedclade.papers.plans import told
from fedclade.papers.registry import ITEMS, chosen
from fedclade.papers.tried import TRIED
from fedclade.papers.verdicts import ACCURACY_RULE, CLAIMS_RULE
from fedclade.papers.writing import tried_for

DOCS = Path(__file__).parents[2] / "docs"

LINES = [
    {
        "row": "FedAvg",
        "column": "accuracy",
        "printed": 82.73,
        "ours": 85.0,
        "deviation": 0.5,
        "difference": 2.27,
        "verdict": "same direction",
    },
    {
        "row": "ABC",
        "column": "rounds",
        "printed": "never",
        "ours": 5,
        "deviation": 0,
        "difference": None,
        "verdict": "",
    },
]
RESULT = {
    "item": "flt-table1:mnist",
    "paper": "FLT",
    "title": "Test accuracy in scenario 1",
    "scale": "paper",
    "as_published": False,
    "verdict": "same direction",
    "rule": "within 2 points",
    "differs": "EMNIST-47",
    "lines": LINES,
    "claims": [
        {"claim": "FLT is ahead", "holds": True, "seen": "98.8 %", "main": True},
        {"claim": "Local is last", "holds": False, "seen": "70.1 %", "main": False},
    ],
    "series": {"FedAvg": {"x": [1.0], "y": [2.0]}, "picture": {"matrix": [[1]], "order": ["a"]}},
    "notes": ["a smaller step was tried: the same"],
    "command": "fedclade reproduce flt-table1:mnist --scale paper",
    "seeds": [0],
    "run_cpu_seconds": 100.4,
    "seconds": 2.0,
    "cpu_seconds_here": 3.0,
}


def test_the_page_is_up_to_date() -> None:
    """After new results: python -m fedclade.papers.page docs."""
    assert (DOCS / "results.md").read_text(encoding="utf-8") == page(stored(DOCS / "results"))


def test_stored_results_say_how_they_were_made() -> None:
    results = [(path, json.loads(path.read_bytes())) for path in sorted((DOCS / "results").glob("*.json"))]
    for path, result in results:
        assert path.name == name_of(result)
        assert result["item"].partition(":")[0] in ITEMS
        assert result["command"].startswith(f"fedclade reproduce {result['item']} --scale {result['scale']}")
        assert result["environment"]["python"]
        assert result["scale"] != "tiny"


def test_a_page_by_hand() -> None:
    text = page([RESULT])
    assert "| FedAvg | accuracy | 82.73 | 85 ± 0.50 | +2.27 | same direction |" in text
    assert "| ABC | rounds | never | 5 | - | - |" in text
    assert "- main claim, holds: FLT is ahead (98.8 %)" in text
    assert "- beside it, **does not hold**: Local is last (70.1 %)" in text
    assert "| method or case | measured | printed | ours | difference | verdict |" in text
    assert "\nNote: a smaller step was tried: the same\n" in text
    assert f"(#{anchor(RESULT)})" in text
    assert anchor(RESULT) == "flt-table1mnist-paper"
    assert "\n### flt-table1\n\nTest accuracy in scenario 1.\n" in text
    assert "\n#### flt-table1:mnist, paper\n\n**same direction**\n" in text
    assert "\nWhat differs from the paper: EMNIST-47\n\nRule: within 2 points\n" in text


def test_an_item_is_told_once_with_all_of_its_results() -> None:
    """One row of the overview, and what is said of all of them once; what was tried with the results it is of."""
    small = {**RESULT, "item": "flt-table1", "scale": "small", "verdict": "not reproduced"}
    text = page([small, RESULT])
    rows = [line for line in text.splitlines() if line.startswith("| [flt-table1](#flt-table1)")]
    assert rows == [
        "| [flt-table1](#flt-table1) | Test accuracy in scenario 1 | [not reproduced](#flt-table1-small) "
        "| [same direction](#flt-table1mnist-paper) (mnist) |"
    ]
    assert text.count("EMNIST-47") == text.count("within 2 points") == text.count("\n### ") == 1
    assert f"What was tried (flt-table1, small): {TRIED['flt-table1']}\n" in text
    assert f"What was tried (flt-table1:mnist, paper): {TRIED['flt-table1:mnist']}\n" in text


def test_a_rule_of_many_items_is_written_once() -> None:
    results = [{**RESULT, "rule": ACCURACY_RULE}, {**RESULT, "item": "flt-table2", "rule": CLAIMS_RULE + " And more."}]
    text = page(results)
    assert text.count(ACCURACY_RULE) == text.count(CLAIMS_RULE) == 1
    assert "\nRule: that of [accuracies](#rules).\n" in text
    assert "\nRule: that of [claims](#rules). And more.\n" in text


def test_links_lead_to_headings() -> None:
    """A heading's link is its text in small letters, its punctuation left out but for - and _, with - for spaces."""
    text = page(stored(DOCS / "results"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    there = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    links = re.findall(r"\]\(#([^)]*)\)", text)
    assert len(links) > 2 * len(ITEMS)
    assert set(links) <= set(there)
    assert len(there) == len(set(there))
    net = {**RESULT, "item": "flt-figure4:leaf_cnn", "as_published": True}
    assert anchor(net) == "flt-figure4leaf_cnn-paper-as-published"


def test_what_was_tried_is_told_where_it_does_not_come_out() -> None:
    """Of a part what was tried with that; as published what was tried with that; of the item otherwise."""
    for verdict in ("same direction", "not reproduced"):
        assert f"What was tried: {TRIED['flt-table1:mnist']}\n" in page([{**RESULT, "verdict": verdict}])
    assert "What was tried" not in page([{**RESULT, "verdict": "reproduced"}])
    structured = {**RESULT, "item": "flt-table4:mlp"}
    assert tried_for(structured) == TRIED["flt-table4"]
    assert tried_for({**structured, "as_published": True}) == TRIED["flt-table4, as published"]
    assert tried_for({**RESULT, "as_published": True}) == ""
    named = {name.removesuffix(", as published").partition(":")[0] for name in TRIED}
    assert not named - ITEMS.keys()


def test_a_verdict_that_does_not_count_stands_in_brackets() -> None:
    lines = [{**line, "counts": False} for line in LINES]
    text = page([{**RESULT, "lines": lines}])
    assert "| +2.27 | (same direction) |" in text
    assert "| ABC | rounds | never | 5 | - | - |" in text


def test_how_long_it_took_is_told_of_a_call_that_made_it_all() -> None:
    """Of 100 s of runs 3 s were spent here: they were made for another item."""
    assert "seeds 0, 100 s of processor time.\n" in page([RESULT])
    whole = {**RESULT, "seconds": 61.0, "cpu_seconds_here": 110.0}
    assert "seeds 0, 110 s of processor time, 61 s in all.\n" in page([whole])


@pytest.mark.skipif(
    not os.environ.get("FEDCLADE_DATA") and not os.environ.get("CI"),
    reason="FEDCLADE_DATA names no folder: which data stand in for which depends on what is there",
)
def test_stored_results_are_of_the_recipes_as_they_are(tmp_path: Path) -> None:
    for result in stored(DOCS / "results"):
        (item,) = chosen([str(result["item"])])
        terms = Terms(tmp_path, "paper" if result["scale"] == "paper" else "small", bool(result["as_published"]))
        recipe = json.loads(json.dumps({each.name: told(each) for each in item.settings(terms)}))
        assert result["recipe"] == recipe, name_of(result)
        assert result["differs"] == item.differs
        assert result["rule"] == item.rule


def test_every_stored_result_that_does_not_come_out_says_what_was_tried() -> None:
    results = stored(DOCS / "results")
    silent = [each["item"] for each in results if each["verdict"] == "not reproduced" and not tried_for(each)]
    assert silent == []


def test_verdicts_are_counted() -> None:
    others = [{**RESULT, "verdict": "reproduced"}, {**RESULT, "scale": "small"}, {**RESULT, "as_published": True}]
    told = page([RESULT, RESULT, *others]).partition("In short:\n\n")[2].partition("\n\n")[0]
    assert told.splitlines() == [
        "| scale | same direction | reproduced |",
        "| --- | --- | --- |",
        "| paper | 2 | 1 |",
        "| small | 1 | 0 |",
        "| paper, as published | 1 | 0 |",
    ]


def test_words_are_explained_where_they_are_used() -> None:
    """The result speaks of FedAvg, Local and scenario 1, and of no other word of the papers."""
    result = {**RESULT, "verdict": "reproduced"}
    explained = re.findall(r"^- \*\*(.+?)\*\*: ", page([result]).partition("\n## Words\n")[2], re.MULTILINE)
    assert explained == ["FedAvg", "Local", "scenario 1"]
    more = {**RESULT, "title": "FedSEM, IFCA and PCA+kM+HC with Enc1 at a check-in: the separation gap"}
    words = page([more]).partition("\n## Words\n")[2].partition("\n## ")[0]
    assert all(f"- **{word}**: " in words for word in ("FedSEM", "IFCA", "PCA+kM+HC", "Enc1, Enc2", "check-in"))
    assert "- **separation gap**: " in words


def test_matrices_are_stored_as_pictures(tmp_path: Path) -> None:
    """Curves as SVG, matrices as PNG; the page shows both under the verdict, and the same bytes are made again."""
    (tmp_path / "made" / "results").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "made" / "results" / "flt-table1-mnist.json").write_text(json.dumps(RESULT))
    take_in(tmp_path / "made", tmp_path / "docs")
    files = {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()}
    stem = "flt-table1-mnist-paper"
    assert files.keys() == {f"{stem}.json", f"{stem}.svg", f"{stem}.png"}
    result = stored(tmp_path / "docs")[0]
    assert result["series"] == {"FedAvg": {"x": [1.0], "y": [2.0]}}
    shown = page([result])
    for name in (f"{stem}.svg", f"{stem}.png"):
        assert "**same direction**\n\n![" in shown
        assert f"](results/{name})" in shown
    take_in(tmp_path / "made", tmp_path / "docs")
    assert {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()} == files


def test_stored_results_say_what_made_them() -> None:
    """The processor, and the commits of fedclade with which they were run and read."""
    for result in stored(DOCS / "results"):
        environment = result["environment"]
        assert isinstance(environment, dict)
        assert environment["processors"], result["item"]
        for commit in (*environment["fedclade_commits"], environment["read_at"]):
            assert re.fullmatch("[0-9a-f]{40}", commit), result["item"]
        assert environment["fedclade_commits"], result["item"]


def test_stored_pictures_are_there_and_small() -> None:
    results = stored(DOCS / "results")
    named = {str(name) for result in results for name in result["pictures"]}  # type: ignore[attr-defined]  # a list
    assert named == {path.name for path in (DOCS / "results").iterdir() if path.suffix != ".json"}
    assert all((DOCS / "results" / name).stat().st_size < 100_000 for name in named)


SAID = [
    ("flt-table1-mnist-paper", "far ahead of FedAvg", {True}),
    ("flt-table2-small", "MNIST FLT (Enc1) is far ahead of FedAvg", {True}),
    ("flt-table2-small", "MNIST FLT (Enc1) is ahead of FedSEM", {False}),
    ("flt-table2-mnist-paper", "ahead of FedSEM", {False}),
    ("flt-table2-mnist-paper", "ahead of Local", {False}),
    ("flt-table3-mlp-paper", "is ahead of", {False}),
    ("flt-figure12-mlp-paper", "", {True}),
    ("flt-table4-mlp-paper", "MLP FLT is", {False}),
    ("flt-table4-mlp-paper", "FLT by class moments", {True}),
    ("flt-table4-small", "FLT by class moments", {True}),
    ("flt-table1-small", "CIFAR-10 FLT (Enc", {False}),
    ("flt-table1-mnist-small-as-published", "well ahead of PCA+kM+HC", {True}),
    ("flt-table1-mnist-paper-as-published", "well ahead of PCA+kM+HC", {True}),
    ("flt-table2-mnist-small-as-published", "", {True}),
    ("flt-table2-mnist-paper-as-published", "far ahead of FedAvg", {True}),
    ("flt-table2-mnist-paper-as-published", "ahead of FedSEM", {False}),
    ("flt-figure6-small", "FedSEM's groups are far", {True}),
    ("flt-figure6-paper", "FedSEM's groups are far", {True}),
    ("cfl-theory-paper", "", {True}),
    ("cfl-figure3-paper", "", {True}),
    ("cfl-newcomers-paper", "", {True}),
    ("cfl-figure9-small", "exactly the four planted groups", {True}),
    ("cfl-figure9-small", "section V-B", {False}),
    ("cfl-figure9-small", "CIFAR-10: CFL's accuracy", {False}),
    ("cfl-figure8-small", "does not split 20 congruent clients", {True}),
    ("cfl-figure8-small", "stagnates", {False}),
    ("cfl-figure7-small", "CIFAR-10", {False}),
    ("cfl-figure6-mnist-paper", "the gap", {True}),
    ("cfl-figure7-mnist-paper", "", {True}),
    ("cfl-figure7-cifar10-paper", "over 0 at the end", {True}),
    ("cfl-figure7-cifar10-paper", "grows", {False}),
    ("cfl-figure10-small", "topics", {False}),
    ("cfl-figure10-small", "perplexity", {True}),
    ("abc-figure5-small", "network's scores", {False}),
    ("abc-figure5-small", "groups of drifts", {True}),
    ("abc-figure6-small", "less wiggly", {True}),
    ("abc-table1-small", "ABC needs fewer rounds than FedAvg", {False}),
    ("abc-table1-N10-paper", "ABC needs fewer rounds than FedAvg", {True}),
]
"""What the page says in its own words, and the stored claims that it rests on."""


@pytest.mark.parametrize(("name", "words", "holds"), SAID, ids=lambda value: str(value)[:40])
def test_what_it_comes_to_is_what_was_stored(name: str, words: str, holds: set[bool]) -> None:
    result = json.loads((DOCS / "results" / f"{name}.json").read_bytes())
    assert {claim["holds"] for claim in result["claims"] if words in claim["claim"]} == holds


def test_writers_at_the_printed_size_are_within_a_point() -> None:
    lines = json.loads((DOCS / "results" / "flt-table3-mlp-paper.json").read_bytes())["lines"]
    accuracies = {line["row"]: line["ours"] for line in lines if line["column"] == "MLP accuracy"}
    assert len(accuracies) == 10
    assert (round(min(accuracies.values()), 1), round(max(accuracies.values()), 1)) == (95.7, 96.5)
    ahead = {row: round(accuracies[row] - accuracies["FLT"], 1) for row in accuracies if "C=" in row or row == "FedAvg"}
    assert ahead == {"FedAvg": -0.1, "FLT (C=2)": 0.3, "FLT (C=3)": 0.2, "FLT (C=5)": -0.4}
    assert max(accuracies, key=lambda row: accuracies[row]) == "IFCA"


def test_gaps_on_cifar10_at_the_printed_size_are_what_the_page_says() -> None:
    series = json.loads((DOCS / "results" / "cfl-figure7-cifar10-paper.json").read_bytes())["series"]
    updates, gradients = (series[f"CIFAR-10, {kind}"]["y"] for kind in ("updates", "gradients"))
    assert len(updates) == len(gradients) == 50
    for gaps in (updates, gradients):
        assert gaps[0] < 0 < min(gaps[1:])
    assert updates[5] == max(updates)
    assert (round(updates[5], 2), round(updates[-1], 2), round(gradients[-1], 1)) == (0.11, 0.01, 0.7)


def test_aris_are_what_the_page_says() -> None:
    """Class moments find all planted groups; PCA+kM+HC those of MNIST; FLT's encoders none on CIFAR-10."""

    def aris(name: str, column: str) -> dict[str, float]:
        lines = json.loads((DOCS / "results" / f"{name}.json").read_bytes())["lines"]
        return {line["row"]: line["ours"] for line in lines if line["column"] == f"{column} ARI"}

    for name, column in (("flt-table1", "MNIST"), ("flt-table2", "MNIST"), ("flt-table1", "CIFAR-10")):
        assert aris(f"{name}-small", column)["FLT, class moments"] == 1
    for name in ("flt-table1-mnist-paper", "flt-table2-mnist-paper"):
        assert aris(name, "MNIST")["FLT, class moments"] == aris(name, "MNIST")["PCA+kM+HC"] == 1
        assert aris(name, "MNIST")["FedSEM"] > 0.9
    assert aris("flt-table1-mnist-paper", "MNIST")["FLT (Enc1)"] > 0.8
    published = aris("flt-table2-mnist-paper-as-published", "MNIST")
    assert min(published[row] for row in ("FedSEM", "FLT (Enc1)", "FLT (Enc2)")) > 0.95
    assert max(aris("flt-table1-small", "CIFAR-10")[f"FLT (Enc{number})"] for number in (1, 2)) < 0.05
    large = aris("flt-table4-mlp-paper", "MLP")
    assert large["FLT, class moments"] == 1
    assert max(large["FLT"], large["PCA+kM+HC"]) == 0
    assert large["FedSEM"] < 0.5
