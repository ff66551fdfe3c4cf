"""CFL: splits by hand, nobody lost, newcomers, and who is silent or not asked."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclade as fc
from fedclade.clustering.bipartition import Bipartition
from fedclade.core import ClientId, Groups, InputError
from fedclade.data import Federation
from fedclade.methods import Facts
from fedclade.methods.cfl.cluster_signs import ClusterSigns, Update, compute_signs
from fedclade.methods.cfl.parameter_tree import CFLState
from fedclade.methods.cfl.split_rule import SplitRule
from fedclade.wire import Reply
from fedclade.wire.message import AnyRequest
from methods.cfl.splitting import ALWAYS, NEVER, at, begun, everybody, rounds
from methods.pulling import STEP, Pulling, grouped


def check_nobody_is_lost(tree: CFLState, fleet: Pulling) -> None:
    wanted = sorted(fleet.points)
    assert sorted(tree.node_by_client) == wanted
    assert sorted(client for leaf in tree.leaves() for client in tree.members(leaf)) == wanted
    assert list(everybody(tree).clients) == wanted
    for number, node in tree.nodes.items():
        if node.split is not None:
            one, other = (set(tree.members(child)) for child in node.split.children)
            assert not one & other
            assert one | other == set(tree.members(number))


@pytest.mark.parametrize("seed", range(20))
def test_nobody_is_lost_or_doubled_in_six_successive_splits(seed: int) -> None:
    """Seven groups: the tree is right after six splits, and holds everybody exactly once after every round.

    Points of one group are 0.3 apart from its middle and groups are some 6 apart, of which a round goes half the way.
    """
    fleet, home = grouped(seed, groups=7, each=3)
    method = fc.CFL(rule="absolute", eps1=0.1, eps2=1.0)
    tree = begun(method, fleet)
    for number in range(1, 41):
        tree, _ = method.round(tree, fleet.fleet(), at(number))
        check_nobody_is_lost(tree, fleet)
    assert len(tree.nodes) == 13
    assert everybody(tree).groups() == Groups.from_labels(home)


def test_the_order_of_names_changes_nothing() -> None:
    """The same points under other names, whose order is another: the same groups of points."""
    fleet, _ = grouped(3, groups=4, each=4)
    shuffled = np.random.default_rng(0).permutation(sorted(fleet.points)).tolist()
    names = dict(zip(sorted(fleet.points), shuffled, strict=True))
    turned = Pulling({names[client]: point for client, point in fleet.points.items()})
    plain, other = (everybody(rounds(fc.CFL(), each, 30)).groups() for each in (fleet, turned))
    assert len(plain) == 4
    assert other == Groups(tuple(tuple(names[client] for client in group) for group in plain.members))


def shown(facts: Facts) -> list[dict[str, float]]:
    """What the clusters showed in a round."""
    found: list[dict[str, float]] = json.loads(json.dumps(facts["clusters"]))
    return found


POINTS = {"a": np.array([1, 0], np.float32), "b": np.array([-1, 0], np.float32)}


def test_the_norm_of_the_mean_and_not_the_mean_of_the_norms() -> None:
    """Two clients pull a model at 0 by 1/2 in opposite directions: the mean is 0, each norm is 1/2."""
    leaves = []
    for eps1, eps2 in ((0.01, 0.49), (0.01, 0.51)):
        method = fc.CFL(rule="absolute", eps1=eps1, eps2=eps2)
        tree, facts = method.round(begun(method, Pulling(POINTS)), Pulling(POINTS).fleet(), at(1))
        (cluster,) = shown(facts)
        assert (cluster["mean_norm"], cluster["largest_norm"]) == (0, STEP)
        leaves.append(tree.leaves())
    assert leaves == [(1, 2), (0,)]


def test_the_mean_is_weighted_by_examples() -> None:
    """Three examples pull by +1/2 and one by -1/2: (3 - 1) / 4 of 1/2."""
    fleet = Pulling(POINTS, count={"a": 3})
    tree, facts = fc.CFL(**NEVER).round(begun(fc.CFL(), fleet), fleet.fleet(), at(1))
    (cluster,) = shown(facts)
    assert cluster["mean_norm"] == pytest.approx(0.25)
    assert tree.nodes[0].model.tolist() == [0.25, 0]


def test_gamma_max_refuses_a_split_that_is_not_sure() -> None:
    """Two clients at right angles: sqrt((1 - 0) / 2) = 0.7071."""
    fleet = Pulling({"a": np.array([1, 0], np.float32), "b": np.array([0, 1], np.float32)})
    for gamma, leaves in ((0.70, 2), (0.71, 1)):
        assert len(rounds(fc.CFL(**ALWAYS, gamma_max=gamma), fleet, 1).leaves()) == leaves


def test_the_papers_thresholds() -> None:
    """eps1 = a tenth of the largest mean so far, 1.0 here; eps2 = 6 eps1: split under 0.1 and over 0.6."""
    rule = SplitRule("paper", 0.0, 0.0, 0.1, 6.0, 0.0)
    signs = ClusterSigns(10, 0.09, 0.61, usual_norm=0.1, mean_seen=1.0, usual_seen=2.0, cross=-0.5, inside=0.5)
    assert rule.wants_split(signs)
    assert not rule.wants_split(replace(signs, mean_norm=0.11))
    assert not rule.wants_split(replace(signs, largest_norm=0.59))


def test_the_papers_rule_asks_for_all_clients(two_groups: Federation, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"every client must take part, run\.participation: got 0\.5: method") as said:
        fc.train(two_groups, fc.CFL(rule="paper"), participation=0.5, out=tmp_path / "run")
    assert said.value.do == "set run.participation = 1"
    assert not (tmp_path / "run").exists()


def test_the_automatic_thresholds_have_no_scale() -> None:
    """Sixteen clients: the ratio 0.2 is 0.8 / sqrt(16). Each test alone refuses; a factor changes nothing."""
    rule = SplitRule("automatic", 0.0, 0.0, 0.1, 6.0, 0.0)
    signs = ClusterSigns(16, 0.2, 1.0, usual_norm=0.9, mean_seen=0.3, usual_seen=1.4, cross=-0.1, inside=0.3)
    for factor in (1e-6, 1.0, 1e6):
        named = ("mean_norm", "largest_norm", "usual_norm", "mean_seen", "usual_seen")
        scaled = replace(signs, **{name: factor * getattr(signs, name) for name in named})
        assert rule.wants_split(scaled)
        assert not rule.wants_split(replace(scaled, mean_norm=0.24 * factor))
        assert not rule.wants_split(replace(scaled, usual_seen=1.6 * factor))
        assert rule.wants_split(replace(scaled, largest_norm=2.0 * factor)), "one client that leaps does not matter"
        assert not rule.wants_split(replace(scaled, cross=-0.5, inside=0.14)), "nobody is like anybody"
        assert not rule.wants_split(replace(scaled, cross=0.11, inside=0.9))
        assert not rule.wants_split(replace(scaled, cross=1.0, inside=1.2))


def test_a_part_is_as_restless_as_its_median_client() -> None:
    """By hand: three to the right by 1, 1 and 5, three to the left by 2. The medians are 1 and 2, the longest is 5."""
    moved = {"a": 1, "b": 1, "c": 5, "d": -2, "e": -2, "f": -2}
    heard = {client: Update(np.array([by, 0], np.float32), 10, 1) for client, by in moved.items()}
    signs, found, _ = compute_signs(heard, 0.0, 3.0)
    assert found == Bipartition((("a", "b", "c"), ("d", "e", "f")), -1.0)
    assert (signs.usual_norm, signs.largest_norm, signs.usual_seen) == (2, 5, 3)
    alone, none, _ = compute_signs({"c": heard["c"]}, 0.0, 3.0)
    assert none is None
    assert (alone.usual_norm, alone.usual_seen) == (5, 5)


def test_two_clients_who_pull_apart_are_no_structure() -> None:
    """Nobody has another one in its part; the paper's rule, and numbers, do not ask for one."""
    assert len(rounds(fc.CFL(), Pulling(POINTS), 5).leaves()) == 1
    assert len(rounds(fc.CFL(**ALWAYS), Pulling(POINTS), 1).leaves()) == 2
    everybody_alone, _ = grouped(0, 4, 1)
    assert len(rounds(fc.CFL(), everybody_alone, 30).leaves()) == 1


def test_what_is_tried_need_not_be_sure() -> None:
    """The same signs, when the updates are a fifth of what they were: only with a trial."""
    signs = ClusterSigns(16, 0.2, 1.0, usual_norm=1.0, mean_seen=0.3, usual_seen=5.0, cross=-0.1, inside=0.3)
    tried = SplitRule("tried", 0.0, 0.0, 0.1, 6.0, 0.0)
    assert tried.wants_split(signs)
    assert not replace(tried, rule="automatic").wants_split(signs)
    assert not tried.wants_split(replace(signs, mean_norm=0.24))
    assert not tried.wants_split(replace(signs, inside=0.14))
    assert fc.CFL(rule="tried", validation=0.1).split_rule.rule == "tried"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rule": "tried"}, 'rule "tried" has nothing to try by, CFL.validation: got 0, need a share over 0'),
        ({"eps1": 0.5}, 'eps1 is for another rule, CFL.eps1: got 0.5 with rule "automatic", need rule "absolute"'),
        ({"rule": "paper", "eps2": 1.0}, "eps2 is for another rule"),
        ({"rule": "absolute", "eps1": 1.0, "eps2_times": 2.0}, "eps2_times is for another rule"),
        ({"eps1_share": 0.2}, "eps1_share is for another rule"),
    ],
)
def test_a_threshold_that_nothing_looks_at_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(fc.FedcladeError, match=re.escape(said)):
        fc.CFL(**given)
    assert fc.CFL(rule="paper", eps1=0.0, eps2=0.0, eps1_share=0.2).eps1_share == 0.2  # as a run's folder has it


def test_only_the_same_parts_twice_are_split() -> None:
    fleet, _ = grouped(0, groups=2, each=3)
    tree, asked = begun(fc.CFL(), fleet), [0]
    while tree.nodes[0].split is None and len(asked) < 20:
        asked.append(tree.nodes[0].consecutive_rounds)
        tree, _ = fc.CFL().round(tree, fleet.fleet(), at(len(asked) - 1))
    assert tree.nodes[0].split is not None
    assert asked[-1] == max(asked) == 1


def test_without_a_split_it_is_fedavg_to_the_bit(two_groups: Federation, tmp_path: Path) -> None:
    train = partial(fc.train, two_groups, net="mlp", rounds=3, participation=0.5, lr=0.1)
    cfl, fedavg = train(fc.CFL(**NEVER), out=tmp_path / "cfl"), train(fc.FedAvg(), out=tmp_path / "fedavg")
    assert cfl.result["model_hash"] == fedavg.result["model_hash"]


# -- who comes late, who is silent, who is not asked ----------------------------------------------------------------


def test_newcomers_walk_down_to_their_own_group() -> None:
    fleet, home = grouped(1, groups=4, each=10)
    late = sorted(fleet.points)[::2]
    fleet.away = set(late)
    tree = rounds(fc.CFL(), fleet, 40)
    fleet.away = set()
    placed = fc.CFL().place(tree, tuple(late), fleet.fleet(), at(41))[0]
    assert len(tree.leaves()) == 4
    assert everybody(placed).groups() == Groups.from_labels(home)


def test_who_is_silent_at_a_split_walks_down_when_it_is_heard() -> None:
    fleet, home = grouped(2, groups=2, each=5)
    fleet.silent = {"client-03"}
    tree = rounds(fc.CFL(), fleet, 20)
    assert tree.node_by_client["client-03"] == 0
    assert len(tree.leaves()) == 2
    assert set(everybody(tree).clients) == set(home)
    fleet.silent = set()
    tree, _ = fc.CFL().round(tree, fleet.fleet(), at(21))
    check_nobody_is_lost(tree, fleet)
    assert everybody(tree).groups() == Groups.from_labels(home)


def test_with_half_of_the_clients_it_compares_the_latest_updates() -> None:
    fleet, home = grouped(4, groups=3, each=6)
    method = fc.CFL()
    tree = begun(method, fleet)
    for number in range(1, 80):
        tree, _ = method.round(tree, fleet.fleet(), at(number, 0.5))
        assert all(number - update.round <= method.fresh for update in tree.latest.values())
        assert sorted(tree.node_by_client) == sorted(home)
    assert everybody(tree).groups() == Groups.from_labels(home)


def test_who_waits_walks_down_before_models_are_evaluated() -> None:
    """A tenth of the clients in a round: those who were not heard at a split do not wait until they are drawn."""
    fleet, home = grouped(4, groups=2, each=10)
    method = fc.CFL(fresh=20)
    tree = begun(method, fleet)
    for number in range(1, 60):
        before = tree
        tree, facts = method.round(tree, fleet.fleet(), at(number, 0.1))
        if facts["splits"]:
            break
    assert tree.waiting(tuple(home))
    after, _ = method.round(before, fleet.fleet(), replace(at(number, 0.1), evaluated=True))
    assert not after.waiting(tuple(home))
    check_nobody_is_lost(after, fleet)


def test_updates_are_kept_only_where_they_are_needed() -> None:
    fleet, _ = grouped(5, groups=2, each=8)
    tree = rounds(fc.CFL(cached=3), fleet, 20)
    split = tree.nodes[0].split
    assert split is not None
    assert tree.latest == {}
    assert [edge.shape[0] for edge in split.updates] == [len(clients) for clients in split.clients] == [3, 3]


def test_who_walks_down_by_gradients_is_asked_for_nothing_else() -> None:
    fleet, home = grouped(1, groups=2, each=4)
    method = fc.CFL(similarity="gradients")
    fleet.away = {"client-03"}
    tree = rounds(method, fleet, 20)
    assert len(tree.leaves()) == 2
    fleet.away = set()
    calls: list[tuple[int, list[str]]] = []
    plain = fleet.carry

    def carry(requests: Mapping[ClientId, AnyRequest]) -> Iterator[Reply]:
        calls.extend({request.now.local.batch: list(requests) for request in requests.values()}.items())
        return plain(requests)

    fleet.carry = carry  # type: ignore[method-assign]  # this one object listens
    placed = method.place(tree, ("client-03",), fleet.fleet(), at(21))[0]
    assert calls == [(10**9, ["client-03"])]
    assert everybody(placed).groups() == Groups.from_labels(home)


def test_a_cluster_whose_gradients_are_lost_still_learns() -> None:
    """Everybody trains, nobody answers the second question: the model is FedAvg's, half of the way to the mean."""
    fleet, _ = grouped(1, groups=2, each=4)
    method, plain = fc.CFL(similarity="gradients"), fleet.carry

    def carry(requests: Mapping[ClientId, AnyRequest]) -> Iterator[Reply]:
        fleet.silent = {client for client, each in requests.items() if each.now.local.batch == 10**9}
        return plain(requests)

    fleet.carry = carry  # type: ignore[method-assign]  # this one object forgets
    tree, facts = method.round(begun(method, fleet), fleet.fleet(), at(1))
    assert facts["clusters"] == []
    wanted = STEP * np.stack(list(fleet.points.values())).mean(axis=0)
    np.testing.assert_allclose(tree.nodes[0].model, wanted, atol=1e-6)


def test_an_update_of_another_cluster_is_forgotten_on_the_way_down() -> None:
    """Who walked down and did not train there has no update that counts there."""
    fleet, _ = grouped(2, groups=2, each=5)
    method = fc.CFL()
    fleet.silent = {"client-03"}
    tree = rounds(method, fleet, 20)
    assert tree.node_by_client["client-03"] == 0
    old = Update(fleet.points["client-03"], 1, 20)
    before = replace(tree, latest={"client-03": old})
    walked = method.walk_down(before, ["client-03"], Pulling(fleet.points).fleet(), at(21))
    assert walked.node_by_client["client-03"] in walked.leaves()
    assert walked.latest == {}
