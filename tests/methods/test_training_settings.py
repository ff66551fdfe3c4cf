"""Optimisers, schedules, clipping and class weights against FedAvg in plain torch; and what methods make of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import SGD, Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, LRScheduler, StepLR

import fedclade as fc
from client.plain import plain_sgd
from fedclade.client.general import Training
from fedclade.core import LocalTraining
from fedclade.core.settings import build_settings
from fedclade.data import Federation
from fedclade.methods import METHODS
from fedclade.methods.cfl.parameter_tree import CFLState
from fedclade.testing import Interrupted, play_run
from fedclade.testing.checks import without_time
from methods.fleets import fleet_of, now
from methods.test_fedavg import SEED as FIRST_SEED
from methods.test_fedavg import drawn, examples_of, flat, participants, uneven

SEED, ROUNDS, EPOCHS, BATCH, LR = FIRST_SEED, 3, 2, 10, 0.02
SOME_WEIGHTS = (1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 0.1, 1.0, 1.0)


@dataclass(frozen=True)
class Case:
    """Settings of ours, and what they are in torch."""

    settings: Mapping[str, Any]
    optimizer: Callable[..., Optimizer] = SGD
    schedule: Callable[[Optimizer], LRScheduler] | None = None
    clip: float = 0.0
    weights: Callable[[Tensor], Tensor | None] = lambda _: None
    reason: str = ""
    """Why the general path is taken; empty: it is not."""


def given_weights(_: Tensor) -> Tensor:
    return torch.tensor(SOME_WEIGHTS)


def balanced_weights(labels: Tensor) -> Tensor:
    """scikit-learn's, of the classes that a client has."""
    there = np.unique(labels)
    weights = torch.ones(10)
    weights[there] = torch.from_numpy(compute_class_weight("balanced", classes=there, y=labels.numpy())).float()
    return weights


CASES = {
    "adam": Case({"optimizer": "adam"}, Adam, reason="optimizer adam"),
    "adam with all its settings": Case(
        {"optimizer": fc.Adam(betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1)},
        partial(Adam, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1),
        reason="optimizer adam",
    ),
    "adamw": Case({"optimizer": "adamw"}, AdamW, reason="optimizer adamw"),
    "adamw as a table": Case(
        {"optimizer": {"kind": "adamw", "betas": [0.5, 0.9], "weight_decay": 1.0}},
        partial(AdamW, betas=(0.5, 0.9), weight_decay=1.0),
        reason="optimizer adamw",
    ),
    "a decay beside adam": Case(
        {"optimizer": "adam", "weight_decay": 0.1}, partial(Adam, weight_decay=0.1), reason="optimizer adam"
    ),
    "sgd as a table": Case(
        {"optimizer": {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.01}},
        partial(SGD, momentum=0.9, weight_decay=0.01),
    ),
    "sgd as of old": Case({"momentum": 0.9, "weight_decay": 0.01}, partial(SGD, momentum=0.9, weight_decay=0.01)),
    "cosine": Case({"schedule": "cosine"}, schedule=partial(CosineAnnealingLR, T_max=ROUNDS)),
    "cosine with a floor": Case(
        {"schedule": fc.CosineSchedule(floor=0.5)}, schedule=partial(CosineAnnealingLR, T_max=ROUNDS, eta_min=LR / 2)
    ),
    "step": Case(
        {"schedule": {"kind": "step", "every": 2, "factor": 0.3}}, schedule=partial(StepLR, step_size=2, gamma=0.3)
    ),
    "clipped": Case({"clip_norm": 0.3}, clip=0.3, reason="clip_norm"),
    "clipped with a decay": Case(
        {"clip_norm": 0.3, "weight_decay": 0.5}, partial(SGD, weight_decay=0.5), clip=0.3, reason="clip_norm"
    ),
    "a bound that is never met": Case({"clip_norm": 1e6}, clip=1e6, reason="clip_norm"),
    "a weight for each class": Case({"class_weights": SOME_WEIGHTS}, weights=given_weights, reason="class_weights"),
    "weights as an array": Case(
        {"class_weights": np.array(SOME_WEIGHTS)}, weights=given_weights, reason="class_weights"
    ),
    "balanced": Case({"class_weights": "balanced"}, weights=balanced_weights, reason="class_weights"),
    "everything": Case(
        {"optimizer": "adam", "schedule": "cosine", "clip_norm": 0.3, "class_weights": "balanced"},
        Adam,
        partial(CosineAnnealingLR, T_max=ROUNDS),
        0.3,
        balanced_weights,
        "optimizer adam",
    ),
}


def first_model() -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(drawn(SEED, "first model", 0).integers(2**62)))
        return two_layers()


def two_layers() -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 10))


def train_in_torch(model: nn.Sequential, federation: Federation, client: str, number: int, case: Case) -> nn.Sequential:
    """One client's training in a round, as anybody would write it."""
    mine = two_layers()
    mine.load_state_dict(model.state_dict())
    inputs, labels = examples_of(federation, client)
    optimiser, batch = case.optimizer(mine.parameters(), lr=LR), int(case.settings.get("batch", BATCH))
    scheduler = None if case.schedule is None else case.schedule(optimiser)
    for _ in range(1, number if scheduler is not None else 1):
        optimiser.step()  # without gradients: nothing moves
        assert scheduler is not None
        scheduler.step()
    order = drawn(SEED, number, "batches", client)
    for _ in range(EPOCHS):
        for chosen in np.array_split(order.permutation(len(labels)), range(batch, len(labels), batch)):
            optimiser.zero_grad()
            loss = cross_entropy(mine(inputs[chosen]), labels[chosen], weight=case.weights(labels))
            loss.backward()  # type: ignore[no-untyped-call]  # torch's
            if case.clip:
                nn.utils.clip_grad_norm_(mine.parameters(), case.clip)
            optimiser.step()
    return mine


@pytest.mark.parametrize("name", CASES)
def test_three_rounds_are_those_of_plain_torch(name: str, tmp_path: Path) -> None:
    case, federation, model = CASES[name], uneven(), first_model()
    for number in range(1, ROUNDS + 1):
        chosen = participants(federation, number)
        trained = {client: train_in_torch(model, federation, client, number, case) for client in chosen}
        counts = {client: len(federation[client].train) for client in chosen}
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parts = [counts[client] * dict(trained[client].named_parameters())[key].double() for client in chosen]
                parameter.copy_(torch.stack(parts).sum(dim=0) / sum(counts.values()))
    plan: Any = {"rounds": ROUNDS, "epochs": EPOCHS, "batch": BATCH, "lr": LR, "seed": SEED, "participation": 0.5}
    run = fc.train(federation, fc.FedAvg(), net=two_layers, out=tmp_path / "run", **{**plan, **case.settings})
    for client in federation.clients:
        assert np.abs(flat(run.model_for(client)) - flat(model)).max() < 1e-6
    assert np.abs(flat(model) - flat(first_model())).max() > 1e-3
    assert run.result["path_reason"] == case.reason
    if case.reason:
        assert run.result["path"] == "general"


def test_sgd_is_the_same_however_it_is_written(two_groups: Federation, tmp_path: Path) -> None:
    """On the fast path, to the bit; a schedule that changes nothing is none."""
    ways: list[dict[str, Any]] = [
        {"momentum": 0.5, "weight_decay": 0.01},
        {"optimizer": "sgd", "momentum": 0.5, "weight_decay": 0.01},
        {"optimizer": fc.SGD(momentum=0.5, weight_decay=0.01)},
        {"optimizer": {"momentum": 0.5, "weight_decay": 0.01}, "schedule": "constant"},
        {"optimizer": fc.SGD(weight_decay=0.01), "momentum": 0.5, "schedule": {"kind": "step", "every": 2}},
    ]
    runs = [
        fc.train(two_groups, fc.FedAvg(), rounds=2, workers=0, out=tmp_path / str(number), **way)
        for number, way in enumerate(ways)
    ]
    assert len({str(run.result["model_hash"]) for run in runs}) == 1
    assert runs[0].result["path"] != "general"
    assert runs[0].result["path_reason"] == ""


OURS = sorted(name for name, known in METHODS.items() if known.made.__module__.startswith("fedclade."))
EVERYTHING = build_settings(
    LocalTraining,
    {"batch": 24, "lr": 0.02, "optimizer": "adam", "schedule": "cosine", "clip_norm": 0.5, "class_weights": "balanced"},
    where="local",
)


@pytest.mark.parametrize("name", OURS)
def test_every_method_resumes_to_the_same_bytes_with_any_worker(
    name: str, two_groups: Federation, tmp_path: Path
) -> None:
    """The optimiser starts anew in each round and the schedule counts rounds: nothing has to be kept."""
    method = METHODS[name].made()
    whole, _ = play_run(method, two_groups, tmp_path / "whole", local=EVERYTHING)
    for after in (1, 3):
        with pytest.raises(Interrupted):
            play_run(method, two_groups, tmp_path / str(after), local=EVERYTHING, stop_after=after)
        resumed, _ = play_run(method, two_groups, tmp_path / str(after), local=EVERYTHING, workers=2)
        assert without_time(resumed) == without_time(whole)


def test_fine_tuning_takes_the_step_size_that_was_asked_for(two_groups: Federation) -> None:
    """At the end of a cosine there is none left for it."""
    late = replace(now(3, evaluated=True), local=replace(now(3).local, lr=0.1 / 64), lr_scale=1 / 64)
    method = fc.FineTuned(epochs=2)
    with fleet_of(two_groups) as (fleet, net, first):
        state = method.round(method.start(fleet, first, late)[0], fleet, late)[0]
        longer = replace(late, local=replace(late.local, lr=0.1, epochs=2))
        for client in two_groups.clients:
            asked = Training(state.common.model, two_groups[client].train, longer, client)
            np.testing.assert_allclose(method.assignment(state).row_of(client), plain_sgd(net, asked)[0], atol=1e-5)


@pytest.mark.parametrize("similarity", ["updates", "gradients"])
def test_cfl_reads_how_far_clients_are_from_rest_and_not_how_small_steps_are(
    similarity: Any, two_groups: Federation
) -> None:
    """One step on all examples is lr times the gradient: with any step size, the norms are those of the first."""
    method, norms = fc.CFL(similarity=similarity), list[float]()
    with fleet_of(two_groups) as (fleet, _, first):
        for scale in (1.0, 0.25, 2**-10):
            at = replace(now(1), local=replace(now(1).local, batch=10**6, lr=0.1 * scale), lr_scale=scale)
            state = CFLState.one_cluster(first(0), fleet.clients())
            clusters = method.round(state, fleet, at)[1]["clusters"]
            norms.append(clusters[0]["largest_norm"])  # type: ignore[index, call-overload, arg-type]  # facts are of any form
    assert norms == pytest.approx([norms[0]] * 3, rel=1e-2)  # float32 keeps few digits of a small update


def test_ditto_follows_the_schedule(two_groups: Federation) -> None:
    at = replace(now(2), local=replace(now(2).local, lr=0.025), lr_scale=0.25)
    with fleet_of(two_groups) as (fleet, net, first):
        state = fc.Ditto(lam=0.5).round(fc.Ditto(lam=0.5).start(fleet, first, at)[0], fleet, at)[0]
        for client in two_groups.clients:
            asked = Training(first(0), two_groups[client].train, replace(at, proximal=0.5), client)
            np.testing.assert_allclose(state.own.row_of(client), plain_sgd(net, asked)[0], atol=1e-5)


def test_what_an_optimiser_changes_for_a_method(two_groups: Federation, tmp_path: Path) -> None:
    """IFCA's gradients are gradients; a pull as hard as any does not throw Adam's steps away."""
    with pytest.raises(fc.FedcladeError, match=r'gradients are averaged as they are, local\.optimizer: got "adam"'):
        fc.train(two_groups, fc.IFCA(averaging="gradients"), optimizer="adam", out=tmp_path / "ifca")
    with pytest.raises(fc.FedcladeError, match="pulled further away"):
        fc.train(two_groups, fc.Ditto(lam=500.0), lr=0.01, out=tmp_path / "sgd")
    run = fc.train(two_groups, fc.Ditto(lam=500.0), lr=0.01, optimizer="adam", rounds=2, out=tmp_path / "adam")
    assert np.isfinite(run.folder.models().rows).all()
