"""Convergence curves: test accuracy against rounds, and how soon a method has converged."""

from collections.abc import Mapping

from fedclade_papers.accuracy import BASELINE, is_one_model
from fedclade_papers.item import Claim
from fedclade_papers.run_results import ItemRuns

CONVERGED_SHARE = 0.95  # of the accuracy that a method ends with


def curves_of(found: ItemRuns, setting: str, name: str) -> dict[str, dict[str, list[float]]]:
    """The curve of each method."""
    return {f"{name}{label}": found.curve(setting, label) for label in found.labels(setting)}


def rounds_to(curve: Mapping[str, list[float]], accuracy: float) -> float:
    """The first evaluated round with this accuracy; infinity if it is never reached."""
    return next((x for x, y in zip(curve["x"], curve["y"], strict=True) if y >= accuracy), float("inf"))


def fastest_claim(
    found: ItemRuns, setting: str, own_method: str, text: str, *, main: bool = True, by_paper: bool = True
) -> Claim:
    """That no other method reaches 95 % of this method's final accuracy as soon."""
    if is_one_model(found, setting, own_method):
        return Claim(text, False, f"it has one model for everybody, like {BASELINE}", main, by_paper)
    target = CONVERGED_SHARE * found.curve(setting, own_method)["y"][-1]
    rounds = {label: rounds_to(found.curve(setting, label), target) for label in found.labels(setting)}
    # Variants of the paper's own method are not its rivals.
    best = min((value, label) for label, value in rounds.items() if not label.startswith("FLT"))
    evidence = (
        f"{target:.1f} % in round {rounds[own_method]:.0f}; the soonest of the others: {best[1]}, {round_text(best[0])}"
    )
    return Claim(text, rounds[own_method] < best[0], evidence, main, by_paper)


def round_text(rounds: float) -> str:
    """A number of rounds in words."""
    return "never" if rounds == float("inf") else f"round {rounds:.0f}"
