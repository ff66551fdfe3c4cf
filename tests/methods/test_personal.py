"""FedAvg with fine-tuning, Ditto and FedProx with stragglers, against FedAvg, Local and plain SGD."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedclade as fc
from client.plain import plain_sgd
from fedclade.api import Settings
from fedclade.client.general import Training
from fedclade.core import InputError
from fedclade.data import Federation
from fedclade.methods import method_named
from fedclade.testing import play_run
from methods.fleets import fleet_of, now


@pytest.mark.parametrize("stragglers", [0.5, 1.0])
def test_the_inexact_work_of_stragglers_counts(stragglers: float, two_groups: Federation) -> None:
    """The mean, by examples, of what plain SGD with the pull gives after as many epochs as each client was left."""
    method = fc.FedProx(mu=1.0, stragglers=stragglers)
    long = replace(now(1), local=replace(now(1).local, epochs=5), proximal=1.0)
    with fleet_of(two_groups) as (fleet, net, first):
        work = method.draw_work(fleet.clients(), long)
        after, facts = method.round(method.start(fleet, first, long)[0], fleet, long)
        asked = [Training(first(0), two_groups[each].train, replace(long, local=work[each]), each) for each in work]
        rows = [plain_sgd(net, each)[0] for each in asked]
    epochs = [local.epochs for local in work.values()]
    assert epochs.count(5) >= (1 - stragglers) * len(epochs)
    assert len(set(epochs)) > 1
    np.testing.assert_allclose(
        after.model, np.average(rows, axis=0, weights=[len(each.part) for each in asked]), atol=1e-5
    )
    assert facts["heard"] == len(work)


def test_fine_tuning_starts_from_fedavgs_model(two_groups: Federation) -> None:
    method = fc.FineTuned(epochs=3)
    with fleet_of(two_groups) as (fleet, net, first):
        common, tuned = fc.FedAvg().start(fleet, first, now(0))[0], method.start(fleet, first, now(0))[0]
        for number in (1, 2, 3):
            evaluated = number == 2
            common, _ = fc.FedAvg().round(common, fleet, now(number, 0.5))
            tuned, _ = method.round(tuned, fleet, now(number, 0.5, evaluated=evaluated))
            assert tuned.common.model.tobytes() == common.model.tobytes()  # which fine-tuning never touches
            models = method.assignment(tuned)
            longer = replace(now(number), local=replace(now(number).local, epochs=3))
            for client in two_groups.clients:  # also those who did not take part
                asked = Training(common.model, two_groups[client].train, longer, client)
                wanted = plain_sgd(net, asked)[0] if evaluated else common.model
                np.testing.assert_allclose(models.row_of(client), wanted, atol=1e-5)


def test_with_steps_from_epochs_whole_epochs_are_tuned_and_nobody_lags(two_groups: Federation, tmp_path: Path) -> None:
    parts = Settings(rounds=2, evaluate_every=1, workers=0, steps=2, steps_from="epochs")
    run = fc.train(two_groups, fc.FineTuned(epochs=2), net="logistic", out=tmp_path / "tuned", **parts)
    assert run.result["rounds"] == 2
    by_gradients = fc.IFCA(clusters=2, averaging="gradients")  # one batch of all examples, whatever the steps
    assert fc.train(two_groups, by_gradients, net="logistic", out=tmp_path / "ifca", **parts).result["rounds"] == 2
    with pytest.raises(InputError, match=r"local\.steps_from: got \"epochs\", and stragglers, need \"draws\""):
        fc.train(two_groups, fc.FedProx(stragglers=0.5), net="logistic", out=tmp_path / "late", **parts)


def test_ditto_by_hand(two_groups: Federation) -> None:
    """v trains from v with a pull to the w that was sent, and w is FedAvg's."""
    method = fc.Ditto(lam=0.5)
    with fleet_of(two_groups) as (fleet, net, first):
        common, both = fc.FedAvg().start(fleet, first, now(0))[0], method.start(fleet, first, now(0))[0]
        for number in (1, 2, 3):
            wanted = {client: both.own.row_of(client) for client in two_groups.clients}
            how = replace(now(number), proximal=0.5)
            for client in now(number, 0.5).sample(two_groups.clients):
                asked = Training(wanted[client], two_groups[client].train, how, client, both.common)
                wanted[client] = plain_sgd(net, asked)[0]
            common, _ = fc.FedAvg().round(common, fleet, now(number, 0.5))
            both, _ = method.round(both, fleet, now(number, 0.5))
            assert both.common.tobytes() == common.model.tobytes()
            for client, row in wanted.items():
                np.testing.assert_allclose(both.own.row_of(client), row, atol=1e-5)


def test_ditto_without_a_pull_is_local(two_groups: Federation, tmp_path: Path) -> None:
    _, ours = play_run(fc.Ditto(lam=0.0), two_groups, tmp_path / "ditto")
    _, alone = play_run(fc.Local(), two_groups, tmp_path / "local")
    for client in two_groups.clients:
        assert ours.row_of(client).tobytes() == alone.row_of(client).tobytes()


def test_a_harder_pull_holds_models_nearer(two_groups: Federation) -> None:
    apart = []
    with fleet_of(two_groups) as (fleet, _, first):
        for lam in (0.0, 0.3, 3.0):
            method = fc.Ditto(lam=lam)
            state = method.start(fleet, first, now(0))[0]
            for number in (1, 2, 3, 4):
                state, _ = method.round(state, fleet, now(number))
            apart.append(float(np.linalg.norm(state.own.rows - state.common, axis=1).mean()))
    assert apart == sorted(apart, reverse=True)


@pytest.mark.parametrize("method", [fc.FineTuned(), fc.Ditto()])
def test_personal_models_beat_one_for_all_where_groups_disagree(
    method: fc.FineTuned | fc.Ditto, two_groups: Federation, tmp_path: Path
) -> None:
    mine, _ = play_run(method, two_groups, tmp_path / "own", rounds=6, participation=1.0)
    common, _ = play_run(fc.FedAvg(), two_groups, tmp_path / "common", rounds=6, participation=1.0)
    assert mine["accuracy"] > common["accuracy"] + 0.1  # type: ignore[operator]  # numbers


@pytest.mark.parametrize("momentum", [0.0, 0.5])
@pytest.mark.parametrize("setting", ["lam", "mu"])
def test_a_pull_that_drives_models_apart_is_refused(
    setting: str, momentum: float, two_groups: Federation, tmp_path: Path
) -> None:
    """lr = 0.1: what is left of a way is multiplied by 1 - 0.1 pull, which is -1 at 20; with momentum 0.5 at 30."""
    limit = 20 * (1 + momentum)
    for share in (0.99, 1.01):  # steps along the pull alone
        way, velocity = 1.0, 0.0
        for _ in range(2000):
            velocity = momentum * velocity + share * limit * way
            way -= 0.1 * velocity
        assert (abs(way) < 1) == (share < 1)
    plan: Settings = {"rounds": 1, "lr": 0.1, "momentum": momentum, "workers": 0}
    method = {"lam": "ditto", "mu": "fedprox"}[setting]
    below, at_limit = (method_named(method, {setting: pull}) for pull in (0.9 * limit, limit))
    fc.train(two_groups, below, net="logistic", out=tmp_path / "below", **plan)
    with pytest.raises(InputError, match=rf"method\.{setting}: got {limit:g} with local\.lr 0\.1"):
        fc.train(two_groups, at_limit, net="logistic", out=tmp_path / "at", **plan)
    assert not (tmp_path / "at").exists()
