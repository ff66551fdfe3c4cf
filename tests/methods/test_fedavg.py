"""FedAvg, FedProx and Local against an independent reference in plain torch, and the mixing step by hand."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import fedclade as fc
from fedclade.api import Settings
from fedclade.core import Assignment
from fedclade.data import Federation
from fedclade.fleet import Fleet, Means
from fedclade.methods import AnyMethod
from fedclade.methods.mixing import stale_rows
from methods.fleets import fleet_of, now

SEED, ROUNDS, EPOCHS, BATCH, LR = 5, 3, 2, 10, 0.1


def drawn(*key: int | str) -> np.random.Generator:
    """The documented generator of a key: BLAKE2b-128 of its JSON seeds numpy's default generator."""
    digest = hashlib.blake2b(json.dumps(key).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))


def sgd(
    model: torch.nn.Linear, inputs: torch.Tensor, labels: torch.Tensor, number: int, client: str
) -> torch.nn.Linear:
    """Local training as anybody would write it."""
    mine = torch.nn.Linear(64, 10)
    mine.load_state_dict(model.state_dict())
    optimiser = torch.optim.SGD(mine.parameters(), lr=LR)
    order = drawn(SEED, number, "batches", client)
    for _ in range(EPOCHS):
        for chosen in np.array_split(order.permutation(len(labels)), range(BATCH, len(labels), BATCH)):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(mine(inputs[chosen]), labels[chosen]).backward()  # type: ignore[no-untyped-call]  # torch's
            optimiser.step()
    return mine


def first_model() -> torch.nn.Linear:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(drawn(SEED, "first model", 0).integers(2**62)))
        return torch.nn.Linear(64, 10)


def examples_of(federation: Federation, client: str) -> tuple[torch.Tensor, torch.Tensor]:
    held = federation[client].train
    return torch.from_numpy(held.inputs).flatten(1), torch.from_numpy(held.labels)


def participants(federation: Federation, number: int) -> list[str]:
    names = sorted(federation.clients)
    picked = drawn(SEED, number, "participation", "").choice(len(names), size=len(names) // 2, replace=False)
    return [names[position] for position in sorted(picked)]


def plan(participation: float = 0.5, rounds: int = ROUNDS) -> Settings:
    return Settings(rounds=rounds, epochs=EPOCHS, batch=BATCH, lr=LR, seed=SEED, participation=participation)


def flat(model: torch.nn.Module) -> NDArray[np.float32]:
    row: NDArray[np.float32] = torch.cat([tensor.detach().reshape(-1) for tensor in model.parameters()]).numpy()
    return row


def uneven() -> Federation:
    """Four clients of real digits with 20, 45, 70 and 130 examples: weights matter."""
    pool = fc.data.build(source="digits", world="iid", clients=2)["client-00"].train
    cuts = np.split(np.arange(265), np.cumsum([20, 45, 70]))
    return fc.data.from_arrays({f"site-{len(cut)}": (pool.inputs[cut], pool.labels[cut]) for cut in cuts})


def test_fedavg_equals_plain_torch(tmp_path: Path) -> None:
    federation = uneven()
    model = first_model()
    for number in range(1, ROUNDS + 1):
        chosen = participants(federation, number)
        trained = {client: sgd(model, *examples_of(federation, client), number, client) for client in chosen}
        counts = {client: len(federation[client].train) for client in chosen}
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parts = [counts[client] * dict(trained[client].named_parameters())[name] for client in chosen]
                parameter.copy_(torch.stack(parts).sum(dim=0) / sum(counts.values()))
    run = fc.train(federation, fc.FedAvg(), net="logistic", out=tmp_path / "run", **plan())
    for client in federation.clients:
        assert np.abs(flat(run.model_for(client)) - flat(model)).max() < 1e-6


def test_local_equals_plain_torch(tmp_path: Path) -> None:
    federation = uneven()
    models = dict.fromkeys(federation.clients, first_model())
    for number in range(1, ROUNDS + 1):
        for client in participants(federation, number):
            models[client] = sgd(models[client], *examples_of(federation, client), number, client)
    run = fc.train(federation, fc.Local(), net="logistic", out=tmp_path / "run", **plan())
    for client, model in models.items():
        assert np.abs(flat(run.model_for(client)) - flat(model)).max() < 1e-6


def test_fedprox_without_a_pull_is_fedavg_to_the_bit(two_groups: Federation, tmp_path: Path) -> None:
    def hashed(method: fc.FedAvg | fc.FedProx, name: str) -> object:
        return fc.train(two_groups, method, net="mlp", out=tmp_path / name, **plan()).result["model_hash"]

    usual = hashed(fc.FedAvg(), "fedavg")
    assert hashed(fc.FedProx(mu=0.0), "no-pull") == usual
    assert hashed(fc.FedProx(mu=1.0), "pull") != usual


def test_fedprox_holds_clients_back(two_groups: Federation, tmp_path: Path) -> None:
    """The harder the pull, the nearer the model stays to where it began."""
    start = flat(first_model())
    moved = []
    for mu in (0.0, 1.0, 5.0):
        run = fc.train(two_groups, fc.FedProx(mu=mu), net="logistic", out=tmp_path / f"mu{mu}", **plan())
        moved.append(float(np.linalg.norm(flat(run.model_for("client-00")) - start)))
    assert moved[0] > moved[1] > moved[2] > 0


MODELS = Assignment(np.array([[0.0, 8.0], [5.0, 5.0]], np.float32), {"a": 0, "b": 0, "c": 0, "d": 1})
EXAMPLES = {"a": 1, "b": 2, "c": 5, "d": 9}
HEARD = Means(np.array([[4.0, 0.0], [5.0, 5.0]], np.float32), np.array([3, 0]), ("a", "b"), 0.0)


def test_stale_models_weigh_in_with_their_examples() -> None:
    """a and b (3 examples) were heard with mean (4, 0); c (5 examples) still has (0, 8): (3 (4,0) + 5 (0,8)) / 8."""
    assert stale_rows(MODELS, HEARD, lambda _: EXAMPLES).tolist() == [[1.5, 5.0], [5.0, 5.0]]
    assert MODELS.rows.tolist() == [[0.0, 8.0], [5.0, 5.0]]


def trained(federation: Federation, method: fc.FedAvg, out: Path, settings: Settings) -> NDArray[np.float32]:
    return flat(fc.train(federation, method, net="logistic", out=out, **settings).model_for("client-00"))


def test_with_everybody_there_stale_changes_nothing(two_groups: Federation, tmp_path: Path) -> None:
    usual = trained(two_groups, fc.FedAvg(), tmp_path / "usual", plan(participation=1.0))
    stale = trained(two_groups, fc.FedAvg(absent="stale"), tmp_path / "stale", plan(participation=1.0))
    assert np.abs(usual - stale).max() < 1e-6


def test_stale_damps_a_round(two_groups: Federation, tmp_path: Path) -> None:
    """One round moves the model by the participants' share of all examples only."""
    start = flat(first_model())
    usual = trained(two_groups, fc.FedAvg(), tmp_path / "usual", plan(rounds=1))
    stale = trained(two_groups, fc.FedAvg(absent="stale"), tmp_path / "stale", plan(rounds=1))
    sizes = {client: len(two_groups[client].train) for client in two_groups.clients}
    share = sum(sizes[client] for client in participants(two_groups, 1)) / sum(sizes.values())
    np.testing.assert_allclose(stale - start, share * (usual - start), rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", [fc.FedAvg(absent="stale"), fc.PCAKMeansHC(components=32, absent="stale")])
def test_who_has_left_is_not_asked_for(
    method: AnyMethod, two_groups: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fleet of real sites knows nothing of one that is gone."""
    with fleet_of(two_groups) as (fleet, _, first):
        state = method.start(fleet, first, now(0))[0]
        there = fleet.clients()[1:]
        asked: list[tuple[str, ...]] = []
        examples = fleet.examples

        def watched(_: Fleet, clients: tuple[str, ...]) -> dict[str, int]:
            asked.append(tuple(clients))
            return dict(examples(clients))

        monkeypatch.setattr(Fleet, "clients", lambda _: there)
        monkeypatch.setattr(Fleet, "examples", watched)
        method.round(state, fleet, now(1, 0.5))
    assert asked == [there]


def test_absent_is_checked() -> None:
    with pytest.raises(fc.FedcladeError, match="absent is not usable"):
        fc.FedAvg(absent="old")  # type: ignore[arg-type]  # what is tested
