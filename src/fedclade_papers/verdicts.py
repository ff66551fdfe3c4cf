"""The five verdicts, and how a claim of a paper comes to one.

A claim is judged at the printed size, in two readings where there are two: as the paper's text has it, and as its
authors' code does it. It is reproduced if it holds by the text; if only their code makes it hold, the verdict says so.
It is refuted if it was tried in every reading and holds in none. It is not testable here if the experiment needs what
is not to be had, and open if it was not tried yet: then the verdict says how long that takes.

An item stands where the worst of its main claims stands. Numbers of rivals and variances are shown and decide nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

Reading = Literal["text", "code"]
Verdict = Literal["reproduced", "reproduced by the authors' code", "refuted", "not testable here", "open"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "reproduced by the authors' code",
    "refuted",
    "not testable here",
    "open",
)
WORST_FIRST: tuple[Verdict, ...] = (
    "refuted",
    "not testable here",
    "open",
    "reproduced by the authors' code",
    "reproduced",
)
MEANINGS: dict[Verdict, str] = {
    "reproduced": "it holds at the size of the paper, by the paper's text",
    "reproduced by the authors' code": "it holds when run as in the authors' code, and not by the text",
    "refuted": "it was run at the size of the paper, in every reading that we know, and does not hold",
    "not testable here": "the experiment needs data or settings that are not available",
    "open": "it was not run at the size of the paper yet; the time that this takes on two cores stands beside it",
}
TOLERANCE_POINTS = 2.0  # of accuracy: within so many percentage points a printed one is reproduced
EQUAL_POINTS = 0.5  # points: accuracies that are no further apart are equal


def claim_verdict(holds: Mapping[Reading, bool], readings: Iterable[Reading], missing: str) -> Verdict:
    """The verdict of a claim, from the readings in which it was tried at the printed size, and those that there are."""
    if missing:
        return "not testable here"
    if holds.get("text"):
        return "reproduced"
    if not holds or not set(readings) <= set(holds):
        return "open"
    return "reproduced by the authors' code" if holds.get("code") else "refuted"


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of an item from those of its main claims; open, if there are none."""
    return min(verdicts, key=WORST_FIRST.index, default="open")
