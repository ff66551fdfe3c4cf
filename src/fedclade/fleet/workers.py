"""Persistent worker processes that answer for clients, one thread each.

Workers are forked, so that examples and the net are in their memory without a copy, and any function that makes a
module will do. Models travel through memory that a worker shares with the server, once for all clients that start from
the same one; only a short header goes through a pipe. Each request is answered from its own content alone: which worker
answers it, when, and together with which others, changes no bit.
"""

import json
import mmap
import multiprocessing
import os
import signal
import tempfile
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import process_time
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from fedclade.client import one_thread
from fedclade.core import FedcladeError, InputError, Rows, Stopped
from fedclade.wire import Reply
from fedclade.wire.codec import read_reply, read_request, read_round, reply_header, request_header, round_header
from fedclade.wire.message import AnyRequest
from fedclade.wire.verbs import TRAINING

ALIGNMENT = 64  # bytes; linear algebra is fastest, and always takes the same path, on such addresses
QUEUE_DEPTH = 2  # messages that a worker has at a time: the one that it answers, and the next
MAX_SMALL_REQUESTS = 16  # requests in one message, where an answer costs little more than the message
SMALL_MODEL_BYTES = 2**20  # bytes of a model with which that is so

ERROR_PARTS = ("where", "got", "need", "do")  # of an error, after `what`

AnswerRequests = Callable[[Sequence[AnyRequest]], Sequence[Reply]]
"""Gives the replies to several requests, in their order."""
MemoryLayout = list[tuple[str, str, list[int], int]]
"""Where arrays stand in shared memory: name, type, shape, first byte."""


class SharedMemory:
    """Memory that a worker shares with the server: it grows when needed and has no name, so a kill leaves nothing."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self._file = os.memfd_create("fedclade")
        else:  # a file without a name serves as well
            with tempfile.TemporaryFile(prefix="fedclade-") as unnamed:
                self._file = os.dup(unnamed.fileno())
        self._memory: mmap.mmap | None = None

    def write(self, arrays: Mapping[str, NDArray[np.generic]]) -> MemoryLayout:
        """Put the arrays there; returns where `view` finds them."""
        places: MemoryLayout = []
        end = 0
        for name, array in arrays.items():
            places.append((name, array.dtype.str, list(array.shape), end))
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        memory = self._map_memory(end)
        for (_, _, _, start), array in zip(places, arrays.values(), strict=True):
            there: NDArray[np.generic] = np.frombuffer(memory, array.dtype, array.size, start).reshape(array.shape)
            there[...] = array
        return places

    def view(self, places: MemoryLayout) -> dict[str, NDArray[np.generic]]:
        """The arrays where they stand, not to be written to; they hold until the next `write`."""
        found: dict[str, NDArray[np.generic]] = {}
        for name, dtype, shape, start in places:
            size = int(np.prod(shape, dtype=np.int64))
            memory = self._map_memory(start + size * np.dtype(dtype).itemsize)
            found[name] = np.frombuffer(memory, np.dtype(dtype), size, start).reshape(shape)
            found[name].flags.writeable = False
        return found

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self._memory is not None:
            self._memory.close()

    def _map_memory(self, size: int) -> mmap.mmap:
        """The memory, at least so large."""
        if self._memory is None or len(self._memory) < size:
            room = max(size, mmap.PAGESIZE)
            if os.fstat(self._file).st_size < room:
                os.ftruncate(self._file, room)
            self._memory = mmap.mmap(self._file, os.fstat(self._file).st_size)
        return self._memory


@dataclass(eq=False)
class Slot:
    """The memory of one message to a worker, and of its answer."""

    requests: SharedMemory = field(default_factory=SharedMemory)
    replies: SharedMemory = field(default_factory=SharedMemory)
    models: dict[tuple[int, tuple[int, ...]], Rows] = field(default_factory=dict)
    """The models in `requests` now, by address; kept, so that no other model can come to stand there."""
    places: MemoryLayout = field(default_factory=list)


@dataclass(eq=False)
class Worker:
    """The server's side of one worker. It has a message in hand and the next one waiting, so it is never idle."""

    process: BaseProcess
    pipe: Connection
    slots: tuple[Slot, ...]
    seconds: float = 0.0
    """Processor time that it has used so far."""
    pending_slots: deque[int] = field(default_factory=deque)
    """The slots of the messages that it has not answered yet, in their order."""

    def release(self) -> None:
        """Close the pipe, by which a worker knows that it may leave, and give the memory back."""
        self.pipe.close()
        for slot in self.slots:
            for memory in (slot.requests, slot.replies):
                with suppress(BufferError):  # an array in it is still in use
                    memory.close()


LIVE_WORKERS: "WeakSet[Worker]" = WeakSet()
"""All of this process: a worker that is forked inherits our side of them, and would keep it open."""


class Workers:
    """So many processes that answer requests; 0: this process answers itself."""

    def __init__(
        self, answer: AnswerRequests, count: int, *, warm: Callable[[], object] = lambda: None, clients_at_once: int = 1
    ) -> None:
        self._answer, self._clients_at_once = answer, clients_at_once
        self._workers: list[Worker] = []
        self._closed = False
        context = multiprocessing.get_context("fork")
        for number in range(count):
            here, there = context.Pipe()
            slots = tuple(Slot() for _ in range(QUEUE_DEPTH))
            given = (answer, warm, there, slots, here, list(LIVE_WORKERS))
            process = context.Process(target=serve, args=given, name=f"fedclade-{number}", daemon=True)
            process.start()
            there.close()
            self._workers.append(Worker(process, here, slots))
            LIVE_WORKERS.add(self._workers[-1])

    @property
    def cpu_seconds(self) -> float:
        return sum(worker.seconds for worker in self._workers)

    def ask(self, requests: Collection[AnyRequest]) -> Iterator[Reply]:
        """The replies as they arrive. Requests are taken when a worker is free, a few at a time."""
        if self._closed:
            raise Stopped("the fleet is closed", need="an open one")
        share = self._share(requests)
        rest = deque(requests)
        if not self._workers:
            with one_thread():
                while rest:
                    yield from self._answer(take(rest, share))
            return
        for worker in self._workers:  # answers to a call that was not read to its end
            while worker.pending_slots:
                self._receive(worker)
            for slot in worker.slots:
                slot.models = {}
        for _ in range(QUEUE_DEPTH):
            for worker in self._workers:
                self._supply(worker, rest, share)
        while busy := {worker.pipe: worker for worker in self._workers if worker.pending_slots}:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                replies = self._receive(busy[pipe])
                self._supply(busy[pipe], rest, share)
                yield from replies

    def _supply(self, worker: Worker, rest: deque[AnyRequest], share: int) -> None:
        """Send a worker its next message; a second one only while there is enough for all: they should end together."""
        if not worker.pending_slots or len(rest) >= share * len(self._workers):
            self._send(worker, take(rest, share))

    def _share(self, requests: Collection[AnyRequest]) -> int:
        """How many requests go in one message: one where an answer takes long, so that all workers end together."""
        if not requests:
            return 1
        first = next(iter(requests))
        most = MAX_SMALL_REQUESTS if first.rows.nbytes <= SMALL_MODEL_BYTES else 1
        if first.verb.name in TRAINING:
            most = self._clients_at_once
        return max(1, min(most, len(requests) // (3 * max(1, len(self._workers)))))

    def close(self) -> None:
        """Stop the workers; idle ones leave when their pipe closes."""
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join(timeout=1)
            if worker.process.is_alive():
                worker.process.terminate()
                worker.process.join()
            worker.release()
            LIVE_WORKERS.discard(worker)
        self._workers, self._closed = [], True

    def _send(self, worker: Worker, requests: Sequence[AnyRequest]) -> None:
        """Requests of one round; a model that several of them share is sent once, and once for several messages."""
        if not requests:
            return
        number = next(each for each in range(QUEUE_DEPTH) if each not in worker.pending_slots)
        slot = worker.slots[number]
        models = {address(request.rows): request.rows for request in requests}
        if not models.keys() <= slot.models.keys():
            slot.places = slot.requests.write({str(place): rows for place, rows in enumerate(models.values())})
            slot.models = models
        order = {key: place for place, key in enumerate(slot.models)}
        header = {
            "slot": number,
            "requests": [request_header(request) for request in requests],
            "models": [order[address(request.rows)] for request in requests],
            "now": round_header(requests[0].now),
            "places": slot.places,
        }
        try:
            worker.pipe.send_bytes(json.dumps(header).encode())
        except OSError:
            raise self._death_error(worker) from None
        worker.pending_slots.append(number)

    def _receive(self, worker: Worker) -> list[Reply]:
        slot = worker.slots[worker.pending_slots.popleft()]
        try:
            header = json.loads(worker.pipe.recv_bytes())
        except (EOFError, OSError):
            raise self._death_error(worker) from None
        if "wrong" in header:  # a function of the user's own, which is used in a worker first
            what, *parts = header["wrong"]
            raise InputError(what, **dict(zip(ERROR_PARTS, parts, strict=True)))
        if "bug" in header:  # in a simulation nothing fails but the code
            raise WorkerFailed(f"{header['who']} failed", header["bug"])
        worker.seconds = header["cpu_seconds"]
        arrays = slot.replies.view(header["places"])
        return [
            read_reply(reply, {name: arrays[f"{number} {name}"].copy() for name in names})
            for number, (reply, names) in enumerate(header["replies"])
        ]

    def _death_error(self, worker: Worker) -> Stopped:
        worker.process.join(timeout=1)
        got, need = f"exit code {worker.process.exitcode}", "a living worker (killed by hand, or out of memory?)"
        return Stopped("a worker process died", where=worker.process.name, got=got, need=need)


def take(rest: deque[AnyRequest], count: int) -> list[AnyRequest]:
    """The next few requests, taken out of the rest."""
    return [rest.popleft() for _ in range(min(count, len(rest)))]


def address(rows: Rows) -> tuple[int, tuple[int, ...]]:
    """Where a model stands, and its shape: the same model, as long as it is kept."""
    return rows.ctypes.data, rows.shape


class WorkerFailed(FedcladeError):
    """The code that plays a client raised an exception: a bug, not a failed client."""

    def __init__(self, what: str, trace: str) -> None:
        super().__init__(what, got=trace.strip().rpartition("\n")[2], do="see the traceback with --debug")
        self.add_note(trace)


def serve(
    answer: AnswerRequests,
    warm: Callable[[], object],
    pipe: Connection,
    slots: Sequence[Slot],
    servers_end: Connection,
    others: Sequence[Worker],
) -> None:
    """The main function of a worker: warm up, then answer until the server's end of the pipe is closed."""
    servers_end.close()
    for inherited in others:  # an open copy here would keep them waiting after the server is gone
        inherited.release()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides what an interrupt means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with one_thread():
        warm()
        while answer_message(answer, pipe, slots):
            pass


def answer_message(answer: AnswerRequests, pipe: Connection, slots: Sequence[Slot]) -> bool:
    """Answer the requests of one message; False when there will be no more."""
    try:
        header = json.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        return False
    slot = slots[header["slot"]]
    try:
        now = read_round(header["now"])
        models = [rows.astype(np.float32, copy=False) for rows in slot.requests.view(header["places"]).values()]
        requests = [
            read_request(request, now, models[number])
            for request, number in zip(header["requests"], header["models"], strict=True)
        ]
        found = answer(requests)
        arrays = {
            f"{number} {name}": array for number, reply in enumerate(found) for name, array in reply.arrays.items()
        }
        replies = [(reply_header(reply), list(reply.arrays)) for reply in found]
        message = {"replies": replies, "places": slot.replies.write(arrays), "cpu_seconds": process_time()}
    except InputError as error:
        message = {"wrong": [error.what, *(getattr(error, part) for part in ERROR_PARTS)]}
    except Exception:
        who = ", ".join(f'client "{request["client"]}"' for request in header["requests"])
        message = {"bug": traceback.format_exc(), "who": who}
    try:
        pipe.send_bytes(json.dumps(message).encode())
    except OSError:
        return False
    return True
