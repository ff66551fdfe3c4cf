"""Published defects, put into a copy of fedclade: for each, some test must fail.

A mutant of `mutants.toml` is a defect, as changes of source lines, and the tests that must see it. They run in a
process of their own against the changed copy; they must fail there, and pass where nothing was changed. `make mutants`
runs them all, and so does CI every time: with tests that are named one by one it takes about a minute.
"""

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.mutant, pytest.mark.slow]

ROOT = Path(__file__).parents[2]


MUTANTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("mutants.toml").read_text(encoding="utf-8"))


def copy_with(changes: Sequence[tuple[str, str, str]], to: Path) -> Path:
    shutil.copytree(ROOT / "src", to / "src")
    for name, old, new in changes:
        path = to / "src" / "fedclade" / name
        text = path.read_text()
        assert text.count(old) == 1, f"{name}: the line to change stands there {text.count(old)} times: {old}"
        path.write_text(text.replace(old, new))
    return to / "src"


class Warm:
    """The process that tests run in a fork of."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def outcome(self, source: Path, tests: Sequence[str]) -> tuple[int, str]:
        """The exit code of pytest for these tests against those sources, and what it printed."""
        log = source.parent / "log"
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"source": str(source), "tests": tests, "log": str(log)}) + "\n")
        self.process.stdin.flush()
        code = int(self.process.stdout.readline())
        return code, log.read_text()


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    words = [sys.executable, str(Path(__file__).with_name("warm.py"))]
    with subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Warm(process)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_mutant_dies(name: str, warm: Warm, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    code, said = warm.outcome(copy_with(mutant["changes"], tmp_path), mutant["tests"])
    # 1: tests ran and some failed. Anything else (no test found, no import) would prove nothing.
    assert code == 1, said[-3000:]
    assert " failed" in said
    assert "error" not in said.splitlines()[-1], said[-3000:]


def test_without_a_change_all_of_these_tests_pass(warm: Warm, tmp_path: Path) -> None:
    """What kills a mutant is its change, and not how its tests are run."""
    tests = tuple(dict.fromkeys(test for mutant in MUTANTS.values() for test in mutant["tests"]))
    code, said = warm.outcome(copy_with((), tmp_path), tests)
    assert code == 0, said[-3000:]
