"""Blind and plain runs: the same tree and models, and nothing in the clear on the server's side."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

import fedclade as fc
from fedclade.api import Settings, make_experiment
from fedclade.core import Assignment, LocalTraining, Round
from fedclade.data import Federation
from fedclade.fleet.simulated import simulated_fleet
from fedclade.methods import AnyMethod
from fedclade.nets import net_for
from fedclade.runs.loop import RunProgress
from fedclade.runs.run import start
from fedclade.store.events import RoundEvent
from fedclade.wire import Reply

PLAN: Settings = {"rounds": 8, "participation": 1.0, "epochs": 2, "batch": 24, "lr": 0.4, "workers": 0}
CANARY = "a canary that sings 4711"


@pytest.fixture(autouse=True)
def shared_by_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDCLADE_SECRET", CANARY)


def trained(data: Federation, out: Path, blind: bool, method: AnyMethod | None = None, net: str = "mlp") -> fc.Run:
    plan: Settings = {**PLAN, "blind": blind}
    return fc.train(data, method or fc.CFL(), net=net, out=out, **plan)


def splits(run: fc.Run) -> list[tuple[int, object]]:
    return [(event.round, split["parts"]) for event in run.folder.events(RoundEvent) for split in event.facts["splits"]]


def test_the_result_is_the_plain_one(two_groups: Federation, tmp_path: Path) -> None:
    plain, blind = (trained(two_groups, tmp_path / str(how), how) for how in (False, True))
    assert splits(plain) == splits(blind) != []
    assert plain.groups == blind.groups == two_groups.truth
    assert plain.accuracy == blind.accuracy
    for client in two_groups.clients:
        models = zip(plain.path_for(client), blind.path_for(client), strict=True)
        for one, other in (*models, (plain.model_for(client), blind.model_for(client))):
            for mine, its in zip(one.parameters(), other.parameters(), strict=True):
                assert torch.allclose(mine, its, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_no_update_in_the_clear_reaches_the_server(two_groups: Federation, tmp_path: Path) -> None:
    """Pieces of what a client learned, four numbers long, are all over a plain run's folder, and in no blind one's."""
    plain, blind = (trained(two_groups, tmp_path / str(how), how) for how in (False, True))
    first = blind.net.initial_row(0)
    for model in (model for client in two_groups.clients for model in plain.path_for(client)):
        row = torch.cat([each.detach().reshape(-1) for each in model.parameters()]).numpy()
        for form in (row, row - first):  # as a model, and as how far it has moved
            pieces = [form[start : start + 4].astype(np.float32).tobytes() for start in range(1000, 12000, 500)]
            pieces = [piece for piece in pieces if any(piece)]
            if form is row:
                assert any(piece in whole(plain.path) for piece in pieces)
            assert not any(piece in whole(blind.path) for piece in pieces)
    assert CANARY.encode() not in whole(blind.path)


def whole(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_what_a_client_sends_is_blind(two_groups: Federation) -> None:
    """The replies on the wire: no number of the update is where it was, and its norm is as it was."""
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    seen: dict[bool, list[np.ndarray]] = {False: [], True: []}
    for blind in (False, True):

        def listening(replies: Iterator[Reply], blind: bool = blind) -> Iterable[Reply]:
            for reply in replies:
                seen[blind].append(np.asarray(reply.arrays["row"], np.float32))
                yield reply

        start = np.zeros(net.size, np.float32) if blind else net.initial_row(0)
        with simulated_fleet(two_groups, net, workers=0, wire=listening) as fleet:
            now = Round(1, 0, 1.0, LocalTraining(lr=0.4, blind=blind))
            fleet.train(Assignment.of_one(start, two_groups.clients), now)
    for plain, hidden in zip(seen[False], seen[True], strict=True):
        moved = plain - net.initial_row(0)
        assert np.linalg.norm(hidden) == pytest.approx(np.linalg.norm(moved), rel=1e-5)
        assert np.mean(np.isclose(hidden, moved, atol=1e-7) & (moved != 0)) < 0.01
        assert np.allclose(np.sort(abs(hidden)), np.sort(abs(moved)), atol=1e-7)


def test_a_blind_run_needs_a_secret_before_it_starts(
    two_groups: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FEDCLADE_SECRET")
    with pytest.raises(fc.FedcladeError, match="clients have no common secret"):
        trained(two_groups, tmp_path / "run", True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("method", "seen"),
    [
        (fc.IFCA(), "ifca: it must see several first models"),
        (fc.IFCA(start_from="fedavg"), "ifca: it must see the size of each weight"),
        (fc.IFCA(clusters=1, restarts=1, shared=1), "ifca: it must see layers"),
        (fc.FedSEM(distance="last"), "fedsem: it must see layers"),
    ],
)
def test_what_needs_to_see_models_is_refused_before_it_starts(
    method: fc.IFCA | fc.FedSEM, seen: str, two_groups: Federation, tmp_path: Path
) -> None:
    """In the secret order the numbers of a layer are anywhere: these would train something else without a word."""
    with pytest.raises(fc.FedcladeError, match=f"this method cannot be blind, local.blind: .*{seen}"):
        trained(two_groups, tmp_path / "run", True, method, "logistic")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("method", [fc.FedAvg(), fc.Ditto(lam=0.5), fc.FedSEM(), fc.CFL(validation=0.2, trial=2)])
def test_other_methods_are_the_plain_ones_too(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    plain, blind = (trained(two_groups, tmp_path / str(how), how, method, "logistic") for how in (False, True))
    assert plain.groups == blind.groups
    for client in two_groups.clients:
        pairs = zip(plain.model_for(client).parameters(), blind.model_for(client).parameters(), strict=True)
        assert all(torch.allclose(mine, its, atol=1e-5, rtol=0) for mine, its in pairs)


@pytest.mark.slow
def test_a_blind_run_resumes_byte_for_byte(two_groups: Federation, tmp_path: Path) -> None:
    """Cut after the first split, which is in round 6."""
    whole_run = trained(two_groups, tmp_path / "whole", True)

    class Cut(Exception):
        """The plug is pulled."""

    def pulled(now: RunProgress) -> None:
        if now.round == 6:
            raise Cut

    experiment = make_experiment(two_groups, fc.CFL(), "mlp", None, {**PLAN, "blind": True})
    with pytest.raises(Cut):
        start(experiment, out=tmp_path / "cut", federation=two_groups, progress=pulled)
    resumed = fc.resume(tmp_path / "cut", federation=two_groups)
    assert resumed.result["model_hash"] == whole_run.result["model_hash"]
    state = "checkpoint/round-00008/state.safetensors"
    assert (tmp_path / "cut" / state).read_bytes() == (tmp_path / "whole" / state).read_bytes()


def test_flower_carries_blind_models_and_validation_shares(two_groups: Federation) -> None:
    """What comes back over a loopback is to the bit what the simulated fleet's clients send."""
    pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")
    from conformance.loopback import loopback

    net = net_for("logistic", two_groups.shape, two_groups.classes)
    now = Round(1, 0, 1.0, LocalTraining(lr=0.4, blind=True), validation=0.25)
    sent = Assignment.of_one(np.zeros(net.size, np.float32), two_groups.clients)
    found = []
    for engine in (simulated_fleet(two_groups, net, workers=0), loopback(two_groups, "logistic")(net)):
        with engine as fleet:
            fleet = fleet.begin(1)
            trained_now = fleet.train(sent, now)
            found.append((trained_now, fleet.losses(two_groups.clients, trained_now.rows[:2], now)))
    (here, losses), (there, others) = found
    assert here.clients == there.clients == two_groups.clients
    assert np.array_equal(here.rows, there.rows)
    assert np.array_equal(losses.table, others.table)
    wanted = [round(0.25 * len(two_groups[client].train)) for client in two_groups.clients]
    assert losses.examples.tolist() == others.examples.tolist() == wanted


def test_workers_change_nothing(two_groups: Federation, tmp_path: Path) -> None:
    found = []
    for workers in (0, 2):
        plan: Settings = {**PLAN, "rounds": 2, "workers": workers, "blind": True}
        run = fc.train(two_groups, fc.FedAvg(), net="mlp", out=tmp_path / str(workers), **plan)
        found.append(run.result["model_hash"])
    assert found[0] == found[1]
