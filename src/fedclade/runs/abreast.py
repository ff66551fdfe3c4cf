"""Several runs at once, each in a process of its own. Which of them ends first changes no result.

Processes are forked, so that data that were read once are there for all. They end with the process that started them,
however that ends, and let go of their folders then.
"""

import errno
import json
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from fedclade.local import one_thread
from fedclade.nouns import Damaged, FedcladeError, InputError, Stopped
from fedclade.plugins import culprit
from fedclade.runs.loop import Progress, Watch

Work = Callable[[Watch], object]
"""One run, with somebody to watch it."""
Make = Callable[[], Work]
"""What is done here before a run gets its process: reading data that others need too."""
KINDS: dict[str, type[FedcladeError]] = {each.__name__: each for each in (InputError, Stopped, Damaged)}
PARTS = ("what", "where", "got", "need", "do")  # of an error
FULL = ("Stopped", "the disk is full", "", "", "", "make room, then the same command again")
PATIENCE = 10.0  # seconds for a process that was told to end


def abreast(works: Sequence[Make], count: int, watch: Callable[[int], Watch]) -> None:
    """Do all of them, `count` at a time. The first error ends those that run; they can be resumed."""
    context = multiprocessing.get_context("fork")
    leash, held = os.pipe()  # nobody writes to it: a process reads its end when we are gone
    waiting = deque(enumerate(works))
    running: dict[Connection, tuple[BaseProcess, Watch]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < count:
                number, make = waiting.popleft()
                work = make()
                here, there = context.Pipe(duplex=False)
                process: BaseProcess = context.Process(target=alone, args=(work, there, leash, held, [*running, here]))
                process.start()
                there.close()
                running[here] = (process, watch(number))
            for pipe in wait(list(running)):
                assert isinstance(pipe, Connection)
                process, seen = running[pipe]
                try:
                    told = json.loads(pipe.recv_bytes())
                except EOFError:
                    told = {"error": ["", "a run's process died", "", f"exit code {ended(process)}", "", ""]}
                if "error" in told:
                    kind, *parts = told["error"]
                    raise KINDS.get(kind, FedcladeError)(parts[0], **dict(zip(PARTS[1:], parts[1:], strict=True)))
                if "end" in told:
                    del running[pipe]
                    pipe.close()
                    ended(process)
                else:
                    seen(Progress(**told))
    except KeyboardInterrupt:
        again = "the same command again: it goes on where it was stopped"
        raise Stopped(
            "interrupted", got=f"{len(running) + len(waiting)} runs that are not finished", do=again
        ) from None
    finally:
        for process, _ in running.values():
            process.terminate()
        for pipe, (process, _) in running.items():
            if ended(process) is None:
                process.kill()
                process.join()
            pipe.close()
        os.close(held)
        os.close(leash)


def ended(process: BaseProcess) -> int | None:
    """Wait until a process has ended: its exit code, or None if it takes too long."""
    process.join(PATIENCE)
    return process.exitcode


def alone(work: Work, pipe: Connection, leash: int, held: int, not_mine: Sequence[Connection]) -> None:
    """What one process does: its run, and telling how far it is."""
    os.close(held)
    for other in not_mine:
        other.close()
    threading.Thread(target=end_with, args=(leash,), daemon=True).start()

    def tell(message: object) -> None:
        pipe.send_bytes(json.dumps(message).encode())

    try:
        with one_thread():  # those of the process that started us are not here: to wait for them would be for ever
            work(lambda progress: tell(asdict(progress)))
    except FedcladeError as wrong:
        tell({"error": [type(wrong).__name__, *(getattr(wrong, part) for part in PARTS)]})
    except KeyboardInterrupt:
        tell({"error": ["Stopped", "interrupted", "", "", "", ""]})
    except Exception as wrong:
        full = isinstance(wrong, OSError) and wrong.errno == errno.ENOSPC
        bug = f"a bug in {culprit(wrong)}, {type(wrong).__name__}: {wrong}"
        tell({"error": FULL if full else ["", bug, "", "", "", ""]})
    else:
        tell({"end": True})


def end_with(leash: int) -> None:
    """End this process when the one that started it is gone."""
    os.read(leash, 1)
    os._exit(3)
