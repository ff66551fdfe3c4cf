"""The kernel's library: built with a compiler, absent without one, never used when its sources have changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fedclade.local.kernel import library
from fedclade.local.native import build

needs_compiler = pytest.mark.skipif(not build.compiler(), reason="there is no C compiler")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the sources, without the library."""
    folder = tmp_path / "native"
    shutil.copytree(build.HERE, folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    return folder


def built(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(folder / "build.py")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@needs_compiler
def test_it_is_built_from_its_sources_alone(sources: Path) -> None:
    done = built(sources)
    assert done.returncode == 0, done.stderr
    assert library(None, sources / "kernel.so") is not None


@pytest.mark.slow
@needs_compiler
def test_one_of_other_sources_is_not_used(sources: Path) -> None:
    changed = sources / "dense.c"
    changed.write_text(changed.read_text() + "\n/* changed */\n")
    assert built(sources).returncode == 0
    assert library(None, sources / "kernel.so") is None


def test_without_a_compiler_there_is_none_and_no_harm(sources: Path) -> None:
    done = built(sources, PATH="/nowhere", CC="")
    assert done.returncode == 1
    assert "there is no C compiler" in done.stderr
    assert not (sources / "kernel.so").exists()
    assert library(None, sources / "kernel.so") is None


def test_a_compiler_that_fails_says_why(sources: Path) -> None:
    done = built(sources, CC=f"{sys.executable} -c raise(SystemExit(1))")
    assert done.returncode == 1
    assert "the compiler failed" in done.stderr
    assert not (sources / "kernel.so").exists()


def test_loading_it_leaves_the_process_as_it_was() -> None:
    """A library linked with -ffast-math would flush small numbers to zero everywhere."""
    library()
    tiny = np.array([1e-40], np.float32)
    assert (tiny * np.float32(1))[0] > 0
