"""The page of results is made from the stored results, and says of each what it came to."""

import json
import os
import re
from pathlib import Path

import pytest

from fedclade_papers.attempts import ATTEMPTS
from fedclade_papers.item import Terms
from fedclade_papers.registry import ITEMS, items_named
from fedclade_papers.result_files import attempts_for
from fedclade_papers.results_page import import_results, load_results, name_of, page
from fedclade_papers.run_plans import setting_data
from fedclade_papers.verdicts import ACCURACY_RULE, CLAIMS_RULE

DOCS = Path(__file__).parents[2] / "docs"
STORED = {Path(name_of(result)).stem: result for result in load_results(DOCS / "results")}

FEDAVG = {"row": "FedAvg", "column": "accuracy", "printed": 82.73, "ours": 85.0, "deviation": 0.5}
ROUNDS = {"row": "ABC", "column": "rounds", "printed": "never", "ours": 5, "deviation": 0}
LINES = [{**FEDAVG, "difference": 2.27, "verdict": "same direction"}, {**ROUNDS, "difference": None, "verdict": ""}]
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
    """After new results: python -m fedclade_papers.results_page docs. Its links lead to headings of it.

    A heading's link is its text in small letters, its punctuation left out but for - and _, with - for spaces.
    """
    text = page(load_results(DOCS / "results"))
    assert (DOCS / "results.md").read_text(encoding="utf-8") == text
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
    links = re.findall(r"\]\(#([^)]*)\)", text)
    assert len(links) > 2 * len(ITEMS)
    assert set(links) <= set(anchors)
    assert len(anchors) == len(set(anchors))


def test_stored_results_say_how_they_were_made() -> None:
    """The command, the processor, and the commits of fedclade with which they were run and read; and what was tried."""
    assert {path.stem for path in (DOCS / "results").glob("*.json")} == set(STORED)
    for name, result in STORED.items():
        item, scale, environment = str(result["item"]), result["scale"], result["environment"]
        assert item.partition(":")[0] in ITEMS
        assert str(result["command"]).startswith(f"fedclade reproduce {item} --scale {scale}")
        assert isinstance(environment, dict)
        assert environment["python"]
        assert environment["processors"], name
        assert environment["fedclade_commits"], name
        for commit in (*environment["fedclade_commits"], environment["read_at"]):
            assert re.fullmatch("[0-9a-f]{40}", commit), name
        assert scale != "tiny"
        assert result["verdict"] != "not reproduced" or attempts_for(result), name
    named = {str(name) for result in STORED.values() for name in result["pictures"]}  # type: ignore[attr-defined]  # a list
    assert named == {path.name for path in (DOCS / "results").iterdir() if path.suffix != ".json"}
    assert all((DOCS / "results" / name).stat().st_size < 100_000 for name in named)


@pytest.mark.skipif(
    not os.environ.get("FEDCLADE_DATA") and not os.environ.get("CI"),
    reason="FEDCLADE_DATA names no folder: which data stand in for which depends on what is there",
)
def test_stored_results_are_of_the_recipes_as_they_are(tmp_path: Path) -> None:
    for name, result in STORED.items():
        (item,) = items_named([str(result["item"])])
        terms = Terms(tmp_path, "paper" if result["scale"] == "paper" else "small", bool(result["as_published"]))
        recipe = json.loads(json.dumps({each.name: setting_data(each) for each in item.settings(terms)}))
        assert result["recipe"] == recipe, name
        assert (result["differs"], result["rule"]) == (item.differences, item.rule)


SHOWN = [
    "| FedAvg | accuracy | 82.73 | 85 ± 0.50 | +2.27 | same direction |",
    "| ABC | rounds | never | 5 | - | - |",
    "- main claim, holds: FLT is ahead (98.8 %)",
    "- beside it, **does not hold**: Local is last (70.1 %)",
    "| method or case | measured | printed | ours | difference | verdict |",
    "\nNote: a smaller step was tried: the same\n",
    "(#flt-table1mnist-paper)",
    "\n### flt-table1\n\nTest accuracy in scenario 1.\n",
    "\n#### flt-table1:mnist, paper\n\n**same direction**\n",
    "\nWhat differs from the paper: EMNIST-47\n\nRule: within 2 points\n",
    "seeds 0, 100 s of processor time.\n",  # of 100 s of runs 3 s were spent here: they were made for another item
    f"What was tried: {ATTEMPTS['flt-table1:mnist']}\n",
]
CHANGED: list[tuple[dict[str, object], str]] = [
    ({"lines": [{**line, "counts": False} for line in LINES]}, "| +2.27 | (same direction) |"),
    ({"seconds": 61.0, "cpu_seconds_here": 110.0}, "seeds 0, 110 s of processor time, 61 s in all.\n"),
    ({"rule": ACCURACY_RULE}, "\nRule: that of [accuracies](#rules).\n"),
    ({"rule": CLAIMS_RULE + " And more."}, "\nRule: that of [claims](#rules). And more.\n"),
    ({"item": "flt-figure4:leaf_cnn", "as_published": True}, "(#flt-figure4leaf_cnn-paper-as-published)"),
]


@pytest.mark.parametrize(("changes", "text"), [*(({}, text) for text in SHOWN), *CHANGED])
def test_a_page_by_hand(changes: dict[str, object], text: str) -> None:
    assert text in page([{**RESULT, **changes}])


def test_an_item_is_shown_once_with_all_of_its_results() -> None:
    """One row of the overview, and once what is said of all results; what was tried with the results it is of."""
    small = {**RESULT, "item": "flt-table1", "scale": "small", "verdict": "not reproduced", "rule": ACCURACY_RULE}
    text = page([small, {**RESULT, "rule": ACCURACY_RULE}])
    rows = [line for line in text.splitlines() if line.startswith("| [flt-table1](#flt-table1)")]
    assert rows == [
        "| [flt-table1](#flt-table1) | Test accuracy in scenario 1 | [not reproduced](#flt-table1-small) "
        "| [same direction](#flt-table1mnist-paper) (mnist) |"
    ]
    assert text.count("EMNIST-47") == text.count(ACCURACY_RULE) == text.count("\n### ") == 1
    assert f"What was tried (flt-table1, small): {ATTEMPTS['flt-table1']}\n" in text
    assert f"What was tried (flt-table1:mnist, paper): {ATTEMPTS['flt-table1:mnist']}\n" in text


def test_what_was_tried_is_said_where_an_item_does_not_come_out() -> None:
    """Of a part what was tried with that; as published what was tried with that; of the item otherwise."""
    assert "What was tried" not in page([{**RESULT, "verdict": "reproduced"}])
    structured = {**RESULT, "item": "flt-table4:mlp"}
    assert attempts_for(structured) == ATTEMPTS["flt-table4"]
    assert attempts_for({**structured, "as_published": True}) == ATTEMPTS["flt-table4, as published"]
    assert attempts_for({**RESULT, "as_published": True}) == ""
    assert {name.removesuffix(", as published").partition(":")[0] for name in ATTEMPTS} <= ITEMS.keys()


def test_verdicts_are_counted() -> None:
    others = [{**RESULT, "verdict": "reproduced"}, {**RESULT, "scale": "small"}, {**RESULT, "as_published": True}]
    counts = page([RESULT, RESULT, *others]).partition("In short:\n\n")[2].partition("\n\n")[0]
    assert counts.splitlines() == [
        "| scale | same direction | reproduced |",
        "| --- | --- | --- |",
        "| paper | 2 | 1 |",
        "| small | 1 | 0 |",
        "| paper, as published | 1 | 0 |",
    ]


def test_words_are_explained_where_they_are_used() -> None:
    """The first result uses FedAvg, Local and scenario 1, and no other word of the papers; then there are more."""
    more = "FedSEM, IFCA and PCA+kM+HC with Enc1 at a check-in: the separation gap"
    for title, words in (
        ("scenario 1", ["FedAvg", "Local", "scenario 1"]),
        (more, ["FedAvg", "Local", "FedSEM", "IFCA", "PCA+kM+HC", "Enc1, Enc2", "separation gap", "check-in"]),
    ):
        text = page([{**RESULT, "verdict": "reproduced", "title": title}]).partition("\n## Words\n")[2]
        assert re.findall(r"^- \*\*(.+?)\*\*: ", text, re.MULTILINE) == words


def test_matrices_are_stored_as_pictures(tmp_path: Path) -> None:
    """Curves as SVG, matrices as PNG; the page shows both under the verdict, and the same bytes are made again."""
    (tmp_path / "made" / "results").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "made" / "results" / "flt-table1-mnist.json").write_text(json.dumps(RESULT))
    import_results(tmp_path / "made", tmp_path / "docs")
    files = {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()}
    stem = "flt-table1-mnist-paper"
    assert files.keys() == {f"{stem}.json", f"{stem}.svg", f"{stem}.png"}
    (result,) = load_results(tmp_path / "docs")
    assert result["series"] == {"FedAvg": {"x": [1.0], "y": [2.0]}}
    shown = page([result])
    assert "**same direction**\n\n![" in shown
    assert all(f"](results/{stem}.{end})" in shown for end in ("svg", "png"))
    import_results(tmp_path / "made", tmp_path / "docs")
    assert {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()} == files


# --- what the page says in its own words -----------------------------------------------------------------------------

SAID: dict[str, dict[str, bool]] = {
    "flt-table1-mnist-paper": {"far ahead of FedAvg": True},
    "flt-table1-small": {"CIFAR-10 FLT (Enc": False},
    "flt-table1-mnist-small-as-published": {"well ahead of PCA+kM+HC": True},
    "flt-table1-mnist-paper-as-published": {"well ahead of PCA+kM+HC": True},
    "flt-table2-small": {"MNIST FLT (Enc1) is far ahead of": True, "MNIST FLT (Enc1) is ahead of FedSEM": False},
    "flt-table2-mnist-paper": {"ahead of FedSEM": False, "ahead of Local": False},
    "flt-table2-mnist-small-as-published": {"": True},
    "flt-table2-mnist-paper-as-published": {"far ahead of FedAvg": True, "ahead of FedSEM": False},
    "flt-table3-mlp-paper": {"is ahead of": False},
    "flt-table4-mlp-paper": {"MLP FLT is": False, "FLT by class moments": True},
    "flt-table4-small": {"FLT by class moments": True},
    "flt-figure6-small": {"FedSEM's groups are far": True},
    "flt-figure6-paper": {"FedSEM's groups are far": True},
    "flt-figure12-mlp-paper": {"": True},
    "cfl-theory-paper": {"": True},
    "cfl-figure3-paper": {"": True},
    "cfl-newcomers-paper": {"": True},
    "cfl-figure6-mnist-paper": {"the gap": True},
    "cfl-figure7-small": {"CIFAR-10": False},
    "cfl-figure7-mnist-paper": {"": True},
    "cfl-figure7-cifar10-paper": {"over 0 at the end": True, "grows": False},
    "cfl-figure8-small": {"does not split 20 congruent clients": True, "stagnates": False},
    "cfl-figure9-small": {"exactly the four": True, "section V-B": False, "CIFAR-10: CFL's accuracy": False},
    "cfl-figure10-small": {"topics": False, "perplexity": True},
    "abc-figure5-small": {"network's scores": False, "groups of drifts": True},
    "abc-figure6-small": {"less wiggly": True},
    "abc-table1-small": {"ABC needs fewer rounds than FedAvg": False},
    "abc-table1-N10-paper": {"ABC needs fewer rounds than FedAvg": True},
}


@pytest.mark.parametrize("name", SAID)
def test_what_it_comes_to_is_what_was_stored(name: str) -> None:
    claims = STORED[name]["claims"]
    assert isinstance(claims, list)
    for words, holds in SAID[name].items():
        assert {claim["holds"] for claim in claims if words in claim["claim"]} == {holds}, words


NUMBERS = [
    ("flt-table1-small", "MNIST ARI", ["FLT, class moments"], 1, 1),
    ("flt-table2-small", "MNIST ARI", ["FLT, class moments"], 1, 1),
    ("flt-table1-small", "CIFAR-10 ARI", ["FLT, class moments"], 1, 1),
    ("flt-table1-small", "CIFAR-10 ARI", ["FLT (Enc1)", "FLT (Enc2)"], -1, 0.05),
    ("flt-table1-mnist-paper", "MNIST ARI", ["FLT, class moments", "PCA+kM+HC"], 1, 1),
    ("flt-table1-mnist-paper", "MNIST ARI", ["FedSEM", "FLT (Enc1)"], 0.8, 1),
    ("flt-table2-mnist-paper", "MNIST ARI", ["FLT, class moments", "PCA+kM+HC"], 1, 1),
    ("flt-table2-mnist-paper", "MNIST ARI", ["FedSEM"], 0.9, 1),
    ("flt-table2-mnist-paper-as-published", "MNIST ARI", ["FedSEM", "FLT (Enc1)", "FLT (Enc2)"], 0.95, 1),
    ("flt-table4-mlp-paper", "MLP ARI", ["FLT, class moments"], 1, 1),
    ("flt-table4-mlp-paper", "MLP ARI", ["FLT", "PCA+kM+HC"], 0, 0),
    ("flt-table4-mlp-paper", "MLP ARI", ["FedSEM"], 0, 0.5),
    ("flt-table3-mlp-paper", "MLP accuracy", ["FedAvg", "FLT", "FedSEM", "PCA+kM+HC", "CFL"], 95.8, 96.2),
    ("flt-table3-mlp-paper", "MLP accuracy", ["FLT (C=2)", "FLT (C=3)", "IFCA"], 96.3, 96.55),  # 0.2 to 0.4 ahead
    ("flt-table3-mlp-paper", "MLP accuracy", ["FLT (C=5)"], 95.7, 95.8),  # 0.4 behind the whole graph
]


@pytest.mark.parametrize(("name", "column", "rows", "low", "high"), NUMBERS)
def test_numbers_are_what_the_page_says(name: str, column: str, rows: list[str], low: float, high: float) -> None:
    lines = STORED[name]["lines"]
    assert isinstance(lines, list)
    ours = {line["row"]: line["ours"] for line in lines if line["column"] == column}
    assert all(low <= ours[row] <= high for row in rows), ours


def test_gaps_on_cifar10_at_the_printed_size_are_what_the_page_says() -> None:
    series = STORED["cfl-figure7-cifar10-paper"]["series"]
    assert isinstance(series, dict)
    updates, gradients = (series[f"CIFAR-10, {kind}"]["y"] for kind in ("updates", "gradients"))
    assert all(gaps[0] < 0 < min(gaps[1:]) for gaps in (updates, gradients))
    assert [round(gap, 2) for gap in (max(updates), updates[5], updates[-1])] == [0.11, 0.11, 0.01]
    assert round(gradients[-1], 1) == 0.7
