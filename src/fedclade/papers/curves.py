"""Convergence curves: test accuracy against rounds, and how soon a method is as good as it gets."""

from collections.abc import Mapping

from fedclade.papers.accuracy import BASELINE, is_one_model
from fedclade.papers.found import Found, first_at_least
from fedclade.papers.item import Claim

NEARLY = 0.95  # of the accuracy that a method ends with


def curves_of(found: Found, setting: str, name: str) -> dict[str, dict[str, list[float]]]:
    """One for each method."""
    return {f"{name}{label}": found.curve(setting, label) for label in found.labels(setting)}


def rounds_to(curve: Mapping[str, list[float]], accuracy: float) -> float:
    """The first evaluated round with this accuracy; infinity if it is never reached."""
    found = first_at_least(curve, accuracy)
    return float("inf") if found is None else found


def fastest(found: Found, setting: str, hero: str, text: str, *, main: bool = True) -> Claim:
    """That nobody else comes as soon to 95 % of what this method ends with."""
    if is_one_model(found, setting, hero):
        return Claim(text, False, f"it has one model for everybody, like {BASELINE}", main)
    target = NEARLY * found.curve(setting, hero)["y"][-1]
    rounds = {label: rounds_to(found.curve(setting, label), target) for label in found.labels(setting)}
    # Variants of the paper's own method are not its rivals.
    best = min((value, label) for label, value in rounds.items() if not label.startswith("FLT"))
    told = f"{target:.1f} % in round {rounds[hero]:.0f}; the soonest of the others: {best[1]}, {written(best[0])}"
    return Claim(text, rounds[hero] < best[0], told, main)


def written(rounds: float) -> str:
    """A number of rounds."""
    return "never" if rounds == float("inf") else f"round {rounds:.0f}"
