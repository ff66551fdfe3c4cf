"""Which fleet an experiment gets, and what is refused before there is one."""

import importlib.util
from pathlib import Path

import pytest

from fedclade.core import InputError
from fedclade.runs.backend import backend_for
from fedclade.runs.experiment import FlowerSettings, read_experiment
from fedclade.runs.run import start
from refusals import check_refused

SITES = """
[data]
source = "sites"
shape = [2, 3]
classes = 4
[engine]
name = "flower"
"""


def written(tmp_path: Path, text: str = SITES) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(text)
    return path


def test_sites_are_described_and_read_again(tmp_path: Path) -> None:
    found = read_experiment(written(tmp_path))
    assert isinstance(found.engine, FlowerSettings)
    assert (found.data["shape"], found.data["classes"], found.engine.clients) == ((2, 3), 4, 2)
    assert read_experiment(written(tmp_path, found.toml())) == found


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('name = "flower"', 'name = "simulated"', r'data at sites need Flower.*got "simulated"'),
        ("shape = [2, 3]", "", r"shape is missing"),
        ("shape = [2, 3]", "shape = []", r"shape is not usable"),
        ("shape = [2, 3]", "shape = [0]", r"shape is not usable.*got 0"),
        ("classes = 4", "classes = 1", r"classes is not usable"),
        ("classes = 4", 'classes = 4\nworld = "iid"', r"world has no use"),
        ("classes = 4", "classes = 4\n[data.drift]\nround = 2", r"drift has no use"),
        ("classes = 4", "classes = 4\nclients = 3", r"clients is not known"),
        ('name = "flower"', 'name = "flower"\ntrain_seconds = 0', r"train_seconds is not usable"),
        ('name = "flower"', 'name = "flower"\nworkers = 0', r"workers is not usable"),
        ('name = "flower"', 'name = "flower"\ndeadline = 3', r"deadline is not known"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, error: str) -> None:
    check_refused(error, read_experiment, written(tmp_path, SITES.replace(old, new)))


def test_sites_cannot_be_run_from_here(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the data are at the sites.*deploy init"):
        start(read_experiment(written(tmp_path)), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_says_that_flower_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "flwr" else there(name, *more))
    path = written(tmp_path, '[data]\nsource = "digits"\nworld = "iid"\n[engine]\nname = "flower"\n')
    with pytest.raises(InputError, match=r"Flower is not installed.*pip install 'fedclade\[flower\]'"):
        backend_for(read_experiment(path), None)
