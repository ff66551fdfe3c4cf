"""Colours and marks: the same for the same method in every figure, and told apart with any kind of colour vision.

Okabe and Ito's eight colours and four of Tol's. Where two are near to each other, the mark differs.
"""

from collections.abc import Sequence

PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255"),
    *("#117733", "#999933", "#332288", "#AA4499"),
)
MARKS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot")
OURS = ("fedavg", "local", "flt", "cfl", "ifca", "fedsem", "pca-km-hc", "abc", "fedprox", "fedavg-ft", "ditto")
GREY = "#8a8f94"
SCALE = "Viridis"  # of matrices: even steps, readable in grey


def method_colours(methods: Sequence[str]) -> dict[str, str]:
    """A colour for each method: ours have their own, others get the rest in the order of their names."""
    free = PALETTE[len(OURS) :] + PALETTE[: len(OURS)]
    others = sorted(set(methods) - set(OURS))
    return {
        method: PALETTE[OURS.index(method)] if method in OURS else free[others.index(method) % len(free)]
        for method in methods
    }


def method_marks(methods: Sequence[str]) -> dict[str, str]:
    """A mark for each method, likewise."""
    others = sorted(set(methods) - set(OURS))
    return {
        method: MARKS[(OURS.index(method) if method in OURS else len(OURS) + others.index(method)) % len(MARKS)]
        for method in methods
    }


def group_colour(group: int) -> str:
    """The colour of a group, by its number; grey for nobody's."""
    return PALETTE[group % len(PALETTE)] if group >= 0 else GREY


def group_mark(group: int) -> str:
    """The mark of a group, by its number."""
    return MARKS[group % len(MARKS)] if group >= 0 else "circle-open"
