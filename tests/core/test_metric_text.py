"""Numbers of metrics as text."""

import pytest

from fedclade.core.metric_text import change_text, interval_text, metric_text, number_text
from fedclade.core.task import METRIC_KINDS, kind_of_metric

SHARE, ERROR = METRIC_KINDS["accuracy"], METRIC_KINDS["rmse"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(66.0, "66"), (0.296182, "0.2962"), (123.44, "123.4"), (152031.2, "152,031"), (0.0, "0"), (-4.0, "-4")],
)
def test_a_number_has_four_digits(value: float, text: str) -> None:
    assert number_text(value) == metric_text(value, ERROR) == text


def test_a_share_is_in_percent_and_what_is_not_known_a_dash() -> None:
    assert metric_text(0.9312, SHARE) == "93.1 %"
    assert metric_text(None, SHARE) == metric_text(float("nan"), ERROR) == "-"
    assert interval_text((0.91, 0.952), SHARE) == "91.0 to 95.2"
    assert interval_text((57.47, 74.5), ERROR) == "57.47 to 74.5"
    assert interval_text(None, ERROR) == "-"
    assert (change_text(-0.042, SHARE), change_text(-3.25, ERROR)) == ("4.2 points", "3.25")


def test_a_metric_of_an_own_task_is_read_by_its_task_alone() -> None:
    assert kind_of_metric("own", "accuracy", ["accuracy"]).lower_is_better
    assert kind_of_metric("own", "accuracy", []).unit == "number"
    assert kind_of_metric("classification", "accuracy", []) == SHARE
    assert kind_of_metric("regression", "rmse", ["rmse", "loss"]) == ERROR
