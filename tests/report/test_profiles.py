"""What groups of a user's own data are like, in words and in figures."""

import numpy as np
import pytest

from fedclade.data import from_arrays
from fedclade.report.plots.layout import safe_name
from fedclade.report.plots.profiles import feature_means, label_shares
from fedclade.report.profiles import GroupProfile, share_errors, with_statements
from fedclade.runs.own_groups import GroupAnswer, find_own_groups
from report.folders import there


def of_shares(name: str, examples: int, share: float) -> GroupProfile:
    return GroupProfile(name, (name,), examples, np.array([share, 1 - share]), np.zeros(0), np.zeros((0, 0)))


def of_means(name: str, *means: float) -> GroupProfile:
    return GroupProfile(name, (name,), 10, np.zeros(0), np.array(means), np.zeros((0, 0)))


def an_answer() -> GroupAnswer:
    rng = np.random.default_rng(0)
    images = {name: (rng.random((10, 1, 2, 2)), np.array(["no", "yes"] * 5)) for name in "abcd"}
    return find_own_groups(from_arrays(images))


def test_a_share_that_chance_explains_is_not_told() -> None:
    few, others = of_shares("few", 10, 0.4), of_shares("others", 1000, 0.2)
    # 4 of 10 and 200 of 1,000: 204 of 1,010 together, 0.202; sqrt(0.202 0.798 (1/10 + 1/1000)) = 0.1276
    assert share_errors(few, [others]) == pytest.approx([0.1276, 0.1276], abs=1e-4)
    assert with_statements(an_answer(), few, [few, others]).statements == ()
    many = of_shares("many", 1000, 0.4)
    phrases = with_statements(an_answer(), many, [many, others]).statements
    assert set(phrases) == {"label no: 40 % (others 20 %)", "label yes: 60 % (others 80 %)"}


def test_long_names_keep_both_ends() -> None:
    assert safe_name("temperature-of-the-northern-furnace", 11) == "tempe…rnace"
    assert safe_name("temperature", 11) == "temperature"
    assert len(safe_name("x" * 100, 16)) == 16


def test_long_names_stand_upright_and_are_whole_where_one_points() -> None:
    name = "temperature of the northern furnace"
    figure = there(feature_means([of_means("one", -0.04, 1.0), of_means("two", 0.04, -1.0)], [name, "b"]))
    assert figure.layout.xaxis.tickangle == 90
    assert figure.data[0].text[0][0] == f"one, {name}"
    assert not np.signbit(figure.data[0].z[0][0])  # no -0.0
    short = there(label_shares([of_shares("one", 5, 0.5), of_shares("two", 5, 0.5)], ["0", "1"]))
    assert short.layout.xaxis.tickangle == 0
