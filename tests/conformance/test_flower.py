"""Every registered method over Flower's own messages and ClientApp: the same models as in this process, to the bit."""

import json
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

from conformance.loopback import FIRST_NODE, Loopback, Mangle, Tamper, grid_of, held, loopback
from fedclade.core import Assignment, FedcladeError, LocalTraining, Round, Stopped
from fedclade.core.training import SGD, Adam, CosineSchedule, StepSchedule
from fedclade.data import ClientData, Federation
from fedclade.fleet import Fleet, Scores, build
from fedclade.fleet.flower import grid as flower_grid
from fedclade.fleet.flower.apps import client_app
from fedclade.fleet.flower.grid import Deadlines, FlowerTransport
from fedclade.fleet.flower.messages import RAW, header_in, pack_message
from fedclade.fleet.simulated import simulated_fleet
from fedclade.fleet.site import ModelSpec, SiteClient
from fedclade.methods import METHODS, AnyMethod, FedAvg
from fedclade.nets import net_for
from fedclade.runs.early_stopping import EarlyStopping
from fedclade.store.events import RefusedReply, TrafficEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import drop_replies, play_run
from fedclade.testing.checks import without_time
from fedclade.testing.toys import ToyTask
from fedclade.testing.toys import two_groups as two_groups_of

LIAR = "client-02"


@dataclass
class Clock:
    """The server's clock, which goes on only while the server waits: no test depends on how busy this machine is."""

    now: float = 0.0

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(flower_grid, "monotonic", lambda: made.now)
    monkeypatch.setattr(flower_grid, "sleep", made.wait)
    return made


@pytest.fixture
def grid(two_groups: Federation) -> Loopback:
    return grid_of(two_groups)


@pytest.fixture(params=sorted(METHODS))
def method(request: pytest.FixtureRequest) -> AnyMethod:
    return METHODS[request.param].made()


def node_of(grid: Loopback, client: str) -> int:
    return next(node for node, name in grid.registered.items() if name == client)


def refusals(path: Path) -> list[RefusedReply]:
    return [each for event in RunFolder.open(path).events(TrafficEvent) for each in event.refused]


def test_agrees_with_the_simulated_fleet(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    """Replies arrive last first, and nodes are numbered in another order than clients."""
    here, _ = play_run(method, two_groups, tmp_path / "here")
    there, _ = play_run(method, two_groups, tmp_path / "there", fleet=loopback(two_groups, "logistic"))
    assert without_time(there) == without_time(here)


def test_tries_the_same_step_sizes(two_groups: Federation, tmp_path: Path) -> None:
    here, _ = play_run(FedAvg(), two_groups, tmp_path / "here", lr_values=(0.01, 0.4))
    fleet = loopback(two_groups, "logistic")
    there, _ = play_run(FedAvg(), two_groups, tmp_path / "there", fleet=fleet, lr_values=(0.01, 0.4))
    assert without_time(there) == without_time(here)
    assert there["lr_search"]["lr"] == 0.4  # type: ignore[index]  # a table


def test_keeps_the_same_best_round(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    stop = EarlyStopping(share=0.3, patience=2)
    here, _ = play_run(method, two_groups, tmp_path / "here", early_stopping=stop)
    fleet = loopback(two_groups, "logistic")
    there, _ = play_run(method, two_groups, tmp_path / "there", fleet=fleet, early_stopping=stop)
    assert without_time(there) == without_time(here)
    assert "bytes_up_validate" in there


@pytest.mark.parametrize("task", ["regression", "multi-label"])
def test_agrees_on_other_tasks(method: AnyMethod, task: ToyTask, tmp_path: Path) -> None:
    toy = two_groups_of(task)
    here, _ = play_run(method, toy, tmp_path / "here")
    there, _ = play_run(method, toy, tmp_path / "there", fleet=loopback(toy, "logistic"))
    assert without_time(there) == without_time(here)


@pytest.mark.parametrize("name", ["fedavg", "fedavg-ft", "ditto", "cfl", "ifca"])
def test_optimisers_schedules_and_weights_are_the_same_everywhere(
    name: str, two_groups: Federation, tmp_path: Path
) -> None:
    """All that a site must know of a round is in the round."""
    local = LocalTraining(
        batch=24,
        lr=0.02,
        optimizer=Adam(betas=(0.8, 0.9), weight_decay=0.01),
        schedule=CosineSchedule(floor=0.1),
        clip_norm=0.5,
        class_weights="balanced",
    )
    given = replace(
        local, optimizer=SGD(momentum=0.5), class_weights=tuple(range(1, 11)), schedule=StepSchedule(every=1)
    )
    for number, each in enumerate((local, given)):
        runs = [
            play_run(METHODS[name].made(), two_groups, tmp_path / f"{number} {where}", local=each, fleet=fleet)[0]
            for where, fleet in (("here", None), ("there", loopback(two_groups, "logistic")))
        ]
        assert without_time(runs[1]) == without_time(runs[0])


def test_an_epoch_over_several_rounds_is_the_same_everywhere(two_groups: Federation) -> None:
    """A client keeps nothing between rounds, wherever it is: the order of its batches is a function of the round."""
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    start = Assignment.of_one(net.initial_row(0), two_groups.clients)
    rounds = [Round(number, 5, local=LocalTraining(batch=7, steps=3, steps_from="epochs")) for number in (1, 2, 9)]

    def train(fleet: Fleet) -> list[bytes]:
        return [fleet.begin(now.number).train(start, now).rows.tobytes() for now in rounds]

    with simulated_fleet(two_groups, net, workers=0) as here:
        wanted = train(here)
    assert len(set(wanted)) == 3
    with simulated_fleet(two_groups, net, workers=2) as workers:
        assert train(workers) == wanted
    with loopback(two_groups, "logistic")(net) as there:
        assert train(there) == wanted


def test_takes_a_dead_client_for_silent(
    method: AnyMethod, two_groups: Federation, grid: Loopback, tmp_path: Path
) -> None:
    """A client that enrols and never answers again changes no bit against the simulated one that is silent."""
    grid.tamper[node_of(grid, LIAR)] = lambda reply: reply if "train" in header_in(reply.content) else None
    silent, _ = play_run(method, two_groups, tmp_path / "here", rounds=2, wire=drop_replies(LIAR))
    dead, _ = play_run(method, two_groups, tmp_path / "there", rounds=2, fleet=loopback(two_groups, "logistic", grid))
    assert dead["model_hash"] == silent["model_hash"]
    assert {(each.client, each.reason) for each in refusals(tmp_path / "there")} == {(LIAR, "no answer within 0.05 s")}


def test_places_newcomers(method: AnyMethod, two_groups: Federation, tmp_path: Path) -> None:
    fleet = loopback(two_groups, "logistic", late=("client-04",))
    _, models = play_run(method, two_groups, tmp_path / "run", fleet=fleet)
    assert set(models.clients) == set(two_groups.clients)
    assert np.isfinite(models.row_of("client-04")).all()


def changed_array(change: Callable[[Array], Array]) -> Tamper:
    """A client that sends another array than it should, wherever it sends a model or a loss."""

    def tamper(reply: Message) -> Message:
        record = reply.content.array_records["arrays"]
        for name, array in list(record.items()):
            record[name] = change(array)
        return reply

    return tamper


def raw(array: Array, *, shape: tuple[int, ...] | None = None, data: bytes | None = None) -> Array:
    """The array with another shape, or other bytes."""
    shape, data = array.shape if shape is None else shape, array.data if data is None else data
    return Array(dtype=array.dtype, shape=shape, stype=RAW, data=data)


def not_a_number(array: Array) -> Array:
    values = np.frombuffer(array.data, array.dtype).astype(array.dtype)
    return raw(array, data=np.full_like(values, np.nan).tobytes() if values.dtype.kind == "f" else array.data)


def a_pickle(array: Array) -> Array:
    return Array(dtype="|O", shape=array.shape, stype="numpy.ndarray", data=array.data)


def changed_header(text: str = "", **changes: object) -> Tamper:
    """A client whose replies, but for its enrolment, have this header, or one with these changes."""

    def tamper(reply: Message) -> Message:
        header = header_in(reply.content)
        if "train" not in header:
            reply.content["header"] = ConfigRecord({"json": text or json.dumps({**header, **changes})})
        return reply

    return tamper


def without_records(reply: Message) -> Message:
    if "train" not in header_in(reply.content):
        reply.content = RecordDict()
    return reply


def two_of_everything(reply: Message) -> Message:
    reply.content["more"] = ArrayRecord({"row": Array(np.zeros(3, np.float32))})
    return reply


LIES: dict[str, tuple[Tamper, str]] = {
    "NaN": (changed_array(not_a_number), "NaN or infinite"),
    "giant": (
        changed_array(lambda array: raw(array, shape=(10**12,), data=b"0" * 4_000_000)),
        "its message cannot be read",
    ),
    "longer": (changed_array(lambda array: raw(array, data=array.data + b"0000")), "its message cannot be read"),
    "shorter": (changed_array(lambda array: raw(array, data=array.data[:-4])), "bytes, need"),
    "pickle": (changed_array(a_pickle), "need float"),
    "shape": (changed_array(lambda array: raw(array, shape=(*array.shape, 1))), "got shape"),
    "another client's name": (changed_header(client="client-01"), "client: got 'client-01', need 'client-02'"),
    "another round": (changed_header(round=99), "round: got 99"),
    "another verb": (changed_header(verb="evaluate"), "verb: got 'evaluate'"),
    "a list for a count": (changed_header(examples=[1]), "examples: got a list"),
    "far too many examples": (changed_header(examples=10**9), "examples: got 1000000000"),
    "a deep header": (changed_header("[" * 200_000), "header: got 200000 characters"),
    "a deeper header": (changed_header("[" * 60_000), "the header is not JSON"),
    "a huge number": (changed_header('{"examples": ' + "9" * 5000 + "}"), "the header is not JSON"),
    "a list for a header": (changed_header("[]"), "no header"),
    "no records": (without_records, "no header"),
    "two records": (two_of_everything, "arrays: need"),
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_refuses_a_liar(lie: str, two_groups: Federation, grid: Loopback, tmp_path: Path) -> None:
    """It is as if the client had been silent, and the reason is in the log."""
    tamper, reason = LIES[lie]
    grid.tamper[node_of(grid, LIAR)] = tamper
    silent, _ = play_run(FedAvg(), two_groups, tmp_path / "here", rounds=2, participation=1.0, wire=drop_replies(LIAR))
    fleet = loopback(two_groups, "logistic", grid)
    lied, _ = play_run(FedAvg(), two_groups, tmp_path / "there", rounds=2, participation=1.0, fleet=fleet)
    assert lied["model_hash"] == silent["model_hash"]
    found = refusals(tmp_path / "there")
    assert {each.client for each in found} == {LIAR}
    assert sum(each.verb == "train" and reason in each.reason for each in found) == 2  # in every round


def fleet_over(grid: Loopback, federation: Federation, missing: int = 0) -> Fleet:
    """A fleet that waits for all clients, or for all but so many."""
    net = net_for("logistic", federation.shape, federation.classes)
    spec = ModelSpec({"name": "logistic"}, federation.shape, federation.task)
    short = Deadlines(0.05, 0.05, 0.05, 0.05, 0.05)
    transport = FlowerTransport(grid, spec, short, wait_for=len(federation) - missing, wait_seconds=0.2)
    return build.fleet_over(transport, net, federation.shape)


def one_model(federation: Federation) -> Assignment:
    net = net_for("logistic", federation.shape, federation.classes)
    return Assignment.of_one(net.initial_row(0, 0), federation.clients)


def test_a_name_belongs_to_its_key(two_groups: Federation, grid: Loopback) -> None:
    """A node that says another name than its key was registered with does not come in."""
    app, _ = grid.nodes[FIRST_NODE]
    grid.nodes[FIRST_NODE] = (app, {"name": "client-00"})
    mine = grid.registered[FIRST_NODE]
    fleet = fleet_over(grid, two_groups, missing=1).begin(0)
    assert fleet.clients() == tuple(client for client in two_groups.clients if client != mine)
    (refusal,) = fleet.ledger.refused
    assert (refusal.client, refusal.verb) == (mine, "enrol")  # and not under the name that it claims
    assert f"need {mine!r}" in refusal.reason


def test_without_keys_a_name_belongs_to_who_said_it_first(two_groups: Federation, grid: Loopback, clock: Clock) -> None:
    grid.registered = {}
    app, config = grid.nodes[FIRST_NODE]
    late = FIRST_NODE + 99
    fleet = fleet_over(grid, two_groups)
    assert fleet.begin(0).ledger.refused == []
    grid.nodes[late] = (app, config)
    (refusal,) = fleet.begin(1).ledger.refused
    assert refusal.reason == "client: 'client-05' is the name of another node"
    asked = len(grid.sent)
    fleet = fleet.begin(2)
    assert fleet.ledger.refused == []
    assert len(grid.sent) == asked  # not asked again at once
    assert fleet.clients() == two_groups.clients
    del grid.nodes[FIRST_NODE]  # gone: now the name is free
    fleet = fleet.begin(3)
    assert fleet.clients() == two_groups.clients[:-1]
    clock.wait(1.1)  # a node that was turned away is asked again after a second
    fleet = fleet.begin(4)
    assert fleet.clients() == two_groups.clients


def test_leaves_and_comes_back_under_the_same_name(two_groups: Federation, grid: Loopback) -> None:
    fleet = fleet_over(grid, two_groups).begin(0)
    name, node = grid.registered[FIRST_NODE], grid.nodes.pop(FIRST_NODE)
    fleet = fleet.begin(1)
    assert name not in fleet.clients()
    grid.nodes[FIRST_NODE] = node
    fleet = fleet.begin(2)
    fleet = fleet.begin(3)
    assert name in fleet.clients()


def test_says_that_too_few_came_and_why(two_groups: Federation, grid: Loopback) -> None:

    def broken(config: Mapping[str, object], run: str) -> SiteClient:
        raise FileNotFoundError(f"{config}{run}")

    grid.nodes[FIRST_NODE] = (client_app(broken), {"name": "client-05"})
    fleet = fleet_over(grid, two_groups)
    with pytest.raises(Stopped, match=r"too few clients came.*got 5 \| client-05: .*FileNotFoundError in enrol"):
        fleet = fleet.begin(0)


def test_a_lost_enrolment_is_asked_again(two_groups: Federation, grid: Loopback) -> None:
    lost: list[Message] = []
    grid.tamper[FIRST_NODE] = lambda reply: reply if lost else lost.append(reply)
    fleet = fleet_over(grid, two_groups).begin(0)
    assert fleet.clients() == two_groups.clients


def test_a_refused_enrolment_is_in_the_log_of_the_run(two_groups: Federation, grid: Loopback, tmp_path: Path) -> None:
    app, _ = grid.nodes[FIRST_NODE]
    late = FIRST_NODE + 99
    grid.nodes[late] = (app, {"name": "client-00"})
    grid.registered = {**grid.registered, late: "client-77"}
    play_run(FedAvg(), two_groups, tmp_path / "run", rounds=1, fleet=loopback(two_groups, "logistic", grid))
    assert [(each.client, each.verb) for each in refusals(tmp_path / "run")] == [("client-77", "enrol")]


@pytest.mark.parametrize("changes", [{"train": True}, {"train": 2**60}, {"test": 0}, {"client": "a\nb"}, {"client": 3}])
def test_refuses_a_false_enrolment(two_groups: Federation, grid: Loopback, changes: dict[str, object]) -> None:
    grid.registered = {}

    def tamper(reply: Message) -> Message:
        header = {**header_in(reply.content), **changes}
        reply.content["header"] = ConfigRecord({"json": json.dumps(header)})
        return reply

    grid.tamper[FIRST_NODE] = tamper
    fleet = fleet_over(grid, two_groups, missing=1).begin(0)
    assert fleet.clients() == two_groups.clients[:-1]


def test_a_simulated_client_that_fails_is_a_bug(two_groups: Federation, grid: Loopback) -> None:
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    spec = ModelSpec({"name": "lenet"}, two_groups.shape, two_groups.task)  # not the net that the rows are of
    transport = FlowerTransport(grid, spec, Deadlines(), wait_for=len(two_groups), strict=True)
    fleet = build.fleet_over(transport, net, two_groups.shape)
    fleet = fleet.begin(0)
    with pytest.raises(FedcladeError, match=r'client "client-0\d" failed'):
        fleet.evaluate(Assignment.of_one(net.initial_row(0, 0), two_groups.clients), Round(1, seed=0))


def reheaded(head: bytes, body: bytes) -> bytes:
    """An object with another body, and its length."""
    kind, children, _ = head.split(b" ")
    return b" ".join([kind, children, str(len(body)).encode()]) + b"\x00" + body


def no_shape(kind: str, head: bytes, body: bytes) -> bytes | None:
    return reheaded(head, json.dumps({**json.loads(body), "shape": None}).encode()) if kind == "Array" else None


def not_json(kind: str, head: bytes, _: bytes) -> bytes | None:
    return reheaded(head, b"{") if kind == "Array" else None


def another_kind(kind: str, _: bytes, __: bytes) -> bytes | None:
    return b"ConfigRecord  0\x00" if kind == "RecordDict" else None


def one_chunk_many_times(kind: str, head: bytes, body: bytes) -> bytes | None:
    """A megabyte that asks for half a gigabyte."""
    if kind != "Array":
        return None
    form = json.loads(body)
    return reheaded(head, json.dumps({**form, "arraychunk_ids": form["arraychunk_ids"] * 200_000}).encode())


@pytest.mark.parametrize("mangle", [no_shape, not_json, another_kind, one_chunk_many_times])
def test_what_flower_cannot_read_is_a_missing_reply(two_groups: Federation, grid: Loopback, mangle: Mangle) -> None:
    grid.mangle[FIRST_NODE] = mangle
    fleet = fleet_over(grid, two_groups).begin(0)
    tracemalloc.start()
    updates = fleet.train(one_model(two_groups), Round(1, seed=0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert updates.clients == two_groups.clients[:-1]
    (refusal,) = fleet.ledger.refused
    assert refusal.client == two_groups.clients[-1]
    assert refusal.reason.startswith("its message cannot be read: ")
    assert peak < 60_000_000  # bytes


def test_an_exception_at_a_client_says_nothing_of_its_data(two_groups: Federation, grid: Loopback) -> None:

    def broken(federation: Federation, config: dict[str, object], run: str) -> SiteClient:
        found = held(federation, config, run)

        def at(number: int) -> ClientData:
            if number:
                raise KeyError("patient 4711")
            return found.data_at(number)

        return SiteClient(found.name, at)

    app = client_app(lambda config, run: broken(two_groups, dict(config), run))
    grid.nodes[FIRST_NODE] = (app, grid.nodes[FIRST_NODE][1])
    fleet = fleet_over(grid, two_groups).begin(0)
    scores = fleet.evaluate(one_model(two_groups), Round(1, seed=0))
    assert isinstance(scores, Scores)
    (refusal,) = fleet.ledger.refused
    assert refusal.reason == "the client failed: 'KeyError in evaluate'"
    assert refusal.client == grid.registered[FIRST_NODE]


def test_a_message_that_flower_does_not_take_is_a_missing_reply(two_groups: Federation, grid: Loopback) -> None:
    fleet = fleet_over(grid, two_groups).begin(0)
    del grid.nodes[FIRST_NODE]
    scores = fleet.evaluate(one_model(two_groups), Round(1, seed=0))
    (refusal,) = fleet.ledger.refused
    assert refusal.reason == "Flower did not take the message"
    assert len(scores.clients) == len(two_groups) - 1


def test_several_models_to_one_client_are_one_message(two_groups: Federation, grid: Loopback) -> None:
    fleet = fleet_over(grid, two_groups).begin(0)
    net = net_for("logistic", two_groups.shape, two_groups.classes)
    rows = np.stack([net.initial_row(0, number) for number in range(3)])
    before = len(grid.sent)
    found = fleet.losses(two_groups.clients, rows, Round(1, seed=0))
    assert found.table.shape == (len(two_groups), 3)
    sent = grid.sent[before:]
    assert [each.metadata.message_type for each in sent] == ["query.losses"] * len(two_groups)
    assert all(len(each.content.array_records["arrays"]["rows"].data) == rows.nbytes for each in sent)


def test_packed_content_survives_the_wire() -> None:
    content = pack_message({"a": 1}, {"row": np.arange(3, dtype=np.float32)})
    assert header_in(content) == {"a": 1}
    assert np.frombuffer(content.array_records["arrays"]["row"].data, np.float32).tolist() == [0, 1, 2]
