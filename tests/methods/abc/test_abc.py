"""ABC and selection: check-ins, who is chosen, what it costs; alone and inside other methods' groups."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fedclade as fc
from fedclade.api import Settings
from fedclade.core import Assignment, Groups, InputError, LocalTraining, Round
from fedclade.data import Federation, build
from fedclade.fleet import Updates
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods.abc.selection import Selection, SelectionState, participants
from fedclade.nets import net_for
from fedclade.runs.compare import plan_runs
from fedclade.runs.experiment import experiment_from
from fedclade.store.events import RoundEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import Interrupted, play_run

NOW = Round(1, 3, 0.5, LocalTraining(batch=24, lr=0.4))


@pytest.fixture(scope="module")
def halves() -> Federation:
    """Eight clients; one half has mostly the lower digits, the other the upper."""
    return build(source="digits", world="dominant", clients=8, mix="2C-1", examples=120)


def rounds_of(path: Path) -> list[RoundEvent]:
    return list(RunFolder.open(path).events(RoundEvent))


@pytest.mark.parametrize("score", ["groups", "pca"])
def test_every_round_sees_both_halves(halves: Federation, tmp_path: Path, score: str) -> None:
    method = fc.ABC(score=score, check_in=6)  # type: ignore[arg-type]  # one of them
    run = fc.train(halves, method, net="logistic", rounds=12, participation=0.25, lr=0.1, out=tmp_path / "run")
    truth = halves.truth
    assert truth is not None
    events = rounds_of(run.path)
    for event in events:
        seen = [truth.labels[client] for client in event.facts["chosen"]]
        assert sorted(seen) == [0, 1]
    assert [event.round for event in events if "check_in" in event.facts] == [1, 7]
    used = events[6].facts["used"]
    assert sum(used.values()) == 6 * 2
    assert set(used) == set(halves.clients)


@pytest.mark.parametrize("receivers", ["all", "picked"])
def test_a_check_in_averages_the_picked(halves: Federation, receivers: str) -> None:
    """Algorithm 1, line 12: everybody sends its model once; the new one is the mean of the four that are picked."""
    net = net_for("logistic", halves.shape, halves.classes)
    method = fc.ABC(check_in=1, receivers=receivers)  # type: ignore[arg-type]  # one of two
    with simulated_fleet(halves, net, workers=0) as fleet:
        before = method.start(fleet, lambda _: net.initial_row(0), replace(NOW, number=0))[0]
        after, facts = method.round(before, fleet, NOW)
        everybody = fleet.train(Assignment.of_one(net.initial_row(0), fleet.clients()), NOW)
        again, later = method.round(after, fleet, replace(NOW, number=2))
    assert facts["asked"] == facts["heard"] == later["heard"] == 8
    picked = [everybody.clients.index(client) for client in facts["chosen"]]  # type: ignore[union-attr]  # a list
    assert len(picked) == len(later["chosen"]) == 4  # type: ignore[arg-type]  # a list
    wanted = np.average(everybody.rows[picked].astype(float), axis=0, weights=everybody.examples[picked])
    np.testing.assert_allclose(after.common.model, wanted, atol=1e-6)
    assert sorted(after.selection.used.values()) == [0] * 4 + [1] * 4
    if after.own is not None:  # only the picked have it; the others go on with their own, and train again
        for number, client in enumerate(everybody.clients):
            kept = after.common.model if number in picked else everybody.rows[number]
            assert after.own.row_of(client).tobytes() == kept.tobytes()
        assert again.own is not None
        assert len(again.own.rows) == 8
    assert (after.selection.group_by_client, after.selection.scores) == (facts["drift_groups"], facts["scores"])


def test_at_random_is_not_the_least_used(halves: Federation, tmp_path: Path) -> None:
    """To compare with: FedAvg's own draw, word for word; and `balanced`, with which nobody is two rounds ahead."""
    settings = Settings(rounds=20, participation=0.25, lr=0.1, evaluate_every=20)
    by_chance = fc.train(halves, fc.ABC(score="random"), net="logistic", out=tmp_path / "random", **settings)
    usual = fc.train(halves, fc.FedAvg(), net="logistic", out=tmp_path / "fedavg", **settings)
    assert by_chance.result["model_hash"] == usual.result["model_hash"]
    fc.train(halves, fc.ABC(score="balanced"), net="logistic", out=tmp_path / "balanced", **settings)
    used = Counter(client for event in rounds_of(tmp_path / "balanced") for client in event.facts["chosen"])
    assert set(used.values()) == {5}


def test_check_ins_are_billed(halves: Federation, tmp_path: Path) -> None:
    """Eight uploads in a check-in, two in another round; where a method trains by itself they come on top."""
    settings = Settings(rounds=3, participation=0.25, lr=0.1, evaluate_every=3)
    model = 4 * net_for("logistic", halves.shape, halves.classes).size + 16
    own = fc.train(halves, fc.ABC(check_in=2), net="logistic", out=tmp_path / "own", **settings)
    assert [(event.bytes_up or 0) // model for event in rounds_of(own.path)] == [8, 2, 8]
    settings["selection"] = "groups"
    beside = fc.train(halves, fc.FedAvg(), net="logistic", out=tmp_path / "beside", **settings)
    assert [(event.bytes_up or 0) // model for event in rounds_of(beside.path)] == [10, 2, 2]
    assert beside.result["bytes_up"] == 14 * model


def check_in(
    state: SelectionState, clients: Sequence[str], drifts: NDArray[np.float64], number: int, loss: float = 0.0
) -> SelectionState:
    starts = Assignment.of_one(np.zeros(drifts.shape[1], np.float32), clients)
    updates = Updates(tuple(clients), drifts.astype(np.float32), np.full(len(drifts), 5), np.full(len(drifts), loss))
    return state.after_check_in(None, starts, updates, replace(NOW, number=number))


def test_without_clear_groups_what_was_known_holds() -> None:
    """Late drifts may point anywhere: groups of an earlier check-in are kept; new ones replace them."""
    rng = np.random.default_rng(0)
    clients = tuple(f"c{number}" for number in range(8))
    two = np.repeat(rng.normal(size=(2, 300)), 4, axis=0) + 0.1 * rng.normal(size=(8, 300))

    known = check_in(SelectionState().with_clients(clients), clients, two, 1)
    assert Groups.from_labels(known.group_by_client) == Groups((clients[:4], clients[4:]))
    later = check_in(known, clients, rng.normal(size=(8, 300)), 51)
    assert (later.group_by_client, later.last_check_in) == (known.group_by_client, 51)
    others = check_in(later, clients, two[[0, 4, 1, 5, 2, 6, 3, 7]], 101)
    assert Groups.from_labels(others.group_by_client) == Groups((clients[::2], clients[1::2]))


def test_who_was_silent_once_changes_no_groups() -> None:
    """Neither those of the others nor, when it is heard again, its own; a newcomer joins those whose way it goes."""
    rng = np.random.default_rng(1)
    clients = tuple(f"c{number}" for number in range(9))
    two = np.repeat(rng.normal(size=(2, 300)), [4, 5], axis=0) + 0.1 * rng.normal(size=(9, 300))

    known = check_in(SelectionState().with_clients(clients), clients[:8], two[:8], 1)
    assert Groups.from_labels(known.group_by_client) == Groups((clients[:4], clients[4:8]))
    noise = two + 30 * rng.normal(size=(9, 300))
    heard = [0, 1, 2, 4, 5, 6]
    silent = check_in(known, [clients[each] for each in heard], noise[heard], 51)
    assert silent.group_by_client == known.group_by_client
    noise[8] = two[8]
    again = check_in(silent, clients, noise, 101)
    assert {client: again.group_by_client[client] for client in clients[:8]} == known.group_by_client
    assert again.group_by_client["c8"] in known.group_by_client.values()


def test_newcomers_make_nobody_wait() -> None:
    state = SelectionState({"a": 5, "b": 7, "gone": 1}).with_clients(("a", "b", "new"))
    assert state.used == {"a": 5, "b": 7, "gone": 1, "new": 5}
    assert state.with_clients(("a", "b", "gone")).used["gone"] == 5  # a client that was away does not go first for long


def test_who_was_not_heard_is_in_the_middle() -> None:
    models = Assignment.of_one(np.zeros(1, np.float32), "abc")
    scored = SelectionState(dict.fromkeys("abc", 0), scores={"a": 0.0, "b": 4.0}, last_check_in=1)
    assert participants("pca", scored, models, replace(NOW, participation=0.4)) == ("c",)
    grouped = SelectionState({"a": 1, "b": 1, "c": 0}, group_by_client={"a": 0, "b": 0}, last_check_in=1)
    two = participants("groups", grouped, models, replace(NOW, participation=0.7))
    assert len(two) == 2
    assert "c" in two  # a group of its own, and least used


@pytest.mark.parametrize("method", [fc.FedAvg(), fc.Ditto(), fc.FineTuned(), fc.FedProx()])
@pytest.mark.parametrize("selection", ["groups", "pca"])
def test_other_methods_see_both_halves_too(halves: Federation, tmp_path: Path, method: Any, selection: str) -> None:
    """Also those whose clients use models of their own: what they learn together is what is compared."""
    few = Settings(rounds=9, participation=0.25, lr=0.1, evaluate_every=2, selection=selection, check_in=4)
    run = fc.train(halves, method, net="logistic", out=tmp_path / "run", **few)
    truth = halves.truth
    assert truth is not None
    for event in rounds_of(run.path):
        assert sorted(truth.labels[client] for client in event.facts["chosen"]) == [0, 1]


@pytest.mark.parametrize("method", [fc.FLT(), fc.CFL(), fc.IFCA(), fc.FLT(case="graph"), fc.Local()])
@pytest.mark.parametrize("selection", ["balanced", "cosine"])
def test_everybody_takes_part_in_turn(halves: Federation, tmp_path: Path, method: Any, selection: str) -> None:
    few = Settings(rounds=8, participation=0.25, lr=0.1, selection=selection)
    run = fc.train(halves, method, net="logistic", out=tmp_path / "run", **few)
    events = rounds_of(run.path)
    times = Counter(client for event in events for client in event.facts["chosen"])
    assert sum(times.values()) == 16
    assert max(times.values()) - min(times.get(client, 0) for client in halves.clients) <= 3
    alone = isinstance(method, fc.Local)  # after the first round nobody shares a model with anybody
    assert [event.round for event in events if "check_in" in event.facts] == ([1] if selection == "cosine" else [])
    assert not alone or (events[1].bytes_up or 0) < (events[0].bytes_up or 0) or selection == "balanced"


def test_inside_groups_every_model_has_its_share() -> None:
    """Three clients with one model and nine with another: a quarter and three quarters of the turns."""
    rows = {f"c{number:02}": 0 if number < 3 else 1 for number in range(12)}
    models, state = Assignment(np.zeros((2, 1), np.float32), rows), SelectionState(dict.fromkeys(rows, 0))
    for number in range(12):
        chosen = participants("balanced", state, models, replace(NOW, number=number, participation=0.34))
        assert sum(client < "c03" for client in chosen) == 1
        state = state.after_participation(chosen)
    assert set(state.used.values()) == {4}


@pytest.mark.parametrize(
    ("method", "selection"),
    [
        (fc.ABC(check_in=2), Selection()),
        (fc.ABC(check_in="change"), Selection()),
        (fc.FedAvg(), Selection(selection="pca", check_in=2)),
        (fc.FedAvg(), Selection(selection="pca", check_in="change")),
    ],
)
def test_a_kill_changes_nothing(halves: Federation, tmp_path: Path, method: Any, selection: Selection) -> None:
    whole, _ = play_run(method, halves, tmp_path / "whole", rounds=5, selection=selection)
    with pytest.raises(Interrupted):
        play_run(method, halves, tmp_path / "cut", rounds=5, stop_after=3, selection=selection)
    cut, _ = play_run(method, halves, tmp_path / "cut", rounds=5, selection=selection)
    assert cut["model_hash"] == whole["model_hash"]
    facts = [[event.facts for event in rounds_of(tmp_path / name)] for name in ("whole", "cut")]
    assert json.dumps(facts[0]) == json.dumps(facts[1])


def test_a_selection_stands_beside_the_settings_of_a_method() -> None:
    data = {"source": "digits", "world": "iid", "clients": 4}
    asked = experiment_from({"data": data, "method": {"name": "flt", "selection": "pca", "check_in": 9}})
    assert (asked.selection, asked.method) == (Selection(selection="pca", check_in=9), fc.FLT())
    assert 'selection = "pca"' in asked.toml()
    assert "network" not in asked.toml()
    others = plan_runs(asked, ["flt:selection=balanced", "flt:selection=random", "flt:check_in=7"], 1, Path("out"))
    wanted = [Selection(selection="balanced"), Selection(), Selection(selection="pca", check_in=7)]
    assert [plan.selection for plan in others.values()] == wanted
    plain = experiment_from({"data": data, "method": {"name": "abc", "check_in": 9}})
    assert plain.method == fc.ABC(check_in=9)
    assert "selection" not in plain.toml()
    for method, named in (
        ({"name": "abc", "selection": "pca"}, "chooses itself"),
        ({"name": "fedavg", "check_in": 9}, "no check-in"),
        ({"name": "fedavg", "selection": "balanced", "check_in": 9}, "no check-in"),
        ({"name": "fedavg", "selection": "best"}, "selection"),
        ({"name": "fedavg", "selection": "pca", "network": "x.safetensors"}, "the network does nothing"),
    ):
        with pytest.raises(InputError, match=named):
            experiment_from({"data": data, "method": method})


def test_a_check_in_follows_a_jump_of_the_loss() -> None:
    """Played losses, whose logarithms go up and down by 0.1: ten changes have mean 0 and variance 10 x 0.01 / 9.

    Six standard deviations are 6 x 0.1054 = 0.632 over the last one.
    """

    def due_at(state: SelectionState, number: int) -> bool:
        return state.is_check_in_due("change", Round(number, 0))

    clients = ("a", "b", "c", "d")
    assert due_at(SelectionState().with_clients(clients), 1)
    drifts = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    state = check_in(SelectionState().with_clients(clients), clients, drifts, 1, loss=1.0)
    for number in range(9):
        state = state.after_loss(float(np.exp(0.1 * (number % 2 == 0))))
    assert not due_at(state.after_loss(100.0), 1000)  # nine changes are too few to say what is usual
    state = state.after_loss(1.0).after_loss(float("nan")).after_loss(-1.0)  # of which the last two say nothing
    assert not due_at(state.after_loss(float(np.exp(0.63))), 1000)
    state = state.after_loss(float(np.exp(0.64)))
    assert [due_at(state, number) for number in (5, 6, 7)] == [False, True, True]
    assert due_at(state.after_loss(0.1), 7)  # that it fell again does not undo what was seen
    after = check_in(state, clients, drifts, 7, loss=1.0)
    assert not due_at(after.after_loss(9.0), 1000)  # what is usual is learnt anew
    joined = after.with_clients((*clients, "e"))
    assert [due_at(joined, number) for number in (11, 12)] == [False, True]
    assert not due_at(after.with_clients(clients[:2]).with_clients(clients), 1000)  # back again is not new


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, [1]),
        ({"newcomers": {"rounds": (8,), "share": 0.3}}, [1, 8]),
        ({"drift": {"round": 16, "share": 0.5, "kind": "rotate"}}, [1, 17]),
    ],
    ids=["nothing", "newcomers", "drift"],
)
def test_check_ins_when_the_world_changes(
    changes: dict[str, Any], wanted: list[int], tmp_path: Path, beside: bool
) -> None:
    """Newcomers are there from round 8; data change in 16, whose losses tell it, so that all are asked in 17."""
    world = fc.data.build(source="digits", world="dominant", clients=20, examples=60, seed=1, **changes)
    how = Settings(rounds=20, participation=0.5, lr=0.1, seed=1, workers=0, evaluate_every=20)
    if beside:
        chosen = Settings(**how, selection="groups", check_in="change")
        run = fc.train(world, fc.FedAvg(), net="logistic", out=tmp_path / "run", **chosen)
    else:
        run = fc.train(world, fc.ABC(check_in="change"), net="logistic", out=tmp_path / "run", **how)
    assert [event.round for event in rounds_of(run.path) if event.facts.get("check_in")] == wanted


@pytest.mark.parametrize("beside", [True, False])
def test_attention_needs_a_network_that_fits(halves: Federation, tmp_path: Path, beside: bool) -> None:
    """Said before there is a folder; of the shipped kind nothing need be said."""

    def trained(score: str, network: str) -> fc.Run:
        if beside:
            few = Settings(rounds=2, participation=0.25, selection=score, network=network)
            return fc.train(halves, fc.FedAvg(), net="logistic", out=tmp_path / "run", **few)
        method = fc.ABC(score=score, network=network)  # type: ignore[arg-type]  # one of them
        return fc.train(halves, method, net="logistic", out=tmp_path / "run", rounds=2, participation=0.25)

    with pytest.raises(
        InputError, match=r"does not fit the net.*15010 numbers \(net \"mlp\", source \"digits\"\)"
    ) as caught:
        trained("attention", "")
    assert "fedclade attention train SOURCE --net logistic" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="attention network is not usable"):
        trained("attention", str(tmp_path / "none.safetensors"))
    with pytest.raises(InputError, match="the network does nothing"):
        trained("pca", "attention+")
    assert not (tmp_path / "run").exists()
    events = rounds_of(trained("attention+", "").path)
    scores = events[0].facts["scores"]
    assert np.mean(list(scores.values())) == pytest.approx(1)
    truth = halves.truth
    assert truth is not None
    sides = {client: score > 1 for client, score in scores.items()}
    assert len({(truth.labels[client], side) for client, side in sides.items()}) == 2


def test_the_papers_attention_runs_at_once_with_the_default_net(tmp_path: Path) -> None:
    """No file is named. A client's score is its share of all attention: 1 on average, and not the same for all."""
    digits = fc.data.build(source="digits", world="dominant", clients=6, examples=60, seed=3)
    run = fc.train(digits, fc.ABC(score="attention"), out=tmp_path / "run", rounds=2, participation=0.5, workers=0)
    first, second = rounds_of(run.path)
    scores = list(first.facts["scores"].values())
    assert np.mean(scores) == pytest.approx(1)
    assert len(set(scores)) == 6
    assert (len(first.facts["chosen"]), len(second.facts["chosen"])) == (3, 3)
    assert run.result["rounds"] == 2
    by = fc.train(
        digits, fc.FedAvg(), out=tmp_path / "by", rounds=2, participation=0.5, selection="attention", workers=0
    )
    assert rounds_of(by.path)[0].facts["scores"] == first.facts["scores"]
