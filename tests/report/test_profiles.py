"""What groups of a user's own data are like, in words and in figures."""

import re

import numpy as np
import pandas as pd
import pytest

from fedclade.data import Federation, from_arrays, from_frame
from fedclade.report.plots.layout import safe_name
from fedclade.report.plots.profiles import feature_means, label_shares
from fedclade.report.profiles import GroupProfile, profiles, share_errors, with_statements
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


def test_no_difference_is_no_reason_and_zero_has_no_sign() -> None:
    """Group one is all label `no`, where the flag is 0, the others all `yes`, where it is 1: so it is in all groups."""
    sites = {}
    rng = np.random.default_rng(0)
    for site in range(12):
        flag = (rng.random(300) < (0.02, 0.5, 0.98)[site % 3]).astype(int)
        sites[f"s{site:02}"] = pd.DataFrame(
            {
                "site": f"s{site:02}",
                "flag": flag == 1,
                "label": np.where(flag == 1, "yes", "no"),
                "x": rng.normal(size=300),
            }
        )
    found = find_own_groups(from_frame(pd.concat(sites.values()), client="site", label="label"))
    words = [each for profile in profiles(found) for each in profile.statements]
    assert words
    assert not any(re.search(r"-0 %|[+-]0 points|[+-]0\.0 deviations", each) for each in words), words


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


def federation_of_numbers(shift: float) -> Federation:
    """Eight sites in two halls: what the first input says of the label is turned around in the second."""
    rng = np.random.default_rng(0)
    sites = {}
    for site in range(8):
        inputs = rng.normal(size=(200, 3))
        sign = 1 if site < 4 else -1
        sites[f"site-{site}"] = (inputs, 100 + 20 * sign * inputs[:, 0] + rng.normal(size=200) + shift * (sign < 0))
    return from_arrays(sites)


def test_a_regression_has_its_groups_in_the_labels_own_unit() -> None:
    answer = find_own_groups(federation_of_numbers(0.0))
    assert [group[0] for group in answer.found.groups] == ["site-0", "site-4"]
    one, other = profiles(answer)
    lowest, middle, highest = answer.class_names
    assert lowest.startswith("under 9")  # the lowest third of a normal 100 +- 20 ends at 91.4, the middle one at 108.6
    assert middle.partition(" to ")[2].startswith("10")
    assert highest.startswith("from 10")
    assert one.statements[0] == "label with input 0: correlation +1.00 (others -1.00)"
    assert other.statements[0] == "label with input 0: correlation -1.00 (others +1.00)"
    assert one.label_mean == pytest.approx(100, abs=3)
    assert not any("in the mean" in words for words in (*one.statements, *other.statements))


def test_the_mean_of_a_label_is_told_where_it_differs() -> None:
    answer = find_own_groups(federation_of_numbers(60.0))
    one, other = (each for each in profiles(answer))
    values = [
        float(part)
        for part in re.findall(r"label (\d+\.?\d*) in the mean \(others (\d+\.?\d*)\)", one.statements[0])[0]
    ]
    assert values == [pytest.approx(100, abs=2), pytest.approx(160, abs=2)]
    assert [one.label_mean, other.label_mean] == [pytest.approx(value, abs=0.1) for value in values]


def test_flags_have_shares_that_need_not_add_up() -> None:
    """In the first four sites all examples are wet and half are cold; in the others none is wet."""
    rng = np.random.default_rng(0)
    cold = np.arange(100) % 2
    sites = {
        f"site-{site}": (rng.normal(size=(100, 2)), np.stack([np.full(100, site < 4), cold], axis=1))
        for site in range(8)
    }
    answer = find_own_groups(from_arrays(sites))
    one, other = profiles(answer)
    assert answer.class_names == ("0", "1", "no flag")
    assert one.shares.tolist() == [1, 0.5, 0]
    assert other.shares.tolist() == [0, 0.5, 0.5]
    assert set(one.statements) >= {"flag 0: 100 % (others 0 %)", "no flag: 0 % (others 50 %)"}
