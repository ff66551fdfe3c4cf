"""A real Flower fleet on loopback, made by `fedclade deploy init`: TLS, node keys, one SuperNode for each site.

Everything that is started here is stopped here, by its process group.
"""

import fcntl
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

BIN = Path(sys.executable).parent
CLIENTS = ("client-00", "client-01", "client-02", "client-03")
STARTED = "SuperNode ID"  # in the log of a node that was let in


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until(what: str, holds: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what}: not within {seconds} s"
        time.sleep(0.1)


class Relay:
    """What the sites dial: it passes bytes on to the SuperLink, and counts them."""

    def __init__(self, port: int, target: int) -> None:
        self.up = self.down = 0
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                site, _ = self._listener.accept()
                threading.Thread(target=self._pass, args=(site,), daemon=True).start()

    def _link(self) -> socket.socket:
        """A connection to the SuperLink, as soon as there is one: Flower gives up for good when a handshake breaks."""
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self._target))
            except ConnectionRefusedError:
                time.sleep(0.2)

    def _pass(self, site: socket.socket) -> None:
        with site, suppress(OSError), self._link() as link:
            while True:
                for one in select.select([site, link], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    if one is site:
                        self.up += len(data)
                        link.sendall(data)
                    else:
                        self.down += len(data)
                        site.sendall(data)


class Deployment:
    """An app, its SuperLink and its sites."""

    def __init__(self, place: Path, sites: int = len(CLIENTS)) -> None:
        self.app = place / "fleet"
        self.logs = place / "logs"
        self.logs.mkdir()
        self.port, self.superlink_port = free_port(), free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.relay = Relay(self.port, self.superlink_port)
        self.environment = {
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "FLWR_HOME": str(self.app / ".flwr"),
            "FLWR_TELEMETRY_ENABLED": "0",
            "FLWR_DISABLE_UPDATE_CHECK": "1",
            "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
            "OMP_NUM_THREADS": "1",
            "NO_COLOR": "1",
        }
        ports = ("--port", self.port, "--superlink-port", self.superlink_port)
        self.call("fedclade", "deploy", "init", self.app, "--clients", ",".join(CLIENTS[:sites]), *ports, where=place)
        example = self.app / "fleet_app" / "load_data.py"  # a world of four, unless there are more sites
        example.write_text(example.read_text().replace("clients=4", f"clients={sites}"))

    def call(self, *words: object, where: Path | None = None) -> str:
        """What a command prints, when it succeeds."""
        done = subprocess.run(
            [str(word) for word in words],
            cwd=where or self.app,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def begin(self, name: str, *words: object, **more: str) -> subprocess.Popen[bytes]:
        """Start a process, with its log, in a group of its own."""
        with (self.logs / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(word) for word in words],
                cwd=self.app,
                env={**self.environment, **more},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.processes[name] = process
        return process

    def log(self, name: str) -> str:
        path = self.logs / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def kill(self, name: str) -> None:
        """A real `kill -9`, of the process and of those that it started."""
        process = self.processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)

    def start_superlink(self) -> None:
        self.begin("superlink", "./start-superlink.sh")
        wait_until("the SuperLink answers", self.healthy)

    def healthy(self) -> bool:
        trusted = ssl.create_default_context(cafile=str(self.app / "keys" / "ca.crt"))
        url = f"https://127.0.0.1:{self.superlink_port}/health"
        try:
            with urllib.request.urlopen(url, context=trusted, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def register(self, *names: str) -> None:
        for name in names:
            self.call("flwr", "supernode", "register", f"keys/sites/{name}.pub", "fleet", "--name", name)

    def start_sites(self, *names: str) -> None:
        for name in names:
            self.begin(name, "./start-site.sh", name, RUNTIME_PORT=str(free_port()))
        for name in names:
            wait_until(f"{name} is let in", lambda name=name: STARTED in self.log(name))  # type: ignore[misc]

    def restart_site(self, name: str) -> None:
        """Start a site again until it is let in: Flower counts a killed one as online for most of a minute."""
        (self.logs / f"{name}.log").rename(self.logs / f"{name}-before.log")

        def let_in() -> bool:
            if name not in self.processes or self.processes[name].poll() is not None:
                self.begin(name, "./start-site.sh", name, RUNTIME_PORT=str(free_port()))
            return STARTED in self.log(name)

        wait_until(f"{name} is let in again", let_in, 200)

    def start_stranger(self, label: str, *words: str) -> None:
        """A node that should not be let in."""
        self.begin(
            label,
            "flower-supernode",
            *("--superlink", f"127.0.0.1:{self.port}", "--host", "127.0.0.1", "--port", free_port()),
            *("--max-wait-time", "20", "--node-config", f'name="{CLIENTS[0]}" number=0'),
            *words,
        )

    def start_run(self, name: str, folder: Path, **changes: object) -> subprocess.Popen[bytes]:
        """`flwr run`, which shows the ServerApp's log until the run has ended."""
        settings = " ".join(f"{key.replace('__', '.')}={value}" for key, value in changes.items())
        config = f"folder={json.dumps(str(folder))} set='{settings}'"
        return self.begin(name, "flwr", "run", ".", "fleet", "--stream", "--run-config", config)

    def finished_run(self, name: str, folder: Path, **changes: object) -> dict[str, object]:
        """A run from its start to its end: the verdict."""
        process = self.start_run(name, folder, **changes)
        self.await_verdict(name, folder, process)
        return verdict(folder)

    def wait(
        self, process: subprocess.Popen[bytes], what: str, holds: Callable[[], bool], seconds: float = 600
    ) -> None:
        """Wait for something that happens while a run goes on."""

        def happened() -> bool:
            assert process.poll() is None, f"{what}: the run has ended\n{self.everything()}"
            return holds()

        wait_until(what, happened, seconds)

    def await_verdict(self, name: str, folder: Path, process: subprocess.Popen[bytes], seconds: float = 1000) -> None:
        try:
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{name} does not end: {self.everything()}") from None
        assert (folder / "result.json").exists(), self.everything()

    def everything(self) -> str:
        """The ends of all logs, for an assertion that fails."""
        return "\n".join(f"== {path.stem}\n{self.log(path.stem)[-3000:]}" for path in sorted(self.logs.iterdir()))

    def stop(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        self.relay.close()


@contextmanager
def deployment(place: Path, sites: int = len(CLIENTS)) -> Iterator[Deployment]:
    """An app with its SuperLink, running, and so many registered sites.

    One after the other, whoever tests beside us: every message starts a process at every site.
    """
    with open(Path(tempfile.gettempdir()) / "fedclade-deployment.lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # let go of when the file is closed, however that comes
        made = Deployment(place, sites)
        try:
            made.start_superlink()
            made.register(*CLIENTS[:sites])
            yield made
        finally:
            made.stop()


def verdict(folder: Path) -> dict[str, object]:
    found = json.loads((folder / "result.json").read_text())
    assert isinstance(found, dict)
    return found


def events(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def copy_into(app: Path, source: Path) -> None:
    shutil.copy(source, app / "fleet_app" / source.name)
