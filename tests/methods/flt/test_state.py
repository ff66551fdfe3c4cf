"""Which model clients go on with."""

import numpy as np

from fedclade.core import Assignment
from fedclade.methods.flt.state import NO_GROUP, groups_of_absent, inherit_models, most_common_row, overall_model

MODELS = Assignment(np.array([[9, 9], [1, 0], [2, 4]], np.float32), {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2, "f": 0})


def test_the_model_of_all_is_the_mean_over_clients() -> None:
    """Three times (1, 0) and twice (2, 4); who has the model of all does not count."""
    np.testing.assert_allclose(overall_model(MODELS), [7 / 5, 8 / 5], rtol=1e-6)
    assert overall_model(Assignment.of_one(np.array([3.0], np.float32), ("a",))).tolist() == [3]


def test_a_group_goes_on_from_what_most_of_it_had() -> None:
    after = inherit_models(MODELS, {"a": 2, "b": 2, "d": 2, "c": 1, "e": 1, "f": 0})
    assert after.rows.tolist() == [[9, 9], [1, 0], [1, 0]]  # c and e: a tie, the first row
    assert after.row_by_client == {"a": 2, "b": 2, "c": 1, "d": 2, "e": 1, "f": 0}
    assert MODELS.rows.tolist() == [[9, 9], [1, 0], [2, 4]]


def test_who_was_away_follows_its_group() -> None:
    old = {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, "f": 2}
    assert groups_of_absent(old, {"a": 5, "b": 6, "d": 7, "new": 8}) == {"c": 5, "e": 7}


def test_who_was_like_nobody_follows_nobody() -> None:
    assert groups_of_absent({"a": NO_GROUP, "b": NO_GROUP, "c": 0, "d": 0}, {"a": 3, "c": 4}) == {"d": 4}


def test_the_usual_row() -> None:
    assert most_common_row(MODELS, ["a", "d", "e"]) == 2
    assert most_common_row(MODELS, []) == 0
