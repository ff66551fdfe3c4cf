"""A column from which every label can be told is warned of, and used all the same."""

from typing import Any

import numpy as np
import pytest

from preparation.frames import federation_of, fit

ROWS = 1200
RNG = np.random.default_rng(9)
X = RNG.normal(size=ROWS)
DAYS = np.datetime64("2024-01-01T09") + np.arange(ROWS).astype("timedelta64[D]")  # a Monday
SPECIES = RNG.choice(["cat", "dog", "owl"], ROWS)


def warned(values: Any, labels: Any, name: str = "c", **choices: Any) -> bool:
    """Whether a column is warned of; an honest one beside it never is, and both are used."""
    columns = {"noise": RNG.normal(size=ROWS).tolist(), name: np.asarray(values)}
    found = fit(federation_of(columns, [f"s{row % 10}" for row in range(ROWS)], np.asarray(labels).tolist()), **choices)
    assert {"noise", name} == set(found.columns)
    assert len(found.warnings) <= 1
    if found.warnings:
        assert f"'{name}' gives the label away" in found.warnings[0]
    return bool(found.warnings)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (np.char.add("the ", SPECIES), SPECIES),  # another name of the label
        (np.char.add(SPECIES, RNG.choice(["1", "2"], ROWS)), SPECIES),  # a finer one
        (np.where(X > 0.3, 1, 0), np.where(X > 0.3, "hot", "cold")),  # a flag as a number
        (X, np.where(X > 0.3, "hot", "cold")),  # the label is a cut of the number
        (X > 0.3, np.where(X > 0.3, "hot", "cold")),
        (DAYS, np.array(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])[np.arange(ROWS) % 7]),
        (X, np.digitize(X, [-0.5, 0.4, 1.1])),
        (np.digitize(X, [-0.5, 0.4, 1.1]), np.digitize(X, [-0.5, 0.4, 1.1])),
    ],
)
def test_what_gives_the_label_away_is_warned_of(values: Any, labels: Any) -> None:
    assert warned(values, labels)


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (np.char.replace(SPECIES, "dog", "cat"), SPECIES),  # two species with one name
        (RNG.choice(["a", "b"], ROWS), SPECIES),
        (X, np.where(X + RNG.normal(size=ROWS) * 0.1 > 0.3, "hot", "cold")),  # a good feature, and no more
        (X, SPECIES),
        (RNG.integers(0, 2, ROWS), RNG.integers(0, 2, ROWS)),
        (np.char.replace(np.where(X > 0.3, "hot", "cold"), "hot", "hot"), np.where(X > 0.35, "hot", "cold")),
    ],
)
def test_a_feature_is_not_warned_of(values: Any, labels: Any) -> None:
    assert not warned(values, labels)


def test_a_label_that_hardly_ever_differs_makes_no_warnings() -> None:
    labels = np.where(np.arange(ROWS) % 300 == 0, "rare", "usual")
    assert not warned(RNG.choice(["a", "b"], ROWS), labels)
