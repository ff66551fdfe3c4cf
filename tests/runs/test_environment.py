"""Where a run was made: the processor, and the commit of fedclade's own clone."""

import subprocess
from pathlib import Path

import pytest

from fedclade.runs import environment

CLONE = Path(__file__).parents[2]


def git(folder: Path, *words: str) -> str:
    name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_processor_has_a_name() -> None:
    assert str(environment.environment()["processor"]).strip()


@pytest.mark.skipif(not (CLONE / ".git").exists(), reason="this is no clone")
def test_the_commit_is_that_of_the_clone_that_fedclade_runs_from() -> None:
    found = str(environment.environment()["fedclade_commit"])
    assert found.partition(",")[0] == git(CLONE, "rev-parse", "HEAD")


def test_changed_sources_are_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone with one file; elsewhere, as in site-packages, there is no commit of fedclade."""
    module = tmp_path / "src" / "fedclade" / "runs" / "environment.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    monkeypatch.setattr(environment, "__file__", str(module))
    assert environment.own_commit() is None
    for words in (["init"], ["add", "."], ["commit", "-m", "one"]):
        git(tmp_path, *words)
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert environment.own_commit() == commit
    module.write_text("changed = True\n")
    assert environment.own_commit() == f"{commit}, changed"
