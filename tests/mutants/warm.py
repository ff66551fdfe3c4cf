"""A process that has loaded everything but fedclade: the tests of each mutant run in a fork of it.

Loading torch and the rest takes seconds, and running a mutant's test a fraction of one. On every line of stdin: where a
changed copy of the sources is, the tests to run against it, and the file for what they print; on stdout, for each, the
exit code of pytest.
"""

import json
import os
import signal
import sys

import hypothesis
import numpy as np
import pyarrow.parquet
import pydantic
import pytest
import safetensors.numpy
import scipy.cluster.hierarchy
import scipy.optimize
import sklearn.cluster
import sklearn.datasets
import sklearn.metrics
import torch.func

LOADED = (hypothesis, np, pyarrow.parquet, pydantic, safetensors.numpy, scipy, sklearn, torch)
SECONDS = 280  # for the tests of one mutant, on a busy machine
# Without explanations: where CI is set pytest compares whole arrays of 50,000 numbers in words, for minutes.
OPTIONS = ("-q", "-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist")


def run(source: str, tests: list[str], log: str) -> None:
    """Run tests against a copy of the sources; this process ends with them."""
    log_file = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log_file, 1)
    os.dup2(log_file, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.alarm(SECONDS)  # whatever it hangs in, it ends
    os.environ.update(PYTHONPATH=source, PYTEST_ADDOPTS="")
    os.environ.pop("PYTEST_XDIST_WORKER", None)
    sys.path.insert(0, source)
    code = int(pytest.main([*OPTIONS, *tests]))
    if not str(sys.modules["fedclade"].__file__).startswith(source):
        code = 99  # the tests saw other sources
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main() -> None:
    assert "fedclade" not in sys.modules
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
