"""FLT's theorems on random instances: which claims hold, and how many instances were looked at."""

from pathlib import Path

import pytest

from fedclade_papers import flt_theory
from fedclade_papers.item import Terms
from fedclade_papers.run_results import ItemRuns
from papers.doubles import check


def test_as_printed_they_fail_and_repaired_they_hold(tmp_path: Path) -> None:
    outcome = flt_theory.ITEM.read(ItemRuns(Terms(tmp_path, "small"), ()))
    check(outcome, "as printed")
    assert [claim.evidence.split()[-2] for claim in outcome.claims if "repaired" in claim.text] == ["2000"]


@pytest.mark.parametrize("broken", ["theorem_1_holds", "repaired_theorem_2_holds"])
def test_one_instance_refutes(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All hold but the instance of number 7."""
    for name in ("theorem_1_holds", "theorem_2_holds", "repaired_theorem_2_holds"):
        both = name == "theorem_1_holds"
        fails = 7 if name == broken else -1

        def holds(number: int, fails: int = fails, both: bool = both) -> object:
            return (number != fails, True) if both else number != fails

        monkeypatch.setattr(flt_theory, name, holds)
    monkeypatch.setattr(flt_theory, "star_gap", lambda: 0.0)
    outcome = flt_theory.ITEM.read(ItemRuns(Terms(tmp_path, "tiny"), ()))
    check(outcome, "Theorem 1 bounds" if broken == "theorem_1_holds" else "repaired")
    assert any(claim.evidence.startswith("holds in 99 of 100 instances") for claim in outcome.claims)
