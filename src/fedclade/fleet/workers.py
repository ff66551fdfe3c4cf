"""Persistent worker processes that answer for clients, one thread each.

Workers are forked, so that examples and the net are in their memory without a copy, and any function that makes a
module will do. Models travel through memory that a worker shares with the server; only a short header goes through
a pipe. Each request is answered from its own content alone: who answers it, and when, changes no bit.
"""

import json
import mmap
import multiprocessing
import os
import signal
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import process_time

import numpy as np
from numpy.typing import NDArray

from fedclade.fleet.protocol import Ask, Reply
from fedclade.local import one_thread
from fedclade.local.client import Answer
from fedclade.nouns import FedcladeError, LocalTraining, Round, Stopped

ALIGNMENT = 64  # bytes; linear algebra is fastest, and always takes the same path, on such addresses


class Shared:
    """Memory that a worker shares with the server: it grows when needed and has no name, so a kill leaves nothing."""

    def __init__(self) -> None:
        self._file = os.memfd_create("fedclade") if hasattr(os, "memfd_create") else unnamed_file()
        self._memory: mmap.mmap | None = None

    def write(self, arrays: Mapping[str, NDArray[np.generic]]) -> list[tuple[str, str, list[int], int]]:
        """Put the arrays there; returns what `read` needs to find them."""
        places: list[tuple[str, str, list[int], int]] = []
        end = 0
        for name, array in arrays.items():
            places.append((name, array.dtype.str, list(array.shape), end))
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        memory = self._mapped(end)
        for (_, _, _, start), array in zip(places, arrays.values(), strict=True):
            whole: NDArray[np.uint8] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            np.frombuffer(memory, np.uint8, whole.size, start)[:] = whole
        return places

    def read(self, places: Iterable[tuple[str, str, list[int], int]]) -> dict[str, NDArray[np.generic]]:
        """Copies of the arrays that stand there."""
        found: dict[str, NDArray[np.generic]] = {}
        for name, dtype, shape, start in places:
            size = int(np.prod(shape, dtype=np.int64))
            memory = self._mapped(start + size * np.dtype(dtype).itemsize)
            found[name] = np.frombuffer(memory, np.dtype(dtype), size, start).reshape(shape).copy()
        return found

    def close(self) -> None:
        """Give the memory back."""
        if self._memory is not None:
            self._memory.close()
        os.close(self._file)

    def _mapped(self, size: int) -> mmap.mmap:
        """The memory, at least so large."""
        if self._memory is None or len(self._memory) < size:
            room = max(size, mmap.PAGESIZE)
            if os.fstat(self._file).st_size < room:
                os.ftruncate(self._file, room)
            self._memory = mmap.mmap(self._file, os.fstat(self._file).st_size)
        return self._memory


def unnamed_file() -> int:
    """A file that is gone when nobody has it open, where the system has no memory without a name."""
    handle, path = tempfile.mkstemp(prefix="fedclade-")
    os.unlink(path)
    return handle


class Workers:
    """So many processes that answer requests; 0: this process answers itself."""

    def __init__(self, answer: Answer, count: int) -> None:
        self._answer = answer
        self._processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []
        self._shared: list[Shared] = []
        self._seconds = [0.0] * count
        self._busy: dict[Connection, int] = {}
        context = multiprocessing.get_context("fork")
        for number in range(count):
            here, there = context.Pipe()
            shared = Shared()
            process = context.Process(
                target=serve, args=(answer, there, shared, [*self._pipes, here]), name=f"fedclade-{number}", daemon=True
            )
            process.start()
            there.close()
            self._processes.append(process)
            self._pipes.append(here)
            self._shared.append(shared)

    @property
    def cpu_seconds(self) -> float:
        """What the workers have computed so far."""
        return sum(self._seconds)

    def ask(self, asks: Iterable[Ask]) -> Iterator[Reply]:
        """The replies as they arrive. Requests are taken one by one, when a worker is free."""
        if not self._pipes:
            with one_thread():
                yield from map(self._answer, asks)
            return
        for number in self._busy.values():  # answers to a call that nobody waited for
            self._receive(number)
        busy = self._busy = {}
        rest = iter(asks)
        for number in range(len(self._pipes)):
            if (first := next(rest, None)) is not None:
                busy[self._send(number, first)] = number
        while busy:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                number = busy.pop(pipe)
                reply = self._receive(number)
                if (following := next(rest, None)) is not None:
                    busy[self._send(number, following)] = number
                yield reply

    def close(self) -> None:
        """Stop the workers; idle ones leave when their pipe closes."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(timeout=1)
            if process.is_alive():
                process.terminate()
                process.join()
        for shared in self._shared:
            shared.close()
        self._pipes, self._processes, self._shared = [], [], []

    def _send(self, number: int, ask: Ask) -> Connection:
        header = {
            "ask": ask.plain(),
            "now": asdict(ask.now),
            "places": self._shared[number].write({"rows": ask.rows}),
        }
        try:
            self._pipes[number].send_bytes(json.dumps(header).encode())
        except OSError:
            raise self._died(number) from None
        return self._pipes[number]

    def _receive(self, number: int) -> Reply:
        try:
            header = json.loads(self._pipes[number].recv_bytes())
        except (EOFError, OSError):
            raise self._died(number) from None
        if "bug" in header:  # in a simulation nothing fails but the code
            raise WorkerFailed(f'client "{header["client"]}" failed', header["bug"])
        self._seconds[number] = header["cpu_seconds"]
        return Reply(**header["reply"], arrays=self._shared[number].read(header["places"]))

    def _died(self, number: int) -> Stopped:
        self._processes[number].join(timeout=1)
        return Stopped(
            "a worker process died",
            where=f"worker {number}",
            got=f"exit code {self._processes[number].exitcode}",
            need="a living worker (killed by hand, or out of memory?)",
        )


class WorkerFailed(FedcladeError):
    """The code that plays a client raised an exception: a bug, not a failed client."""

    def __init__(self, what: str, trace: str) -> None:
        super().__init__(what, got=trace.strip().rpartition("\n")[2], do="see the traceback with --debug")
        self.add_note(trace)


def serve(answer: Answer, pipe: Connection, shared: Shared, not_mine: list[Connection]) -> None:
    """A worker's life: answer until the server's end of the pipe is closed."""
    for inherited in not_mine:  # an open copy here would keep other workers waiting after the server is gone
        inherited.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides what an interrupt means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with one_thread():
        while answered(answer, pipe, shared):
            pass


def answered(answer: Answer, pipe: Connection, shared: Shared) -> bool:
    """Answer one request; False when there will be no more."""
    try:
        header = json.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        return False
    try:
        now = Round(**{**header["now"], "local": LocalTraining(**header["now"]["local"])})
        rows = shared.read(header["places"])["rows"].astype(np.float32, copy=False)
        reply = answer(Ask(**header["ask"], now=now, rows=rows))
        told = {"verb": reply.verb, "client": reply.client, "round": reply.round, "examples": reply.examples}
        message = {"reply": told, "places": shared.write(reply.arrays), "cpu_seconds": process_time()}
    except Exception:
        message = {"bug": traceback.format_exc(), "client": header["ask"]["client"]}
    try:
        pipe.send_bytes(json.dumps(message).encode())
    except OSError:
        return False
    return True
