"""The rules of verdicts, on numbers made up by hand."""

import pytest

from fedclade.papers.item import Claim, Line, Outcome, Verdict
from fedclade.papers.verdicts import of_line, of_outcome

NEVER = float("inf")


def line(printed: float | None, ours: float | None, other: tuple[float, float] | None = None) -> Line:
    return Line(row="", column="", printed=printed, ours=ours, tolerance=2.0, other=other, equal=0.5)


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
        # Printed as good as equal: within half a point here too.
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
    assert of_line(line(printed, ours, other)) == verdict


HOLDS, FAILS = Claim("", True, ""), Claim("", False, "")
BESIDE = Claim("", False, "", main=False)
RIGHT, WRONG, NEAR = line(80, 80), line(80, 10), line(80, 70, (90, 85))


@pytest.mark.parametrize(
    ("lines", "claims", "verdict"),
    [
        ((RIGHT,), (HOLDS,), "reproduced"),
        ((RIGHT, WRONG), (HOLDS,), "same direction"),
        ((RIGHT,), (HOLDS, FAILS), "not reproduced"),
        ((RIGHT,), (HOLDS, BESIDE), "same direction"),
        ((), (HOLDS,), "reproduced"),
        ((), (HOLDS, BESIDE), "same direction"),
        ((), (FAILS,), "not reproduced"),
        ((RIGHT,), (), "reproduced"),
        ((RIGHT, NEAR), (), "same direction"),
        ((RIGHT, WRONG), (), "not reproduced"),
        ((line(None, 3.0),), (), ""),
        ((), (), ""),
    ],
)
def test_items(lines: tuple[Line, ...], claims: tuple[Claim, ...], verdict: Verdict) -> None:
    assert of_outcome(Outcome(lines, claims)) == verdict


def test_a_line_aside_does_not_count_for_the_item() -> None:
    beside = Line(row="", column="variance", printed=1.0, ours=50.0, aside=True)
    assert of_line(beside) == "not reproduced"
    assert of_outcome(Outcome((RIGHT, beside), (HOLDS,))) == "reproduced"
