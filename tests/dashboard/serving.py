"""The real dashboard in a process of its own, and requests to it as raw as an attacker's."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

Headers = Mapping[str, str]
ENOUGH = 180  # seconds for anything that the page does; a busy machine is many times slower than an idle one


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Headers
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Served:
    """A dashboard that answers."""

    process: "subprocess.Popen[bytes]"
    address: str
    port: int
    token: str
    errors: IO[bytes]
    """What it says on stderr."""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def cookie(self) -> str:
        return f"fedclade-{self.port}={self.token}"

    def ask(self, path: str, method: str = "GET", headers: Headers | None = None, *, known: bool = True) -> Answer:
        """One request, its path sent as it is; `known`: with the cookie."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ENOUGH)
        try:
            given = dict(headers or {})
            line.putrequest(method, path, skip_host="Host" in given, skip_accept_encoding=True)
            for name, value in {**({"Cookie": self.cookie} if known else {}), **given}.items():
                line.putheader(name, value)
            line.endheaders()
            answer = line.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            line.close()

    def said(self) -> bytes:
        """All that it has said on stderr."""
        self.errors.seek(0)
        return self.errors.read()

    def end(self) -> int:
        """Ctrl-C, and the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(ENOUGH)


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """The dashboard of this folder, as a user starts it."""
    command = [sys.executable, "-m", "fedclade", "dashboard", str(folder), "--port", "0", "--json"]
    with (
        tempfile.TemporaryFile() as errors,  # a pipe that nobody reads would fill up
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=dict(os.environ)) as process,
    ):
        try:
            assert process.stdout is not None
            address = str(json.loads(process.stdout.readline())["address"])
            port, token = address.removeprefix("http://127.0.0.1:").split("/?token=")
            yield Served(process, address, int(port), token, errors)
        finally:
            process.kill()
