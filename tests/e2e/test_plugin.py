"""The example package, installed by pip: its plug-ins from the command line, through a real `kill -9`."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from e2e.test_kill import wait_for
from test_docs import blocks, shape, shown

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "plugin"
README = PACKAGE / "README.md"
FEDCLADE = Path(sys.executable).with_name("fedclade")
PATIENCE = 240  # seconds; a busy machine needs many times what an idle one does


class Place:
    """A folder with the experiment of the package's README, and a shell in which the package is installed."""

    def __init__(self, folder: Path, packages: Path) -> None:
        self.folder = folder
        self.variables = {**os.environ, "PYTHONPATH": str(packages)}
        for block in blocks(README):
            if block.file:
                (folder / block.file).write_text("\n".join(block.lines))

    def fedclade(self, words: str) -> str:
        """What a command prints; it must succeed and warn of nothing."""
        done = subprocess.run(
            [FEDCLADE, *words.split()],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), words
        return done.stdout


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed into a folder by itself, without a network."""
    folder = tmp_path_factory.mktemp("packages")
    offline = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", "--no-build-isolation"]
    words = [sys.executable, "-m", "pip", "install", *offline, "--target", str(folder), str(PACKAGE)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def place(packages: Path, tmp_path: Path) -> Place:
    return Place(tmp_path, packages)


def declared() -> dict[str, dict[str, str]]:
    """The plug-ins that the package declares, by group."""
    found: dict[str, dict[str, str]] = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]
    return {group.removeprefix("fedclade."): named for group, named in found.items()}


@pytest.mark.slow
def test_every_plugin_is_listed_with_its_package(place: Place) -> None:
    assert set(declared()) == {"methods", "nets", "sources", "worlds", "commands"}
    found = json.loads(place.fedclade("methods --json"))["trimmed-mean"]
    assert (found["settings"], found["package"], found["version"]) == ({"trim": 0.2}, "fedclade-example", "0.1.0")
    doctor = json.loads(place.fedclade("doctor --json"))
    usable = {(plugin["kind"] + "s", plugin["name"]) for plugin in doctor["plugins"] if plugin["state"] == "usable"}
    assert usable == {(group, name) for group, named in declared().items() for name in named}
    assert doctor["checks"]["plug-ins can be used"]


@pytest.mark.slow
def test_its_page_is_true(place: Place) -> None:
    for command, promised in shown(README):
        printed = {shape(line) for line in place.fedclade(command.removeprefix("$ fedclade ")).splitlines()}
        assert promised <= printed, command


@pytest.mark.slow
def test_a_run_that_was_killed_resumes_to_the_same_models(place: Place) -> None:
    asked = "experiment.toml --set run.rounds=60"
    whole = json.loads(place.fedclade(f"run {asked} --out whole --json"))
    assert (whole["method"], whole["rounds"]) == ("trimmed-mean", 60)
    process = subprocess.Popen(
        [FEDCLADE, *f"run {asked} --out killed --quiet".split()], cwd=place.folder, env=place.variables
    )
    wait_for(place.folder / "killed", 3, process)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    resumed = json.loads(place.fedclade("resume killed --json"))
    assert resumed["model_hash"] == whole["model_hash"]
    place.fedclade("report killed --out report.html")
    assert "trimmed-mean" in (place.folder / "report.html").read_text()


def test_fedclade_itself_does_not_know_the_package() -> None:
    names = [name for named in declared().values() for name in named if "-" in name]  # `best` is also a word
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in ("fedclade_example", "fedclade-example", *names) if name in text], path
