"""The kernel's library: built with a compiler, absent without one, never used when its sources have changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedclade.client.kernel import library
from fedclade.client.native import build


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources, without the library."""
    folder = tmp_path / "native"
    shutil.copytree(build.HERE, folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return folder


def built(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    words, variables = [sys.executable, str(folder / "build.py")], {**os.environ, **environment}
    return subprocess.run(words, env=variables, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(not build.compiler(), reason="there is no C compiler")
@pytest.mark.parametrize("change", ["", "\n/* changed */\n"])
def test_it_is_built_from_its_sources_and_not_used_when_they_are_others(sources: Path, change: str) -> None:
    changed = sources / "dense.c"
    changed.write_text(changed.read_text() + change)
    done = built(sources)
    assert done.returncode == 0, done.stderr
    assert (library(None, sources / "kernel.so") is None) == bool(change)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"PATH": "/nowhere", "CC": ""}, "there is no C compiler"),
        ({"CC": f"{sys.executable} -c raise(SystemExit(1))"}, "the compiler failed"),
    ],
)
def test_without_a_compiler_that_works_there_is_none_and_no_harm(
    sources: Path, variables: dict[str, str], said: str
) -> None:
    done = built(sources, **variables)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (sources / "kernel.so").exists()
    assert library(None, sources / "kernel.so") is None


def test_loading_it_leaves_the_process_as_it_was() -> None:
    """A library linked with -ffast-math would flush small numbers to zero everywhere."""
    library()
    tiny = np.array([1e-40], np.float32)
    assert (tiny * np.float32(1))[0] > 0
