"""Real Flower processes on loopback: the same models as simulated, whatever is killed, refused or lied about."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="Flower is an extra: pip install 'fedclade[flower]'")

from conformance.every_verb import EveryVerb
from e2e.fleet import CLIENTS, STARTED, Deployment, copy_into, deployment, events, verdict, wait_until
from fedclade.core import FedcladeError
from fedclade.methods import METHODS, register
from fedclade.runs.experiment import read_experiment
from fedclade.runs.run import start
from fedclade.store.run_folder import RunFolder

register("every-verb", EveryVerb, finds_groups=True)

# Every message starts a process at every site, which takes seconds: runs here are as short as they can be.
SAME: dict[str, object] = {"local__lr": 0.1, "run__participation": 1.0, "run__evaluate_every": 2, "run__rounds": 2}
SAME["engine__enrol_seconds"] = 60  # Flower may lose a message: then a site is asked again
EXPERIMENT = """
[data]
source = "digits"
world = "classes"
clients = {clients}
groups = 2
[local]
lr = 0.1
[run]
rounds = 2
participation = 1.0
evaluate_every = 2
[engine]
workers = 1
"""


def simulated(place: Path, clients: int, *changes: str) -> dict[str, object]:
    """The same experiment in this process: what the fleet must come to."""
    path = place / "simulated.toml"
    path.write_text(EXPERIMENT.format(clients=clients))
    name = "-".join(changes).replace("/", "_") or "plain"
    return dict(start(read_experiment(path, changes), out=place / f"simulated-{name}").result)


def with_every_verb(fleet: Deployment) -> None:
    """The test's own method, brought along in the app."""
    copy_into(fleet.app, Path(__file__).parents[1] / "conformance" / "every_verb.py")
    server = fleet.app / "fleet_app" / "server_app.py"
    server.write_text(
        "import fedclade\nfrom fleet_app.every_verb import EveryVerb\n"
        'fedclade.register("every-verb", EveryVerb, finds_groups=True)\n' + server.read_text()
    )


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_deployment_comes_to_the_same_models(tmp_path: Path) -> None:
    """Meanwhile nodes that were never let in knock at the door; and the bytes on the wire are those of the ledger."""
    with deployment(tmp_path, sites=2) as fleet:
        with_every_verb(fleet)
        strangers = tmp_path / "strangers"
        strangers.mkdir()
        other = Deployment(strangers)  # only its keys are used
        fleet.start_sites(*CLIENTS[:2])
        mine, theirs = fleet.app / "keys", strangers / "fleet" / "keys"
        trusted = ("--root-certificates", str(mine / "ca.crt"))
        fleet.start_stranger("without a key", *trusted)
        unregistered = ("--auth-supernode-private-key", str(theirs / "sites" / CLIENTS[0]))
        fleet.start_stranger("unregistered", *trusted, *unregistered)
        known = str(theirs / "sites" / CLIENTS[1])  # its key is good here: only the CA is not
        fleet.call("flwr", "supernode", "register", f"{known}.pub", "fleet", "--name", "client-99")
        another_ca = ("--root-certificates", str(theirs / "ca.crt"))
        fleet.start_stranger("wrong CA", *another_ca, "--auth-supernode-private-key", known)
        other.stop()

        def the_same(name: str, **changes: object) -> dict[str, object]:
            """The verdict of a run of the fleet, which is that of the simulated one; and nobody was refused."""
            found = fleet.finished_run(name, tmp_path / "runs" / name, **SAME, **changes)
            wanted = simulated(tmp_path, 2, *(f"{key.replace('__', '.')}={value}" for key, value in changes.items()))
            for key in ("model_hash", "accuracy", *(key for key in {**found, **wanted} if key.startswith("bytes"))):
                assert found[key] == wanted[key], (name, key)
            assert not [one for event in events(tmp_path / "runs" / name) for one in entries(event, "refused")]
            return found

        # One method that uses every verb, or all of them: Flower's simulation and its loopback play them too.
        for method in sorted(METHODS) if os.environ.get("FEDCLADE_DEPLOY") == "all" else ("every-verb",):
            the_same(method, method__name=method)
        for label, reason in (("without a key", "2001"), ("unregistered", "2004"), ("wrong CA", "certificate verify")):
            assert STARTED not in fleet.log(label), label
            assert reason.lower() in fleet.log(label).lower(), fleet.log(label)
            wait_until(f"the node {label} gives up", lambda label=label: fleet.processes[label].poll() is not None)  # type: ignore[misc]
        # FedAvg, and a larger model, so that what Flower adds to it can be seen beside it.
        up, down = fleet.relay.up, fleet.relay.down
        found = the_same("large", method__name="fedavg", net__hidden=4000)
        parameters = 64 * 4000 + 4000 + 4000 * 10 + 10
        assert found["bytes_down_train_mean"] == 2 * 2 * 4 * parameters
        for way, crossed in (("up", fleet.relay.up - up), ("down", fleet.relay.down - down)):
            booked = sum(int(str(found[key])) for key in found if key.startswith(f"bytes_{way}_"))
            assert booked <= crossed <= 1.05 * booked, (way, booked, crossed)
        with_tables(fleet, tmp_path)


TABLES = """
from pathlib import Path


def load_data(site):
    return Path("FOLDER") / f"{site['name']}.csv"
"""


def with_tables(fleet: Deployment, place: Path) -> None:
    """The same sites with a table each come to the models of one file with the rows of both."""
    rng = np.random.default_rng(0)
    rows = {
        name: [
            f"{rng.normal(70 + 9 * number, 5):.1f},{rng.choice(['steel', 'brass'])},{'' if row % 9 == 0 else row % 7},"
            f"{rng.choice(['no', 'yes'])}"
            for row in range(40)
        ]
        for number, name in enumerate(CLIENTS[:2])
    }
    for name, lines in rows.items():
        (place / f"{name}.csv").write_text("\n".join(["heat,metal,load,fault", *lines]) + "\n")
    both = [f"{line},{name}" for name, lines in rows.items() for line in lines]
    (place / "both.csv").write_text("\n".join(["heat,metal,load,fault,site", *both]) + "\n")
    (fleet.app / "fleet_app" / "load_data.py").write_text(TABLES.replace("FOLDER", str(place)))
    experiment = fleet.app / "experiment.toml"
    experiment.write_text(
        experiment.read_text().replace("shape = [1, 8, 8]          # of one input\nclasses = 10", 'label = "fault"')
    )
    found = fleet.finished_run("tables", place / "runs" / "tables", **{**SAME, "run__rounds": 1})
    one_file = place / "one.toml"
    one_file.write_text(
        experiment.read_text()
        .replace('"sites"', f'"own"\npath = "{place / "both.csv"}"\nclient = "site"')
        .partition("[engine]")[0]
    )
    changes = [f"{key.replace('__', '.')}={value}" for key, value in SAME.items() if not key.startswith("engine")]
    wanted = start(read_experiment(one_file, [*changes, "run.rounds=1"]), out=place / "one")
    assert found["model_hash"] == wanted.result["model_hash"]
    assert found["bytes_up_column_sums"] == wanted.result["bytes_up_column_sums"]


SITE = """
import json
import time
from pathlib import Path
from flwr.app import Array, ConfigRecord
from fedclade.deploy import client_app
from fedclade.fleet.flower.messages import RAW, header_in
from fleet_app.load_data import load_data

app = client_app(load_data)
honest = dict(app._registered_funcs)
"""
LIES = '''
def lying(message, context):
    """Two clients lie, each time in another way; the third one holds rounds 3 and 4 up until the newcomer is there."""
    reply = honest["train.default"](message, context)
    arrays = reply.content.array_records["arrays"]
    row = arrays["row"]
    now = (header_in(message.content)["now"]["number"], context.node_config["name"])
    if now == (1, "client-02"):
        arrays["row"] = Array(dtype=row.dtype, shape=row.shape, stype=RAW, data=b"\\xff" * len(row.data))
    if now == (1, "client-03"):
        arrays["row"] = Array(dtype=row.dtype, shape=(1, *row.shape), stype=RAW, data=row.data)
    if now == (2, "client-02"):
        arrays["row"] = Array(dtype=row.dtype, shape=(20_000_000,), stype=RAW, data=bytes(80_000_000))
    if now == (2, "client-03"):
        header = {**header_in(reply.content), "client": "client-00"}
        reply.content["header"] = ConfigRecord({"json": json.dumps(header)})
    if now == (3, "client-02"):
        raise RuntimeError("a secret of this site")
    while now in ((3, "client-01"), (4, "client-01")) and not Path("GATES", str(now[0])).exists():
        time.sleep(0.1)
    return reply


app._registered_funcs["train.default"] = lying
'''


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_liar_is_refused_and_a_newcomer_is_placed(tmp_path: Path) -> None:
    with deployment(tmp_path) as fleet:
        gates = tmp_path / "gates"
        gates.mkdir()
        (fleet.app / "fleet_app" / "client_app.py").write_text(SITE + LIES.replace("GATES", str(gates)))
        fleet.start_sites(*CLIENTS[1:])
        fleet.call("ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", str(tmp_path / "thief"))
        fleet.call("flwr", "supernode", "register", str(tmp_path / "thief.pub"), "fleet", "--name", "thief")
        trusted = ("--root-certificates", "keys/ca.crt", "--auth-supernode-private-key", str(tmp_path / "thief"))
        fleet.start_stranger("thief", *trusted)  # a site of the fleet that says that it is client-00
        wait_until("the thief is connected", lambda: STARTED in fleet.log("thief"))
        folder = tmp_path / "run"
        changes = {**SAME, "run__rounds": 5, "run__evaluate_every": 5, "engine__clients": 3}
        process = fleet.start_run("run", folder, **changes)
        fleet.wait(process, "a round is over", lambda: "round" in kinds(folder))
        fleet.start_sites(CLIENTS[0])
        (gates / "3").touch()  # round 4 asks the newcomer for its name; round 5 has it, when the answer has been sent
        fleet.wait(process, "the newcomer has enrolled", lambda: "Sent successfully" in fleet.log(CLIENTS[0]))
        (gates / "4").touch()
        fleet.await_verdict("run", folder, process, 500)
        rounds = {event["round"]: event for event in events(folder) if event["event"] == "round"}
        stolen = [one for event in events(folder) for one in entries(event, "refused") if one["verb"] == "enrol"]
        assert {one["client"] for one in stolen} == {"thief"}
        assert all("got 'client-00', need 'thief'" in one["reason"] for one in stolen)
        lies = {
            (1, CLIENTS[2]): "NaN or infinite",
            (1, CLIENTS[3]): "got shape (1, ",
            (2, CLIENTS[2]): "cannot be read",
            (2, CLIENTS[3]): "got 'client-00'",
            (3, CLIENTS[2]): "raised an exception",
        }  # from then on they are honest again, and welcome
        reasons = {
            (number, one["client"]): one["reason"]
            for number, event in rounds.items()
            for one in entries(event, "refused")
            if one["verb"] == "train"
        }
        assert set(reasons) == set(lies), reasons
        assert [lie for lie, wanted in lies.items() if wanted not in reasons[lie]] == [], reasons
        assert "a secret" not in (folder / "events.jsonl").read_text()
        newcomers = [event for event in events(folder) if event["event"] == "newcomers"]
        assert [event["clients"] for event in newcomers] == [[CLIENTS[0]]]
        assert sum(len(members) for members in json.loads(json.dumps(verdict(folder)["groups"]))) == 4


HOLDS = '''
def hold(message, context):
    """The first site holds rounds 3 and 4 up until the killed one is back, but for less than a deadline."""
    reply = honest["train.default"](message, context)
    number, ends = header_in(message.content)["now"]["number"], time.monotonic() + 25
    while number in (3, 4) and context.node_config["name"] == "client-00" and time.monotonic() < ends:
        if Path("GATES", str(number)).exists():
            break
        time.sleep(0.1)
    return reply


app._registered_funcs["train.default"] = hold
'''


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_kills(tmp_path: Path) -> None:
    """`kill -9` of a SuperNode in a round, and of the SuperLink: the one is missing, the other goes on to the same."""
    with deployment(tmp_path, sites=3) as fleet:
        gates = tmp_path / "gates"
        gates.mkdir()
        (fleet.app / "fleet_app" / "client_app.py").write_text(SITE + HOLDS.replace("GATES", str(gates)))
        fleet.start_sites(*CLIENTS[:3])

        folder = tmp_path / "resumed"
        process = fleet.start_run("interrupted", folder, **SAME)
        fleet.wait(process, "a round is over", lambda: "round" in kinds(folder))
        fleet.kill("superlink")
        process.wait(timeout=120)
        assert not (folder / "result.json").exists()
        fleet.start_superlink()
        wait_until("nobody holds the folder", lambda: unheld(folder), 120)
        found = fleet.finished_run("resumed", folder, **SAME)
        assert found["model_hash"] == simulated(tmp_path, 3)["model_hash"]
        assert "resume" in kinds(folder)

        folder = tmp_path / "killed"
        long = {**SAME, "run__rounds": 7, "run__evaluate_every": 7}
        process = fleet.start_run("killed", folder, **long, engine__train_seconds=90)
        fleet.wait(process, "the first round is over", lambda: "round" in kinds(folder))
        asked = fleet.log(CLIENTS[2]).count("train message")
        fleet.wait(process, "the next one is under way", lambda: fleet.log(CLIENTS[2]).count("train message") > asked)
        fleet.kill(CLIENTS[2])
        fleet.wait(process, "it is given up", lambda: "left" in kinds(folder))
        fleet.restart_site(CLIENTS[2])
        (gates / "3").touch()  # round 4 asks the site for its name; round 5 has it
        fleet.wait(process, "it has enrolled", lambda: fleet.log(CLIENTS[2]).count("Sent successfully") > 0)
        (gates / "4").touch()
        fleet.await_verdict("killed", folder, process, 600)
        missing = [one for event in events(folder) for one in entries(event, "refused")]
        assert {one["client"] for one in missing} == {CLIENTS[2]}
        # Whichever comes first: the deadline, which slow sites need so long, or Flower's word that it hears nothing.
        assert {one["reason"] for one in missing} <= {"no answer within 90 s", "its node is gone"}
        took_part = [event["took_part"] for event in events(folder) if event["event"] == "round"]
        assert (took_part[0], took_part[1], took_part[-1]) == (3, 2, 3)
        comings = [
            (event["event"], event["clients"]) for event in events(folder) if event["event"] in ("left", "returned")
        ]
        assert comings == [("left", [CLIENTS[2]]), ("returned", [CLIENTS[2]])]


def entries(event: dict[str, object], key: str) -> list[dict[str, str]]:
    found = event.get(key, [])
    assert isinstance(found, list)
    return found


def kinds(folder: Path) -> list[object]:
    return [event["event"] for event in events(folder)] if (folder / "events.jsonl").exists() else []


def unheld(folder: Path) -> bool:
    """Whether a killed ServerApp has let go of its folder."""
    try:
        with RunFolder.open(folder) as held:
            held.acquire()
    except FedcladeError:
        return False
    return True
