"""The rules of verdicts, on numbers made up by hand."""

from dataclasses import replace

import pytest

from fedclade_papers.item import Claim, Outcome, ResultLine, Verdict
from fedclade_papers.verdicts import line_verdict, outcome_verdict

NEVER = float("inf")
LINE = ResultLine(row="", column="", printed=80.0, ours=80.0, tolerance=2.0, equal_within=0.5)


@pytest.mark.parametrize(
    ("printed", "ours", "other", "verdict"),
    [
        (80.0, 81.9, None, "reproduced"),
        (80.0, 78.0, None, "reproduced"),
        (80.0, 82.1, None, "not reproduced"),
        # Printed 20 points below FLT's 97: below here too, by more than half a point; or above; or equal.
        (77.0, 60.0, (97.0, 61.0), "same direction"),
        (77.0, 62.0, (97.0, 61.0), "not reproduced"),
        (77.0, 60.6, (97.0, 61.0), "not reproduced"),
        # Printed equal: within half a point here too.
        (97.2, 61.4, (97.0, 61.0), "same direction"),
        (97.2, 62.0, (97.0, 61.0), "not reproduced"),
        # Rounds to a target that is never reached.
        (NEVER, NEVER, None, "reproduced"),
        (NEVER, 400.0, (300.0, 200.0), "same direction"),
        (NEVER, 100.0, (300.0, 200.0), "not reproduced"),
        (300.0, NEVER, (NEVER, NEVER), "not reproduced"),
        (None, 3.0, None, ""),
        (3.0, None, None, ""),
    ],
)
def test_lines(printed: float | None, ours: float | None, other: tuple[float, float] | None, verdict: Verdict) -> None:
    assert line_verdict(replace(LINE, printed=printed, ours=ours, compared_with=other)) == verdict


HOLDS, FAILS, BESIDE = Claim("", True, ""), Claim("", False, ""), Claim("", False, "", main=False)
WRONG, NEAR = replace(LINE, ours=10.0), replace(LINE, ours=70.0, compared_with=(90.0, 85.0))


@pytest.mark.parametrize(
    ("lines", "claims", "verdict"),
    [
        ((LINE,), (HOLDS,), "reproduced"),
        ((LINE, WRONG), (HOLDS,), "same direction"),
        ((LINE, replace(WRONG, is_excluded=True)), (HOLDS,), "reproduced"),
        ((LINE,), (HOLDS, FAILS), "not reproduced"),
        ((LINE,), (HOLDS, BESIDE), "same direction"),
        ((), (HOLDS,), "reproduced"),
        ((), (FAILS,), "not reproduced"),
        ((LINE,), (), "reproduced"),
        ((LINE, NEAR), (), "same direction"),
        ((LINE, WRONG), (), "not reproduced"),
        ((replace(LINE, printed=None),), (), ""),
        ((), (), ""),
    ],
)
def test_items(lines: tuple[ResultLine, ...], claims: tuple[Claim, ...], verdict: Verdict) -> None:
    assert outcome_verdict(Outcome(lines, claims)) == verdict
