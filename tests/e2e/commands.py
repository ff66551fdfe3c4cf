"""Commands of fedclade in processes that begin at once: forked from one that has loaded it, and nothing else.

Loading takes seconds, which is most of the life of a command that is killed soon.
"""

import multiprocessing
import os
import sys

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["fedclade.api", "fedclade.cli", "fedclade.client.kernel", "sklearn.datasets"])


def command(*words: str) -> None:
    """The command itself, silent; this process ends with it."""
    from fedclade.cli import main

    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    sys.argv = ["fedclade", *words]
    main()
