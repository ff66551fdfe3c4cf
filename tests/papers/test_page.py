"""The page of results is that of the stored results, and says of each what it came to."""

import json
from pathlib import Path

from fedclade.papers.page import anchor, kept, name_of, page, stored
from fedclade.papers.registry import ITEMS

DOCS = Path(__file__).parents[2] / "docs"

RESULT = {
    "item": "flt-table1:mnist",
    "paper": "FLT",
    "title": "Test accuracy in scenario 1",
    "scale": "paper",
    "as_published": False,
    "verdict": "same direction",
    "rule": "within 2 points",
    "differs": "EMNIST-47",
    "lines": [
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
    ],
    "claims": [{"claim": "FLT is ahead", "holds": True, "seen": "98.8 %", "main": True}],
    "series": {"FedAvg": {"x": [1.0], "y": [2.0]}, "picture": {"matrix": [[1]], "order": ["a"]}},
    "notes": [],
    "command": "fedclade reproduce flt-table1:mnist --scale paper",
    "seeds": [0],
    "run_cpu_seconds": 100.4,
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
    assert "- FLT is ahead: holds (98.8 %)" in text
    assert f"(#{anchor(RESULT)})" in text
    assert anchor(RESULT) == "flt-table1mnist-paper-test-accuracy-in-scenario-1"
    assert "### flt-table1:mnist, paper: Test accuracy in scenario 1" in text


def test_matrices_are_not_stored() -> None:
    assert kept(RESULT)["series"] == {"FedAvg": {"x": [1.0], "y": [2.0]}}
    assert name_of(RESULT) == "flt-table1-mnist-paper.json"
