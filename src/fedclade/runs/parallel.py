"""Several runs at once, each in a process of its own. Which of them ends first changes no result.

Processes are forked, so that data that were read once are there for all. They end with the process that started them,
however that ends, and release their folders then.
"""

import errno
import json
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fedclade.client import one_thread
from fedclade.core import Damaged, FedcladeError, InputError, Stopped
from fedclade.plugins import responsible_package
from fedclade.runs.loop import ProgressCallback, RunProgress

Work = Callable[[ProgressCallback], object]
"""One run; it reports its progress."""
PrepareWork = Callable[[], Work]
"""Called before a run gets its process: it reads data that other runs need too."""
ERROR_TYPES: dict[str, type[FedcladeError]] = {each.__name__: each for each in (InputError, Stopped, Damaged)}
ERROR_PARTS = ("where", "got", "need", "do")  # of an error, after `what`
DISK_FULL = ("Stopped", "the disk is full", "", "", "", "make room, then the same command again")
EXIT_SECONDS = 10.0  # for a process to end


def run_parallel(works: Sequence[PrepareWork], count: int, progress_for: Callable[[int], ProgressCallback]) -> None:
    """Do all works, `count` at a time. The first error ends those that run; they can be resumed."""
    context = multiprocessing.get_context("fork")
    read_end, write_end = os.pipe()  # nobody writes to it: a process reads its end when we are gone
    waiting = deque(enumerate(works))
    running: dict[Connection, tuple[BaseProcess, ProgressCallback]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < count:
                number, make = waiting.popleft()
                work = make()
                here, there = context.Pipe(duplex=False)
                arguments = (work, there, read_end, write_end, [*running, here])
                process: BaseProcess = context.Process(target=run_child, args=arguments)
                process.start()
                there.close()
                running[here] = (process, progress_for(number))
            for pipe in wait(list(running)):
                assert isinstance(pipe, Connection)
                process, seen = running[pipe]
                try:
                    message = json.loads(pipe.recv_bytes())
                except EOFError:
                    message = {"error": ["", "a run's process died", "", f"exit code {wait_for_exit(process)}", "", ""]}
                if "error" in message:
                    kind, what, *parts = message["error"]
                    raise ERROR_TYPES.get(kind, FedcladeError)(what, **dict(zip(ERROR_PARTS, parts, strict=True)))
                if "end" in message:
                    del running[pipe]
                    pipe.close()
                    wait_for_exit(process)
                else:
                    seen(RunProgress(**message))
    except KeyboardInterrupt:
        got = f"{len(running) + len(waiting)} runs that are not finished"
        do = "the same command again: it goes on where it was stopped"
        raise Stopped("interrupted", got=got, do=do) from None
    finally:
        for process, _ in running.values():
            process.terminate()
        for pipe, (process, _) in running.items():
            if wait_for_exit(process) is None:
                process.kill()
                process.join()
            pipe.close()
        os.close(write_end)
        os.close(read_end)


def wait_for_exit(process: BaseProcess) -> int | None:
    """Wait until a process has ended: its exit code, or None if it takes too long."""
    process.join(EXIT_SECONDS)
    return process.exitcode


def run_child(work: Work, pipe: Connection, read_end: int, write_end: int, other_pipes: Sequence[Connection]) -> None:
    """One process: it does its run, and sends its progress."""
    os.close(write_end)
    for other in other_pipes:
        other.close()

    def send(message: object) -> None:
        with suppress(BrokenPipeError, KeyboardInterrupt):  # another run has failed, and all are being ended
            pipe.send_bytes(json.dumps(message).encode())

    try:
        threading.Thread(target=exit_with_parent, args=(read_end,), daemon=True).start()
        with one_thread():  # threads of the parent are not forked: to wait for them would be for ever
            work(lambda progress: send(asdict(progress)))
    except FedcladeError as error:
        send({"error": [type(error).__name__, error.what, *(getattr(error, part) for part in ERROR_PARTS)]})
    except KeyboardInterrupt:
        send({"error": ["Stopped", "interrupted", "", "", "", ""]})
    except Exception as error:
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        bug = f"a bug in {responsible_package(error)}, {type(error).__name__}: {error}"
        send({"error": DISK_FULL if full else ["", bug, "", "", "", ""]})
    else:
        send({"end": True})


def exit_with_parent(read_end: int) -> None:
    """End this process when the one that started it is gone."""
    os.read(read_end, 1)
    os._exit(3)
