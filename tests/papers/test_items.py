"""One item of each kind from end to end, on real data and in two rounds; only that everything runs can be seen then."""

from pathlib import Path

import pytest

from fedclade.data import SOURCES
from fedclade_papers.item import Terms
from fedclade_papers.registry import items_named
from fedclade_papers.runner import reproduce

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(SOURCES[name].is_available() for name in ("mnist", "emnist47")), reason="MNIST or EMNIST-47 is not here"
    ),
]


@pytest.mark.parametrize("name", ["abc-figure6", "cfl-newcomers", "cfl-figure9:mnist", "flt-figure2"])
def test_it_runs(name: str, tmp_path: Path) -> None:
    """Sessions with selection; newcomers; splits; a picture from the one-shot step alone."""
    item = items_named([name])[0]
    result = reproduce([item], Terms(tmp_path, "tiny"), jobs=1)[0]
    assert result["item"] == name
    assert result["claims"] or result["lines"]
    assert (tmp_path / "tiny" / "results.md").read_text().startswith("# The papers' tables")
