"""A column from which every label can be told is warned of, and used all the same."""

from typing import Any

import numpy as np
import pandas as pd
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
    warnings = [each for each in found.warnings if "gives the label away" in each]
    assert all(each.startswith(f"column '{name}'") for each in warnings)
    return bool(warnings)


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


BROKEN = X > 0.3
FAULTS = np.where(BROKEN, "yes", "no")


@pytest.mark.parametrize(
    ("values", "choices"),
    [
        (np.where(BROKEN, RNG.integers(0, 300, ROWS).astype(float), np.nan), {}),  # a number of the repair
        (pd.Series(DAYS).where(BROKEN), {}),
        (pd.Series(DAYS.astype(str)).where(BROKEN), {"categorical": ("c",)}),  # none of which is there five times
        (pd.Series(RNG.choice(["belt", "pump"], ROWS)).where(BROKEN), {}),
        (pd.Series(RNG.choice(["a new belt is on", "the pump has a new seal"], ROWS)).where(BROKEN), {"text": ("c",)}),
        (pd.Series(RNG.choice([True, False], ROWS)).where(BROKEN), {}),
    ],
)
def test_what_is_filled_for_one_label_only_is_warned_of(values: Any, choices: dict[str, Any]) -> None:
    assert warned(values, FAULTS, **choices)


@pytest.mark.parametrize("classes", [2, 4, 5])
def test_a_copy_on_another_scale_is_warned_of(classes: int) -> None:
    for seed in range(12):
        labels = np.random.default_rng(seed).integers(0, classes, ROWS)
        assert warned((labels - labels.mean()) / labels.std(), labels), seed
        assert warned(labels / 7, labels), seed


RARE = np.random.default_rng(1).random(ROWS) < 0.012


@pytest.mark.parametrize(
    "values",
    [
        np.where(RARE, "broken", "fine"),  # at no client five times
        RARE,
        RARE.astype(int),
        (RARE - RARE.mean()) / RARE.std(),
        np.where(RARE, 5 + RNG.random(ROWS), RNG.random(ROWS)),  # a score
        -np.where(RARE, 5 + RNG.random(ROWS), RNG.random(ROWS)),
    ],
)
def test_a_copy_of_a_rare_label_is_warned_of(values: Any) -> None:
    assert warned(values, np.where(RARE, "yes", "no"))


@pytest.mark.parametrize("rare", [0.006, 0.02, 0.3])
def test_noise_and_good_features_are_not_warned_of(rare: float) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        hidden = rng.normal(size=ROWS)
        labels = hidden > np.quantile(hidden, 1 - rare)
        for feature in (
            rng.normal(size=ROWS),
            hidden + 0.5 * rng.normal(size=ROWS),
            rng.integers(0, 40, ROWS),
            np.round(3 * hidden + rng.normal(size=ROWS)),
            rng.choice([f"code {number}" for number in range(12)], ROWS),
            rng.random(ROWS) < 0.1,
        ):
            assert not warned(feature, labels), (seed, feature[:5])


@pytest.mark.parametrize(("codes", "classes"), [(10, 2), (15, 5), (60, 3)])
def test_codes_that_are_finer_than_the_label_are_warned_of(codes: int, classes: int) -> None:
    code = RNG.permutation(np.arange(ROWS) % codes)
    label_of = RNG.permutation(np.arange(codes) % classes)
    assert warned(code, label_of[code])
    assert warned(code * 0.37, label_of[code])
    assert not warned(code, RNG.permutation(label_of[code]))


@pytest.mark.parametrize(
    "filled", [RNG.random(ROWS) < 0.5, BROKEN & (RNG.random(ROWS) < 0.9), BROKEN | (RNG.random(ROWS) < 0.02)]
)
def test_empty_cells_that_do_not_tell_the_label_are_no_warning(filled: Any) -> None:
    assert not warned(np.where(filled, RNG.normal(size=ROWS), np.nan), FAULTS)
    assert not warned(pd.Series(RNG.choice(["belt", "pump"], ROWS)).where(filled), FAULTS)
