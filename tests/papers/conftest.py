"""The items of digits, made once for all tests."""

import shutil
from pathlib import Path

import pytest

from fedclade_papers.item import Terms
from fedclade_papers.runner import reproduce
from papers.digit_items import FIGURE, TABLE, Seen


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Terms, Seen]:
    """Both items, not to be changed, and what was shown while they were made."""
    terms, seen = Terms(tmp_path_factory.mktemp("made"), "small"), Seen()
    reproduce([TABLE, FIGURE], terms, jobs=1, display=seen.display)
    return terms, seen


@pytest.fixture
def copy(made: tuple[Terms, Seen], tmp_path: Path) -> Terms:
    """Both items, to be changed."""
    return Terms(shutil.copytree(made[0].folder, tmp_path / "copy"), "small")
