"""The same FedAvg with fedclade and with its peers, in one session: how long, how much processor time, how accurate.

    python benchmarks/peers.py                          all peers, installed into a temporary folder
    python benchmarks/peers.py --environments DIR       the same, and keep the environments for the next time
    python benchmarks/peers.py --peer flower --rounds 5 --repeats 1

Every peer is installed from PyPI into an environment of its own and runs a short program of `peers/`, written against
its public interface. Before each turn of a peer fedclade does the same work, and ratios are taken between the two. A
peer that cannot be installed or run stands in the result with the reason.
"""

import argparse
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from fedclade.bench.machine import machine
from fedclade.data import SOURCES

HERE = Path(__file__).resolve().parent
CONSTRAINTS = HERE.parent / "constraints.txt"
OURS = "fedclade"
POLL_SECONDS = 0.05  # seconds from one look at the processes to the next
TIMEOUT_SECONDS = 900  # seconds for one program
PR_SET_CHILD_SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER: orphans below this process become its own children
TICKS = os.sysconf("SC_CLK_TCK")
QUIET = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class Settings:
    """The task: what every program reads."""

    clients: int = 100
    chosen: int = 20
    rounds: int = 20
    batch: int = 10
    epochs: int = 1
    lr: float = 0.05
    workers: int = 2
    seed: int = 0


@dataclass(frozen=True)
class Peer:
    """Another system, or our own."""

    name: str
    program: Path
    requirements: tuple[str, ...] = ()
    """What pip is asked for; nothing: it runs in the environment of this script."""
    package: str = ""
    """Whose version is told, and whose environment it is."""
    processes: str = "2"
    """How many of them train, as the program asks for."""
    python: tuple[int, int] = (3, 11)
    """The oldest Python that it takes."""
    under: tuple[str, ...] = ()
    """What Python is to run before the program; {port} is a free one."""


def program(name: str) -> Path:
    """The program for a peer."""
    return HERE / "peers" / f"fedavg_{name}.py"


TORCHRUN = (
    "-m",
    "torch.distributed.run",
    "--nproc_per_node=2",
    "--master_addr=127.0.0.1",
    "--master_port={port}",
)
PEERS = {
    peer.name: peer
    for peer in (
        Peer("flower", program("flower"), ("flwr[simulation]==1.41.0",), "flwr"),
        Peer("pfl", program("pfl"), ("pfl",), "pfl", under=TORCHRUN),
        Peer("fedlab", program("fedlab"), ("fedlab",), "fedlab"),
        Peer("fedlab-standalone", program("fedlab_standalone"), ("fedlab",), "fedlab", processes="1"),
        Peer("blazefl", program("blazefl"), ("blazefl[contrib,reproducibility]",), "blazefl", python=(3, 12)),
        Peer("fluke", program("fluke"), ("fluke-fl",), "fluke-fl", processes="1"),
    )
}
FEDCLADE = Peer(OURS, program(OURS), package="fedclade")


class CannotRun(Exception):
    """A peer that could not be installed or run, and why."""


@dataclass(frozen=True)
class Turn:
    """One program, once."""

    wall: float
    """Seconds from its start to its end, imports and all."""
    cpu: float
    """Seconds of all processors, of every process that it started."""
    round_wall: float
    """Seconds of a round, without the first: no start-up."""
    round_cpu: float
    accuracy: float
    """On the test examples, after the last round."""


@dataclass(frozen=True)
class Pair:
    """A turn of a peer, and the turn of fedclade before it."""

    its: Turn
    ours: Turn


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all peers that are asked for, and write what was found."""
    asked = options(arguments)
    settings = Settings(rounds=asked.rounds, lr=asked.lr)
    peers = [peer_named(name) for name in asked.peer or PEERS]
    if asked.out is not None:  # before hours of work, not after
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.touch()
    keep_orphans()
    with tempfile.TemporaryDirectory(prefix="fedclade-peers-") as temporary:
        place = Path(temporary)
        source = write_examples(place / "examples.npz", settings)
        (place / "settings.json").write_text(json.dumps(asdict(settings)))
        pythons: dict[str, Path] = {}
        reasons: dict[str, str] = {}
        for peer in peers:
            try:
                pythons[peer.name] = environment_of(peer, asked.environments or place / "environments", asked.python)
            except CannotRun as why:
                reasons[peer.name] = str(why)
                say(f"{peer.name}: {why}")
        before = machine()
        pairs: dict[str, list[Pair]] = {peer.name: [] for peer in peers}
        for repeat in range(asked.repeats):
            for peer in peers:
                if peer.name in reasons:
                    continue
                say(f"turn {repeat + 1} of {asked.repeats}: {OURS}, then {peer.name}")
                ours = run_program(FEDCLADE, Path(sys.executable), place, settings)
                try:
                    pairs[peer.name].append(Pair(run_program(peer, pythons[peer.name], place, settings), ours))
                except CannotRun as why:
                    reasons[peer.name] = str(why)
                    say(f"{peer.name}: {why}")
        found = {
            "machine": {**before, "load_after": machine()["load"]},
            "data": source,
            "settings": asdict(settings),
            "repeats": asked.repeats,
            "fedclade": medians([pair.ours for each in pairs.values() for pair in each]),
            "peers": [
                peer_result(peer, version_of(peer, pythons.get(peer.name)), pairs[peer.name], reasons.get(peer.name))
                for peer in peers
            ],
        }
        if asked.out is not None:
            asked.out.write_text(json.dumps(found, indent=2) + "\n")
    print(table(found))
    return 0


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--peer",
        action="append",
        metavar="NAME",
        help=f"one of {', '.join(PEERS)}, or a program of your own, which runs in this environment; repeatable",
    )
    parser.add_argument("--rounds", type=int, default=Settings.rounds)
    parser.add_argument("--lr", type=float, default=Settings.lr)
    parser.add_argument("--repeats", type=int, default=3, help="turns of every peer")
    parser.add_argument("--environments", type=Path, metavar="FOLDER", help="keep the environments there")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PROGRAM",
        help="another Python for peers that need a newer one",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write all figures there, as JSON")
    asked = parser.parse_args(arguments)
    if asked.rounds < 2 or asked.repeats < 1:
        parser.error(f"got {asked.rounds} rounds, {asked.repeats} repeats; need at least 2 rounds and 1 repeat")
    for name in asked.peer or ():
        if name not in PEERS and not Path(name).is_file():
            parser.error(f"there is no peer {name}: need one of {', '.join(PEERS)}, or a program")
    return asked


def peer_named(name: str) -> Peer:
    """A peer that we know, or a program by its path."""
    return PEERS[name] if name in PEERS else Peer(Path(name).stem, Path(name).resolve(), processes="?")


def say(text: str) -> None:
    """Progress, for somebody who watches."""
    print(text, file=sys.stderr, flush=True)


def write_examples(path: Path, settings: Settings) -> str:
    """Everybody's examples as bytes, in one file; returns where they come from."""
    rng = np.random.default_rng(settings.seed)
    if SOURCES["mnist"].is_available():
        source = SOURCES["mnist"].load()
        assert source.test is not None
        name, train, test = "mnist", source.train, source.test
        pools = [(np.asarray(pool.inputs), np.asarray(pool.labels)) for pool in (train, test)]
    else:
        name = "stand-in: scikit-learn's digits, enlarged and moved"
        pools = [enlarged_digits(60_000, rng), enlarged_digits(10_000, rng)]
    (inputs, labels), (tested, wanted) = pools
    order = rng.permutation(len(labels))[: settings.clients * (len(labels) // settings.clients)]
    shape = (settings.clients, -1)
    np.savez(
        path,
        train_inputs=inputs[order].reshape(*shape, 784),
        train_labels=labels[order].reshape(shape),
        test_inputs=tested.reshape(-1, 784),
        test_labels=wanted,
    )
    return name


def enlarged_digits(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """So many pictures of 28 x 28: real digits of 8 x 8, three times as large, anywhere, with noise."""
    digits = SOURCES["digits"].load().train
    picked = rng.integers(len(digits.labels), size=count)
    small = np.asarray(digits.inputs)[picked].reshape(count, 8, 8).astype(np.float32)
    large = np.kron(small / small.max() * 230, np.ones((1, 3, 3), np.float32))
    canvas = rng.integers(0, 26, size=(count, 28, 28)).astype(np.float32)
    rows, columns = rng.integers(5, size=(2, count))
    for number in range(count):
        canvas[number, rows[number] : rows[number] + 24, columns[number] : columns[number] + 24] += large[number]
    return canvas.astype(np.uint8), np.asarray(digits.labels)[picked]


def environment_of(peer: Peer, environments: Path, pythons: Sequence[str]) -> Path:
    """The Python that runs a peer: installed, unless it is there already. torch first, and the one we run."""
    if not peer.requirements:
        return Path(sys.executable)
    folder = environments.resolve() / peer.package
    python, done = folder / "bin" / "python", folder / "installed"
    if done.exists():
        return python
    say(f"{peer.name}: installing {' '.join(peer.requirements)} ...")
    run_to_end([interpreter(peer.python, pythons), "-m", "venv", "--clear", str(folder)], "venv")
    torch = next(line for line in CONSTRAINTS.read_text().splitlines() if line.startswith("torch=="))
    for wanted in ((torch, "numpy"), peer.requirements):
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(CONSTRAINTS)]
        run_to_end([*pip, *wanted], f"pip install {' '.join(wanted)}")
    done.touch()
    return python


def interpreter(oldest: tuple[int, int], more: Sequence[str]) -> str:
    """A Python that is new enough."""
    for name in (sys.executable, *more, "python3", "python3.12", "python3.13", "python3.14"):
        code = f"import sys; sys.exit(sys.version_info < {oldest})"
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", code], capture_output=True, check=False).returncode == 0:
            return found
    wanted = ".".join(map(str, oldest))
    raise CannotRun(f"there is no Python {wanted} or newer here; do: --python PROGRAM")


def run_to_end(words: Sequence[str], what: str) -> None:
    """Run a command; if it fails, its last error is the reason."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(f"{what} failed: {last_line(done.stderr or done.stdout)}")


def last_line(text: str) -> str:
    """The line that says why: the last error, or the last line there is."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or line.startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1][:300]


def version_of(peer: Peer, python: Path | None) -> str:
    """The version that is installed."""
    if python is None or not peer.package:
        return ""
    code = f"from importlib.metadata import version; print(version({peer.package!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False).stdout.strip()


def run_program(peer: Peer, python: Path, place: Path, settings: Settings) -> Turn:
    """Run a program once, and watch it and everything that it starts."""
    out = place / "told.jsonl"
    out.unlink(missing_ok=True)
    under = [word.format(port=free_port()) for word in peer.under]
    words = [
        str(python),
        *under,
        str(peer.program),
        *(str(place / n) for n in ("examples.npz", "settings.json")),
        str(out),
    ]
    path = [
        str(HERE / "peers"),
        *([os.environ["PYTHONPATH"]] if not peer.requirements and "PYTHONPATH" in os.environ else []),
    ]
    known = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment = {**known, **QUIET, "PYTHONPATH": os.pathsep.join(path), "FLWR_HOME": str(place / "flower")}
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        begin = time.time()
        clock = Processors()
        process = subprocess.Popen(words, cwd=place, env=environment, stdout=said, stderr=subprocess.STDOUT)
        while process.poll() is None:
            clock.look()
            if time.time() - begin > TIMEOUT_SECONDS:
                end_all()
                process.wait()
                raise CannotRun(f"it was not done after {TIMEOUT_SECONDS} seconds")
            time.sleep(POLL_SECONDS)
        wall = time.time() - begin
        clock.look()
        end_all()
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise CannotRun(f"exit code {process.returncode}: {last_line(text)}")
    rounds = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    if [line["round"] for line in rounds] != list(range(1, settings.rounds + 1)):
        raise CannotRun(f"it told of {len(rounds)} rounds, and not of 1 to {settings.rounds}: {last_line(text)}")
    first, last = rounds[0]["time"], rounds[-1]["time"]
    return Turn(
        wall=wall,
        cpu=clock.total(),
        round_wall=(last - first) / (settings.rounds - 1),
        round_cpu=(clock.at(last) - clock.at(first)) / (settings.rounds - 1),
        accuracy=rounds[-1]["accuracy"],
    )


class Processors:
    """Processor time of all processes below this one. It is looked at often: some end without anybody asking them."""

    def __init__(self) -> None:
        self._before = {pid: cpu_seconds(pid) or 0.0 for pid in descendants(os.getpid())}
        self._spent: dict[int, float] = {}
        self._looks: list[tuple[float, float]] = []

    def look(self) -> None:
        """Add up what every process has used until now; one that is gone keeps what it had."""
        for pid in descendants(os.getpid()):
            if pid not in self._before and (seconds := cpu_seconds(pid)) is not None:
                self._spent[pid] = max(seconds, self._spent.get(pid, 0.0))
        self._looks.append((time.time(), self.total()))

    def total(self) -> float:
        """All of it."""
        return sum(self._spent.values())

    def at(self, moment: float) -> float:
        """What had been used by then, between two looks."""
        times, totals = zip(*self._looks, strict=True)
        return float(np.interp(moment, times, totals))


def descendants(pid: int) -> list[int]:
    """All processes below a process."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        try:
            tasks = list(Path("/proc", str(waiting.pop()), "task").iterdir())
            children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:  # it has ended meanwhile
            continue
        found += children
        waiting += children
    return found


def cpu_seconds(pid: int) -> float | None:
    """The processor time of one process in seconds, without its children's; None: it is gone."""
    try:
        words = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(words[11]) + int(words[12])) / TICKS  # user and system


def keep_orphans() -> None:
    """Processes whose parent ends before them stay below this one, where they are seen and ended."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("prctl failed: this benchmark needs Linux")


def end_all() -> None:
    """End what a program left behind: only processes below this one, each by its number."""
    deadline = time.time() + 10
    while left := descendants(os.getpid()):
        for pid in left:
            try:
                os.kill(pid, signal.SIGTERM if time.time() < deadline else signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(POLL_SECONDS)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def medians(turns: Sequence[Turn]) -> dict[str, float]:
    """The middle of every figure over some turns."""
    return {name: median(getattr(turn, name) for turn in turns) for name in asdict(turns[0])} if turns else {}


def peer_result(peer: Peer, version: str, pairs: Sequence[Pair], reason: str | None) -> dict[str, object]:
    """What is known of a peer: its figures and its ratios to fedclade, or the reason why there are none."""
    known: dict[str, object] = {"peer": peer.name, "version": version, "processes": peer.processes, "reason": reason}
    if not pairs:
        return known
    names = ("wall", "cpu", "round_wall", "round_cpu")
    return {
        **known,
        **medians([pair.its for pair in pairs]),
        **{f"ratio_{name}": median(getattr(p.its, name) / getattr(p.ours, name) for p in pairs) for name in names},
        "turns": [asdict(pair.its) for pair in pairs],
        "fedclade_turns": [asdict(pair.ours) for pair in pairs],
    }


def table(found: Mapping[str, object]) -> str:
    """The result as a table in Markdown."""
    ours, peers = found["fedclade"], found["peers"]
    assert isinstance(ours, Mapping)
    assert isinstance(peers, list)
    lines = [
        "| | processes | accuracy | s/round | CPU s/round | run s | run CPU s | round | round CPU | run | run CPU |",
        "| --- " * 11 + "|",
    ]
    if ours:
        lines.append(f"| fedclade | {Settings.workers} | {cells(ours)} | 1 | 1 | 1 | 1 |")
    for one in peers:
        name = f"{one['peer']} {one['version']}".strip()
        if "wall" not in one:
            lines.append(f"| {name} | did not run: {one['reason']} |" + " |" * 9)
            continue
        ratios = " | ".join(f"{one[f'ratio_{each}']:.1f}" for each in ("round_wall", "round_cpu", "wall", "cpu"))
        lines.append(f"| {name} | {one['processes']} | {cells(one)} | {ratios} |")
        if one["reason"]:
            lines.append(f"| {name}, a later turn | failed: {one['reason']} |" + " |" * 9)
    return "\n".join(lines)


def cells(one: Mapping[str, float]) -> str:
    """Accuracy and seconds of one line."""
    seconds = " | ".join(f"{one[name]:.2f}" for name in ("round_wall", "round_cpu", "wall", "cpu"))
    return f"{100 * one['accuracy']:.1f} % | {seconds}"


if __name__ == "__main__":
    sys.exit(main())
