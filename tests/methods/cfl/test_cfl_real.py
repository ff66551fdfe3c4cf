"""CFL on real digits: gradients, facts, the models of a path, resuming in the middle of a tree."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.api import Settings
from fedclade.core import Assignment, LocalTraining, Round
from fedclade.core.training import SGD
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.store.events import EventFacts, RoundEvent
from fedclade.testing import Interrupted, play_run
from methods.cfl.splitting import ALWAYS
from methods.pulling import Pulling


@pytest.mark.parametrize("name", ["logistic", "mlp"])
def test_a_gradient_is_that_of_all_examples_and_of_the_whole_net(name: str, two_groups: Federation) -> None:
    """Torch's own: minus the gradient of the mean loss over all that a client has; `mlp` drops no unit, as in use."""
    net = net_for(name, two_groups.shape, two_groups.classes)
    first, clients = net.initial_row(0), two_groups.clients[:2]
    with simulated_fleet(two_groups, net, workers=0) as fleet:
        now = Round(1, 0, 1.0, LocalTraining(epochs=2, batch=5, lr=0.3, optimizer=SGD(momentum=0.9)))
        found = fc.CFL(similarity="gradients").directions(Assignment.of_one(first, clients), fleet, now)
    for client in clients:
        module, part = net.module(first).eval(), two_groups[client].train
        outputs = module(torch.from_numpy(part.inputs))
        torch.nn.functional.cross_entropy(outputs, torch.from_numpy(part.labels)).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        wanted = torch.cat([-each.grad.reshape(-1) for each in module.parameters() if each.grad is not None])
        np.testing.assert_allclose(found[client].row, wanted.numpy(), atol=1e-5)


SPLITTING: Settings = {"rounds": 8, "participation": 1.0, "epochs": 2, "batch": 24, "lr": 0.4, "workers": 0}


def facts_of(run: fc.Run) -> list[EventFacts]:
    """What the method reported of each round."""
    return [event.facts for event in run.folder.events(RoundEvent)]


def test_gradients_find_the_groups_too(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.CFL(similarity="gradients"), net="logistic", out=tmp_path / "run", **SPLITTING)
    assert run.groups == two_groups.truth


def test_resumes_in_the_middle_of_a_tree(two_groups: Federation, tmp_path: Path) -> None:
    """Six clients, split in every round until each is alone, with half of them asked: cut after every round."""
    method, state = fc.CFL(**ALWAYS, validation=0.2, trial=1), Path("checkpoint", "round-00005", "state.safetensors")
    whole, models = play_run(method, two_groups, tmp_path / "whole", rounds=5)
    assert len(models.groups()) > 1
    for after in (1, 2, 3, 4):
        cut = tmp_path / f"cut-{after}"
        with pytest.raises(Interrupted):
            play_run(method, two_groups, cut, rounds=5, stop_after=after)
        resumed, _ = play_run(method, two_groups, cut, rounds=5)
        assert resumed["model_hash"] == whole["model_hash"]
        assert (cut / state).read_bytes() == (tmp_path / "whole" / state).read_bytes()


def test_facts_of_a_round_and_of_a_split(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.CFL(), net="logistic", out=tmp_path / "run", **SPLITTING)
    all_facts = facts_of(run)
    for facts in all_facts:
        assert len(facts["clusters"]) == len(facts["separation_gaps"])
    (split,) = [split for facts in all_facts for split in facts["splits"]]
    assert two_groups.truth is not None
    assert tuple(tuple(part) for part in split["parts"]) == two_groups.truth.members
    assert set(split) == {"node", "children", "parts", "cross"}
    (round_,) = [facts for facts in all_facts if facts["splits"]]
    assert round_["separation_gaps"][0] > 0  # the parts are the planted groups: nobody of one is like the other


def test_a_split_of_a_thousand_clients_takes_kilobytes() -> None:
    """By hand: a thousand names of 14 bytes with quotes and comma; all similarities would be a million numbers."""
    clients = [f"client-{number:03d}" for number in range(1000)]
    rows = np.random.default_rng(0).normal(size=(1000, 4)).astype(np.float32)
    pulling = Pulling(dict(zip(clients, rows, strict=True)))
    method = fc.CFL(rule="absolute", eps1=100.0, eps2=0.0)
    tree, _ = method.start(pulling.fleet(), lambda _: np.zeros(4, np.float32), Round(0, 0))
    _, facts = method.round(tree, pulling.fleet(), Round(1, 0))
    assert str(facts["splits"]).count("'node'") == 1
    assert len(json.dumps(facts)) < 20_000


def test_no_gap_is_told_without_a_truth(two_groups: Federation, tmp_path: Path) -> None:
    blind = replace(two_groups, truth=None)
    run = fc.train(blind, fc.CFL(), net="logistic", out=tmp_path / "run", rounds=1, participation=1.0, workers=0)
    assert [facts["separation_gaps"] for facts in facts_of(run)] == [[None]]


def test_every_client_has_the_models_of_its_path_and_their_ensemble(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.CFL(), net="logistic", out=tmp_path / "run", **SPLITTING)
    general, special = run.path_for("client-00")
    other = run.path_for("client-01")
    some = torch.from_numpy(two_groups["client-00"].test.inputs)
    with torch.no_grad():
        assert torch.equal(general(some), other[0](some))
        assert torch.equal(special(some), run.model_for("client-00")(some))
        assert not torch.equal(special(some), other[1](some))
        wanted = (torch.softmax(general(some), 1) + torch.softmax(special(some), 1)) / 2
        assert torch.allclose(run.ensemble_for("client-00")(some).exp(), wanted, atol=1e-6)
    plain = fc.train(two_groups, fc.FedAvg(), net="logistic", out=tmp_path / "one", rounds=1, workers=0)
    with pytest.raises(fc.FedcladeError, match='there is no client "nobody"'):
        run.path_for("nobody")
    with pytest.raises(fc.FedcladeError, match="there is no tree of models"):
        plain.path_for("client-00")
