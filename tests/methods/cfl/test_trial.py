"""Splits of CFL on trial: which are undone, and what clients have meanwhile."""

import numpy as np
import pytest

import fedclade as fc
from fedclade.core import Groups, Row
from fedclade.fleet import Losses
from fedclade.methods.cfl.trial import Gain
from methods.cfl.splitting import ALWAYS, NEVER, at, begun, everybody, rounds
from methods.pulling import Pulling, grouped


def test_a_split_that_hurts_is_undone_as_if_it_had_never_been() -> None:
    """Clients pull to points of their own, but what they hold out lies at 0, between them: apart they are worse."""
    fleet, _ = grouped(0, groups=2, each=4)
    middle: Row = np.stack(list(fleet.points.values())).mean(axis=0)
    fleet.held_out = dict.fromkeys(fleet.points, middle)
    method = fc.CFL(**ALWAYS, validation=0.2, trial=3)
    tree = begun(method, fleet)
    seen = []
    for number in range(1, 7):
        tree, facts = method.round(tree, fleet.fleet(), at(number))
        seen.append((len(tree.leaves()), facts["undone"]))
    assert seen == [(2, []), (2, []), (2, []), (1, [0]), (1, []), (1, [])]
    np.testing.assert_allclose(tree.nodes[0].model, rounds(fc.CFL(**NEVER), fleet, 6).nodes[0].model, atol=1e-6)


def test_what_a_part_gains_is_weighted_by_examples() -> None:
    """Together 3 x 1 + 1 x 3 = 6, apart 3 x 0.9 + 1 x 1.1 = 3.8: a gain of 2.2 / 6."""
    found = Gain.of(Losses(("a", "b"), np.array([[1.0, 0.9], [3.0, 1.1]]), np.array([3, 1])))
    assert found.share == pytest.approx(2.2 / 6)
    assert found.examples == 4


@pytest.mark.parametrize(("gains", "is_steady"), [((1, 2, 3), True), ((0.5, 2, 3.5), False), ((2, 2), False)])
def test_a_gain_is_steady_above_three_standard_errors(gains: tuple[float, ...], is_steady: bool) -> None:
    """Of 1, 2 and 3 the mean is 2 and its standard error 1 / sqrt(3) = 0.58; of the second three it is 0.87."""
    table = np.array([[9.0, 9.0 - gain] for gain in gains])
    assert Gain.of(Losses(tuple("abc")[: len(gains)], table, np.ones(len(gains), np.int64))).is_steady == is_steady


@pytest.mark.parametrize(
    ("share", "examples", "is_clear"), [(0.49, 9, False), (0.51, 9, True), (0.14, 100, False), (0.16, 100, True)]
)
def test_a_gain_is_clear_above_one_and_a_half_standard_errors(share: float, examples: int, is_clear: bool) -> None:
    """With 9 examples 1.5 / 3 of the loss, with 100 examples 1.5 / 10."""
    assert Gain(share, examples, False).is_clear == is_clear


def test_a_part_may_lose_a_hundredth() -> None:
    assert not Gain(-0.009, 10**6, False).is_loss
    assert Gain(-0.011, 1, False).is_loss


@pytest.mark.parametrize(("each", "examples", "undone"), [(2, 1, [0]), (2, 100, []), (4, 1, [])])
def test_a_gain_that_may_be_chance_is_none(each: int, examples: int, undone: list[int]) -> None:
    """What clients hold out lies 0.55 of the way from the middle of all to that of their group.

    Apart they are 0.45 of it off, together 0.55: a gain of 1 - (0.45 / 0.55)^2 = 0.33. Two clients with one example
    each may have that by chance (0.33 x sqrt(2) < 1.5); with a hundred each they do not (0.33 x sqrt(200)), and neither
    do four who all gain the same.
    """
    fleet, home = grouped(0, groups=2, each=each)
    fleet.count = dict.fromkeys(home, examples)
    middle: Row = np.stack(list(fleet.points.values())).mean(axis=0)
    for client, group in home.items():
        own = np.stack([fleet.points[other] for other in home if home[other] == group]).mean(axis=0)
        fleet.held_out[client] = middle + np.float32(0.55) * (own - middle)
    method = fc.CFL(**ALWAYS, validation=0.2, trial=10)
    tree = rounds(method, fleet, 10)
    assert list(tree.on_trial()) == [0]
    assert method.round(tree, fleet.fleet(), at(11))[1]["undone"] == undone


def test_a_split_that_hurts_one_part_is_undone() -> None:
    """Nine clients are better off without the tenth; the tenth, alone, is not, and counts as much."""
    fleet, home = grouped(0, groups=2, each=5)
    alone, *others = (client for client, group in home.items() if group == 0)
    fleet.away = set(others)
    middle: Row = np.stack([fleet.points[client] for client in fleet.clients()]).mean(axis=0)
    method = fc.CFL(**ALWAYS, validation=0.2, trial=3)
    assert len(rounds(method, fleet, 4).leaves()) > 1
    fleet.held_out = {alone: middle}
    assert len(rounds(method, fleet, 4).leaves()) == 1


def test_while_a_split_is_on_trial_everybody_has_the_undivided_model() -> None:
    fleet, _ = grouped(0, groups=2, each=4)
    method = fc.CFL(**ALWAYS, validation=0.2, trial=3)
    for count, models in ((1, 1), (2, 1), (3, 1), (4, 2)):
        tree = rounds(method, fleet, count)
        assert len(set(everybody(tree).row_by_client.values())) == models
        if models == 1:
            plain = rounds(fc.CFL(**NEVER), fleet, count).nodes[0].model
            np.testing.assert_allclose(everybody(tree).row_of("client-00"), plain, atol=1e-6)
    fleet.silent = set(fleet.points)
    tree, _ = method.round(rounds(method, Pulling(fleet.points), 3), fleet.fleet(), at(4))
    assert tree.on_trial()  # nobody could judge it: later


@pytest.mark.parametrize("how", ["away", "silent"])
def test_a_part_of_which_nobody_is_heard_does_not_hold_a_trial_open_for_ever(how: str) -> None:
    """It is waited for as long again; then those who are there decide.

    The undivided model has become theirs by then: nothing is gained by the split, and it is undone.
    """
    fleet, home = grouped(0, groups=2, each=4)
    method = fc.CFL(**ALWAYS, validation=0.2, trial=3)
    tree = rounds(method, fleet, 1)
    setattr(fleet, how, {client for client, group in home.items() if group == home["client-00"]})
    for number in range(2, 7):
        tree, _ = method.round(tree, fleet.fleet(), at(number))
        assert tree.on_trial()
    tree, facts = method.round(tree, fleet.fleet(), at(7))
    assert (list(tree.on_trial()), facts["undone"]) == ([], [0])
    assert set(tree.node_by_client) == set(home)


def test_a_split_that_helps_is_kept() -> None:
    fleet, home = grouped(0, groups=2, each=4)
    tree = rounds(fc.CFL(validation=0.2, trial=3), fleet, 25)
    assert everybody(tree).groups() == Groups.from_labels(home)
    assert tree.nodes[0].split is not None
    assert tree.nodes[0].split.undivided is None


def test_everybody_is_told_the_best_of_its_path() -> None:
    """One client's held-out examples lie where the root's model was when it was split: that one is best for it."""
    fleet, _ = grouped(0, groups=2, each=4)
    method = fc.CFL(validation=0.2, trial=3)
    tree = rounds(method, fleet, 24)
    fleet.held_out = {"client-00": tree.nodes[0].model}
    tree, facts = method.round(tree, fleet.fleet(), at(27))
    assert facts["best"] == {**tree.node_by_client, "client-00": 0}
    assert tree.node_by_client["client-00"] != 0  # where it trains, and what it has
    assert "best" not in method.round(tree, fleet.fleet(), at(28))[1]
