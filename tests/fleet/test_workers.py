"""Worker processes: same bits for any number of them, bugs are bugs, the dead are noticed, nothing is left behind."""

import os
import random
import signal
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from fedclade.client import Client, path_name_for
from fedclade.client.threads import one_thread
from fedclade.core import Assignment, Round, Rows, Stopped
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.simulated import Simulation, simulated_fleet
from fedclade.fleet.workers import SharedMemory, Worker, WorkerFailed, Workers
from fedclade.nets import Net, net_for
from fedclade.wire import Request
from fedclade.wire.verbs import TRAIN, TrainFields

NOW = Round(number=1, seed=0)


def workers_of(fleet: Fleet) -> list[Worker]:
    assert isinstance(fleet.transport, Simulation)
    return fleet.transport._workers._workers


def rows_by_workers(federation: Federation, net: Net, workers: Sequence[int]) -> list[Rows]:
    """The models of all clients after a round, with each of these numbers of workers."""
    rows = []
    for count in workers:
        with simulated_fleet(federation, net, workers=count) as fleet:
            rows.append(fleet.train(Assignment.of_one(net.initial_row(0), federation.clients), NOW).rows)
    return rows


@pytest.mark.parametrize("net", ["mlp", "lenet", "logistic"])
def test_bits_do_not_depend_on_the_number_of_workers(net: str, alike: Federation) -> None:
    made = net_for(net, alike.shape, alike.classes)
    rows = rows_by_workers(alike, made, (0, 1, 2, 3))
    assert not np.array_equal(rows[0], np.stack([made.initial_row(0)] * 6))
    assert all(np.array_equal(rows[0], other) for other in rows[1:])


def test_a_fleet_closes_at_once_beside_a_younger_one(alike: Federation) -> None:
    """Workers inherit what the server has open; the pipes of an older fleet would keep that one's workers waiting."""
    made = net_for("logistic", alike.shape, alike.classes)
    older, younger = (simulated_fleet(alike, made, workers=2) for _ in range(2))
    processes = [worker.process for worker in workers_of(older)]
    older.close()
    assert [process.exitcode for process in processes] == [0, 0]  # they left, and were not terminated
    younger.close()
    with pytest.raises(Stopped, match="the fleet is closed"):
        older.train(Assignment.of_one(made.initial_row(0), alike.clients), NOW)


@pytest.mark.parametrize("net", ["mlp", "logistic"])
def test_nor_on_who_is_trained_at_once(net: str, alike: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a kernel clients train in groups, and which groups there are depends on the number of workers."""
    monkeypatch.setattr("fedclade.client.plan.library", lambda: None)
    made = net_for(net, alike.shape, alike.classes)
    assert path_name_for(made) == "batched"
    rows = rows_by_workers(alike, made, (0, 1, 2))
    assert all(np.array_equal(rows[0], other) for other in rows[1:])
    alone, first = Client(made), made.initial_row(0)[None]
    for client, row in zip(alike.clients, rows[0], strict=True):
        with one_thread():
            own = alone.answer(Request(TRAIN, client, NOW, first, TrainFields()), alike[client]).arrays["row"]
        assert np.array_equal(own, row)


def test_each_client_gets_the_model_that_is_meant_for_it(alike: Federation) -> None:
    """Several requests in one message, several models among them, and others in the next call."""
    made = net_for("logistic", alike.shape, alike.classes)
    clients = [f"client-{number:02}" for number in range(60)]
    many = Federation("many", {client: alike[alike.clients[number % 6]] for number, client in enumerate(clients)}, 10)
    scores = []
    for workers in (0, 1, 2):
        with simulated_fleet(many, made, workers=workers) as fleet:
            for shift in (0, 3):
                rows = np.stack([made.initial_row(number + shift) for number in range(7)])
                models = Assignment(rows, {client: number % 7 for number, client in enumerate(clients)})
                scores.append(fleet.evaluate(models, NOW).losses.tolist())
    assert scores[0::2] == [scores[0]] * 3
    assert scores[1::2] == [scores[1]] * 3
    assert scores[0] != scores[1]
    for number in (0, 8, 59):
        test = alike[alike.clients[number % 6]].test
        logits = made.module(made.initial_row(number % 7))(torch.from_numpy(test.inputs))
        by_hand = nn.functional.cross_entropy(logits, torch.from_numpy(test.labels))
        assert scores[0][number] == pytest.approx(by_hand.item(), abs=1e-6)


def test_there_are_no_more_workers_than_processors(alike: Federation) -> None:
    made = net_for("logistic", alike.shape, alike.classes)
    with simulated_fleet(alike, made, workers=200) as fleet:
        assert len(workers_of(fleet)) <= len(os.sched_getaffinity(0))


def test_workers_do_as_well_after_torch_was_used_with_threads(alike: Federation) -> None:
    """Workers are forked from a process whose torch may have threads already."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        weights = torch.randn(600, 600, requires_grad=True)
        (weights @ weights).sum().backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        made = net_for("lenet", alike.shape, alike.classes)
        with simulated_fleet(alike, made, workers=2) as fleet:
            assert len(fleet.train_mean(Assignment.of_one(made.initial_row(0), alike.clients), NOW).heard) == 6
    finally:
        torch.set_num_threads(before)


def test_an_own_function_can_make_the_net(alike: Federation) -> None:
    width = 7  # a closure: nothing that could be pickled
    made = net_for(lambda: nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.Linear(width, 10)), alike.shape, 10)
    with simulated_fleet(alike, made, workers=2) as fleet:
        scores = fleet.evaluate(Assignment.of_one(made.initial_row(0), alike.clients), NOW)
    assert scores.clients == alike.clients


def test_a_bug_in_a_client_stops_the_run(alike: Federation) -> None:
    """In a simulation nothing fails but the code: an exception is never taken for a silent client."""
    made = net_for(lambda: nn.Sequential(nn.Flatten(), nn.Linear(3, 10)), alike.shape, 10)
    first = Assignment.of_one(made.initial_row(0), alike.clients)
    with simulated_fleet(alike, made, workers=1) as fleet, pytest.raises(WorkerFailed, match="be multiplied") as caught:
        fleet.train_mean(first, NOW)
    assert "Traceback" in caught.value.__notes__[0]
    with simulated_fleet(alike, made, workers=0) as fleet, pytest.raises(RuntimeError, match="cannot be multiplied"):
        fleet.train_mean(first, NOW)


def test_a_dead_worker_is_noticed(alike: Federation) -> None:
    made = net_for("logistic", alike.shape, alike.classes)
    with simulated_fleet(alike, made, workers=2) as fleet:
        os.kill(workers_of(fleet)[1].process.pid or 0, signal.SIGKILL)
        with pytest.raises(Stopped, match=r"a worker process died.*exit code -9"):
            fleet.train_mean(Assignment.of_one(made.initial_row(0), alike.clients), NOW)


def test_workers_leave_when_they_are_closed(alike: Federation) -> None:
    made = net_for("logistic", alike.shape, alike.classes)
    fleet = simulated_fleet(alike, made, workers=2)
    pids = [worker.process.pid for worker in workers_of(fleet)]
    open_before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    fleet.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid or 0, 0)
    if open_before:
        assert len(os.listdir("/proc/self/fd")) < open_before


def test_shared_memory_grows_and_keeps_what_it_is_given() -> None:
    shared = SharedMemory()
    small = {"a": np.arange(3, dtype=np.int64), "b": np.array(0.5)}
    rows = np.random.default_rng(0).random((300, 1000)).astype(np.float32)
    large = {"rows": rows, "none": np.zeros((0, 4), np.float32)}
    for arrays in (small, large, small):
        found = {name: array.copy() for name, array in shared.view(shared.write(arrays)).items()}
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array)
    shared.close()


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_answers_that_nobody_waited_for_are_not_taken_for_others(workers: int, alike: Federation) -> None:
    """A call that is given up after two replies, as at a deadline, leaves nothing behind for the next one."""
    made = net_for("logistic", alike.shape, alike.classes)
    first, second = (Assignment.of_one(made.initial_row(number), alike.clients) for number in (0, 1))
    with simulated_fleet(alike, made, workers=0) as fleet:
        wanted = fleet.train_mean(second, NOW)
    cut = True
    lossy = partial(simulated_fleet, wire=lambda replies: islice(replies, 2) if cut else replies)
    with lossy(alike, made, workers=workers) as fleet:
        assert len(fleet.train_mean(first, NOW).heard) == 2
        cut = False
        found = fleet.train_mean(second, NOW)
    assert found.heard == alike.clients
    assert fleet.ledger.refused == []
    assert np.array_equal(found.rows, wanted.rows)


@pytest.mark.parametrize("draws", [np.random.random, random.random])
def test_modules_that_draw_from_other_generators_are_seeded_too(draws: Callable[[], float], alike: Federation) -> None:
    class Noisy(nn.Linear):
        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            return super().forward(inputs.flatten(1)) + 0.1 * draws()

    one, two = rows_by_workers(alike, net_for(lambda: Noisy(64, 10), alike.shape, 10), (0, 2))
    assert np.array_equal(one, two)


def test_a_worker_has_one_request_in_hand_and_one_in_store(alike: Federation) -> None:
    """Whatever the number of clients, no more models than that stand in shared memory; near the end, none in store."""
    made = net_for("logistic", alike.shape, alike.classes)
    rows = {client: made.initial_row(number)[None] for number, client in enumerate(alike.clients)}
    asks = [Request(TRAIN, client, NOW, row, TrainFields()) for client, row in rows.items()]
    workers = Workers(partial(Client(made).answer_all, held=alike.data_at), 2)
    under_way = []
    for answered, _ in enumerate(workers.ask(asks), 1):
        under_way.append(sum(len(worker.pending_slots) for worker in workers._workers))
        assert under_way[-1] <= min(4, len(asks) - answered)
    assert max(under_way) >= 3
    assert under_way[-1] == 0
    workers.close()
