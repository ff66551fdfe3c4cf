"""Where a run was made: the processor, and the commit of fedclade's own clone."""

import subprocess
from pathlib import Path

import pytest

from fedclade.runs import environment as told

CLONE = Path(__file__).parents[2]


def test_the_processor_has_a_name() -> None:
    assert str(told.environment()["processor"]).strip()


@pytest.mark.skipif(not (CLONE / ".git").exists(), reason="this is no clone")
def test_the_commit_is_that_of_the_clone_that_fedclade_runs_from() -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=CLONE, capture_output=True, text=True, check=True).stdout
    assert str(told.environment()["fedclade_commit"]).partition(",")[0] == head.strip()


def test_changed_sources_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone with one file; elsewhere, as in site-packages, there is no commit of fedclade."""
    module = tmp_path / "src" / "fedclade" / "runs" / "environment.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    monkeypatch.setattr(told, "__file__", str(module))
    assert told.own_commit() is None

    def git(*words: str) -> None:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    commit = told.own_commit()
    assert commit is not None
    assert len(commit) == 40
    module.write_text("changed = True\n")
    assert told.own_commit() == f"{commit}, changed"
