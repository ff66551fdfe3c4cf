"""CFL on real digits: gradients, facts, the models of a path, resuming in the middle of a tree."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.api import Settings
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.nets import net_for
from fedclade.nouns import Assignment, LocalTraining, Round
from fedclade.testing import Interrupted, play_run
from methods.pulling import Pulling
from methods.splitting import ALWAYS


def test_a_gradient_is_that_of_all_examples(two_groups: Federation) -> None:
    """Against torch's own: minus the gradient of the mean loss over everything that a client has."""
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    first = net.first(0)
    sent = Assignment.of_one(first, two_groups.clients)
    with simulated_fleet(two_groups, net, workers=0) as fleet:
        now = Round(1, 0, 1.0, LocalTraining(epochs=2, batch=5, lr=0.3, momentum=0.9))
        method = fc.CFL(similarity="gradients")
        found = method.directions(sent, fleet, now)
    for client in two_groups.clients[:2]:
        module = net.module(first)
        part = two_groups[client].train
        outputs = module(torch.from_numpy(part.inputs))
        torch.nn.functional.cross_entropy(outputs, torch.from_numpy(part.labels)).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        wanted = torch.cat([-each.grad.reshape(-1) for each in module.parameters() if each.grad is not None])
        np.testing.assert_allclose(found[client].row, wanted.numpy(), atol=1e-5)


def test_a_gradient_is_that_of_the_whole_net(two_groups: Federation) -> None:
    """No unit is dropped, though the net drops half of them in training: torch's own gradient, as when it is used."""
    net = net_for("mlp", two_groups.shape, two_groups.classes)
    first = net.first(0)
    client = two_groups.clients[0]
    with simulated_fleet(two_groups, net, workers=0) as fleet:
        sent = Assignment.of_one(first, (client,))
        found = fc.CFL(similarity="gradients").directions(sent, fleet, Round(1, 0))[client].row
    module = net.module(first).eval()
    part = two_groups[client].train
    outputs = module(torch.from_numpy(part.inputs))
    torch.nn.functional.cross_entropy(outputs, torch.from_numpy(part.labels)).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    wanted = torch.cat([-each.grad.reshape(-1) for each in module.parameters() if each.grad is not None])
    np.testing.assert_allclose(found, wanted.numpy(), atol=1e-6)


SPLITTING: Settings = {"rounds": 8, "participation": 1.0, "epochs": 2, "batch": 24, "lr": 0.4, "workers": 0}


def facts_of(run: fc.Run) -> list[dict[str, Any]]:
    """What the method told of each round."""
    return [json.loads(json.dumps(event["facts"])) for event in run.folder.events() if event["event"] == "round"]


def test_gradients_find_the_groups_too(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.CFL(similarity="gradients"), net="logistic", out=tmp_path / "run", **SPLITTING)
    assert run.groups == two_groups.truth


def test_resumes_in_the_middle_of_a_tree(two_groups: Federation, tmp_path: Path) -> None:
    """Six clients, split in every round until each is alone, with half of them asked: cut after every round."""
    method = fc.CFL(**ALWAYS, validation=0.2, trial=1)
    whole, models = play_run(method, two_groups, tmp_path / "whole", rounds=5)
    assert len(models.groups()) > 1
    for after in (1, 2, 3, 4):
        with pytest.raises(Interrupted):
            play_run(method, two_groups, tmp_path / f"cut-{after}", rounds=5, stop_after=after)
        resumed, _ = play_run(method, two_groups, tmp_path / f"cut-{after}", rounds=5)
        assert resumed["model_hash"] == whole["model_hash"]
        assert (tmp_path / f"cut-{after}" / "checkpoint" / "round-00005" / "state.safetensors").read_bytes() == (
            tmp_path / "whole" / "checkpoint" / "round-00005" / "state.safetensors"
        ).read_bytes()


def test_facts_of_a_round_and_of_a_split(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.CFL(), net="logistic", out=tmp_path / "run", **SPLITTING)
    told = facts_of(run)
    for facts in told:
        assert len(facts["clusters"]) == len(facts["separation_gaps"])
    (split,) = [split for facts in told for split in facts["splits"]]
    assert two_groups.truth is not None
    assert tuple(tuple(part) for part in split["parts"]) == two_groups.truth.members
    assert set(split) == {"node", "children", "parts", "cross"}
    (round_,) = [facts for facts in told if facts["splits"]]
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
    told = facts_of(run)
    assert [facts["separation_gaps"] for facts in told] == [[None]]


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
