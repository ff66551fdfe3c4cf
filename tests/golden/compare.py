"""The net to fall into: what every method does, to the bit, before and after a change that must not change it.

    python tests/golden/compare.py                  compare with golden.json; exit code 1 if anything differs
    python tests/golden/compare.py --only "flt "    those entries whose name has these letters in it
    python tests/golden/compare.py --write          write golden.json anew, or those entries: where a change is meant

Of each run: `model_hash`, the bytes of every verb, the groups, the refusals, the accuracy. Another kind of processor
rounds otherwise, and then no hash is the same; `--from REVISION` writes what the code of that revision gives on this
machine, by the script that it has, and compares with that.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ["FEDCLADE_SECRET"] = "golden"  # of the blind runs
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import numpy as np

from conformance.loopback import grid_of
from fedclade.cli.app import code_of
from fedclade.data import Federation
from fedclade.fleet import Fleet
from fedclade.fleet.build import fleet_over
from fedclade.fleet.flower.grid import Deadlines, FlowerTransport
from fedclade.fleet.simulated import Wire, pass_through, simulated_fleet
from fedclade.fleet.site import ModelSpec
from fedclade.methods.abc.attention import size
from fedclade.nets import Net, net_for
from fedclade.nets.attention_files import ATTENTION
from fedclade.nets.weight_files import WeightFile, write
from fedclade.runs.backend import backend_for
from fedclade.runs.experiment import Experiment, experiment_from
from fedclade.runs.run import start
from fedclade.testing import drop_replies, lie
from fedclade.testing.wires import LIES, AlteredTransport
from golden.variants import LOCAL, NET, RUN, WORLDS, Table, entries

FILE = HERE / "golden.json"
LIAR = "client-03"
Entry = dict[str, Any]


def run_entries(folder: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Entry]]:
    """Every run that is wanted, by its name."""
    network = network_file(folder / "network.safetensors")
    for number, (name, world, fleet, broken, sections) in enumerate(entries(network)):
        whole = " | ".join(filter(None, (name, world, fleet, broken)))
        if wanted(whole):
            yield whole, run_entry(folder / str(number), world, fleet, broken, sections)


def run_entry(path: Path, world: str, fleet: str, broken: str, sections: Table) -> Entry:
    """What is kept of one run."""
    tables: Table = {"data": WORLDS[world], "net": NET, "engine": {"workers": 0}}
    tables |= {"local": {**LOCAL, **sections.get("local", {})}, "run": {**RUN, **sections.get("run", {})}}
    tables |= {key: value for key, value in sections.items() if key in ("net", "method")}
    experiment = experiment_from(tables)
    backend = backend_for(experiment, None)
    federation = experiment.federation()
    done = start(experiment, out=path, backend=replace(backend, fleet=fleet_of(experiment, federation, fleet, broken)))
    result = done.result
    lines = (path / "events.jsonl").read_text(encoding="utf-8").splitlines()
    refused = Counter(
        f"{each['client']} {each['verb']}: {each['reason']}"
        for event in map(json.loads, lines)
        for each in event.get("refused", [])
    )
    return {
        "model_hash": result["model_hash"],
        "accuracy": round(float(str(result["accuracy"])), 6),
        "groups": result["groups"],
        "bytes": {key: value for key, value in sorted(result.items()) if key.startswith("bytes_")},
        "refused": dict(sorted(refused.items())),
    }


def fleet_of(
    experiment: Experiment, federation: Federation, fleet: str, broken: str
) -> Callable[[Net], AbstractContextManager[Fleet]]:
    """The fleet of a run: in this process, or over Flower's messages, with somebody who lies or is silent."""
    wires: dict[str, Wire] = {
        "": pass_through,
        "silent": drop_replies(LIAR),
        "not a number": lie(LIAR, LIES["not a number"]),
        "too many examples": lie(LIAR, LIES["too many examples"]),
    }
    wire = wires[broken]
    if fleet == "simulated":
        return lambda net: simulated_fleet(federation, net, workers=0, wire=wire)

    def over_flower(net: Net) -> Fleet:
        transport = FlowerTransport(
            grid_of(federation),
            ModelSpec(experiment.net, federation.shape, federation.task),
            Deadlines(),
            present=federation.clients_at,
            change_rounds=sorted({*federation.joins.values(), *(change.round for change in federation.changes)}),
            strict=True,
        )
        return fleet_over(AlteredTransport(transport, wire=wire), net, federation.shape)

    return over_flower


def network_file(path: Path) -> str:
    """A network of ABC's that nobody has trained: its scores mean nothing, and are always the same."""
    shape = (8, 8)
    numbers = net_for(NET["name"], shape, 10, {key: NET[key] for key in NET if key != "name"}).size
    row = np.random.default_rng(7).normal(scale=0.05, size=size(numbers)).astype(np.float32)
    write(path, WeightFile("attention", row, {"numbers": numbers}), ATTENTION)
    return str(path)


def group_entries(folder: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Entry]]:
    """What `fedclade groups` says of tables, with and without groups and labels."""
    for name, lines in tables():
        for label in (("--label", "fault"), ("--without", "fault")):
            whole = f"groups {name} | {label[0]}"
            if not wanted(whole):
                continue
            file = folder / f"{name}.csv"
            file.write_text("\n".join(lines) + "\n")
            with redirect_stdout(StringIO()) as out:
                code = code_of(
                    ["groups", str(file), "--client", "site", *label, "--json", "--out", str(folder / name)], False
                )
            assert code == 0, whole
            answer = json.loads(out.getvalue())
            kept = {key: answer[key] for key in ("clients", "examples", "clear", "answer", "count", "outliers", "sure")}
            yield whole, {**kept, "groups": [each["clients"] for each in answer["groups"]]}


def tables() -> Iterator[tuple[str, list[str]]]:
    """Small tables of sites: two groups, flipped labels, nested groups, one odd site, nothing at all."""
    rng = np.random.default_rng(5)
    sites = np.arange(12)
    shifts = {
        "alike": 0.0 * sites,
        "two": 3.0 * (sites % 2),
        "flipped": 0.0 * sites,
        "nested": 8.0 * (sites % 2) + 2.0 * (sites % 4 > 1),
        "odd": 5.0 * (sites == 4),
    }
    for name, shift in shifts.items():
        lines = ["site,heat,speed,size,fault"]
        for site in range(12):
            inputs = rng.normal(size=(50, 3)) * (1.0, 20.0, 0.1)
            inputs[:, 0] += shift[site]
            faults = (inputs[:, 0] - shift[site] + inputs[:, 1] / 20 > 0) ^ (name == "flipped" and site % 2 == 0)
            for row, fault in zip(inputs, faults, strict=True):
                lines.append(f"s{site:02d},{row[0]:.5f},{row[1]:.5f},{row[2]:.5f},{'yes' if fault else 'no'}")
        yield name, lines


def recorded(wanted: Callable[[str], bool]) -> dict[str, Entry]:
    """All entries that are wanted, as this code makes them."""
    found: dict[str, Entry] = {}
    with tempfile.TemporaryDirectory() as place:
        for make in (run_entries, group_entries):
            for name, entry in make(Path(place), wanted):
                found[name] = entry
                if sys.stderr.isatty():
                    print(f"\r{len(found)} {name:<70.70}", end="", file=sys.stderr)
    return found


def differences(before: Mapping[str, Entry], now: Mapping[str, Entry]) -> Iterator[str]:
    """A line for every value that is not what it was."""
    for name in sorted({*before, *now}):
        if name not in before or name not in now:
            yield f"{name}: {'is new' if name in now else 'is missing'}"
            continue
        for key in sorted({*before[name], *now[name]}):
            was, is_now = before[name].get(key), now[name].get(key)
            if was != is_now:
                yield f"{name}: {key}: was {json.dumps(was)}, is {json.dumps(is_now)}"


def from_revision(revision: str, wanted: str) -> dict[str, Entry]:
    """What the code of this revision gives on this machine."""
    root = HERE.parents[1]
    with tempfile.TemporaryDirectory() as place:
        there = Path(place) / "code"
        subprocess.run(["git", "-C", str(root), "worktree", "add", "--detach", str(there), revision], check=True)
        try:
            env = {**os.environ, "PYTHONPATH": str(there / "src")}
            for native in (there / "src").rglob("native/build.py"):
                subprocess.run([sys.executable, str(native)], check=True, env=env)
            script = there / "tests" / "golden" / "compare.py"
            command = [sys.executable, str(script), "--write", "--file", str(Path(place) / "then.json")]
            subprocess.run([*command, "--only", wanted], check=True, env=env)
            found: dict[str, Entry] = json.loads((Path(place) / "then.json").read_text())
            return found
        finally:
            subprocess.run(["git", "-C", str(root), "worktree", "remove", "--force", str(there)], check=True)


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--write", action="store_true")
    words.add_argument("--only", default="")
    words.add_argument("--file", type=Path, default=FILE)
    words.add_argument("--from", dest="revision", default="")
    given = words.parse_args()
    now = recorded(lambda name: given.only in name)
    if given.write:
        kept = json.loads(given.file.read_text()) if given.only and given.file.exists() else {}
        lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in {**kept, **now}.items()]
        given.file.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{len(now)} entries written to {given.file}")
        return 0
    if given.revision:
        before = from_revision(given.revision, given.only)
    else:
        before = {name: entry for name, entry in json.loads(given.file.read_text()).items() if given.only in name}
    changed_lines = list(differences(before, now))
    print("\n".join(changed_lines))
    equal = len(now) - len({line.partition(": ")[0] for line in changed_lines})
    print(f"{equal} of {len(before)} entries are equal")
    return 1 if changed_lines else 0


if __name__ == "__main__":
    sys.exit(main())
