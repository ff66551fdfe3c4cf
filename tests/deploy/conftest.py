"""Apps as `deploy init` writes them."""

from pathlib import Path

import pytest

from deploy.apps import planned
from fedclade.deploy.init import write_app


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """An app with two sites, as it was written."""
    plan = planned(tmp_path / "app")
    write_app(plan)
    return plan.folder
