"""The rules of verdicts, the same for all items. The page of results lists changes made after a result was seen.

A line is reproduced if ours is within its tolerance of the printed number. Otherwise it has the same direction if it
stands to the number that it is compared with as the printed ones stand to each other: above, below, or equal. Otherwise
it is not reproduced.

An item is not reproduced if one of its main claims does not hold, or if it has none and a line is not reproduced. It is
reproduced if all claims hold and all lines are reproduced. Between these it has the same direction.
"""

from fedclade_papers.item import Outcome, ResultLine, Verdict

TOLERANCE_POINTS = 2.0  # of accuracy: within so many percentage points a printed one is reproduced
EQUAL_POINTS = 0.5  # points: accuracies that are no further apart are equal
ACCURACY_RULE = (
    f"An accuracy is reproduced within {TOLERANCE_POINTS:g} percentage points of the printed one. Otherwise it has the "
    "same direction if it stands to FLT's (FLT's own: to FedAvg's) as the printed ones do: above, below, or equal "
    f"within {EQUAL_POINTS:g} points. A variance is reproduced within a factor of two, and has a direction likewise. "
    "The item is not reproduced if one of its main claims fails, reproduced if all claims hold and all accuracies are "
    "reproduced, and has the same direction otherwise. Variances do not count for that, nor do methods that are no "
    "better than the same answer to everything; their verdicts stand in brackets. A method that puts everybody into "
    "one group is FedAvg: it is not said to be ahead of other methods."
)
CLAIMS_RULE = (
    "The item prints curves or pictures, no numbers: it is judged by what the paper says of them. Reproduced if all "
    "claims hold, not reproduced if a main one fails, the same direction otherwise. Where the text gives a number, "
    "that is a line of the table."
)


def line_verdict(line: ResultLine) -> Verdict:
    """The verdict of one number."""
    if line.printed is None or line.ours is None:
        return ""
    if line.printed == line.ours or abs(line.ours - line.printed) <= line.tolerance:
        return "reproduced"
    if line.compared_with is not None:
        printed, ours = line.compared_with
        if direction(line.printed, printed, line.equal_within) == direction(line.ours, ours, line.equal_within):
            return "same direction"
    return "not reproduced"


def direction(one: float, other: float, equal_within: float) -> int:
    """1: above; -1: below; 0: equal within `equal_within`."""
    if one == other or abs(one - other) <= equal_within:
        return 0
    return 1 if one > other else -1


def outcome_verdict(outcome: Outcome) -> Verdict:
    """The verdict of an item."""
    verdicts = [verdict for line in outcome.lines if not line.is_excluded and (verdict := line_verdict(line))]
    if not verdicts and not outcome.claims:
        return ""
    if any(claim.main and not claim.holds for claim in outcome.claims):
        return "not reproduced"
    if not outcome.claims and "not reproduced" in verdicts:
        return "not reproduced"
    whole = all(verdict == "reproduced" for verdict in verdicts) and all(claim.holds for claim in outcome.claims)
    return "reproduced" if whole else "same direction"
