"""Every page is run: its Python, its commands, its experiments; and every example.

A page becomes a script with the same line numbers, so that a traceback points into the page. Python stays as it is, a
line `$ fedclade ...` of a console block becomes a call of the command, and what the page shows below such a line must
be among what the command prints, but for the numbers. A TOML block behind a line that names a file in backticks is
written to that file first. Blocks of any other kind (sh, text) are read by people only.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedclade.data import WORLDS
from fedclade.methods import METHODS
from fedclade.nets import NETS
from fedclade.nouns import LocalTraining
from fedclade.nouns.settings import plain
from fedclade.runs.experiment import EngineSettings, RunSettings

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
PROSE = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FEDCLADE = Path(sys.executable).with_name("fedclade")
PATIENCE = 240  # seconds for one page or example; a busy machine needs a few times what an idle one does


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    first: int
    """The number of its first line in the page, from 0."""
    lines: tuple[str, ...]
    file: str
    """The file that the line before it names, if any."""


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in their order."""
    lines = page.read_text(encoding="utf-8").splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        if opened is None and re.fullmatch(r"```\w+", line):
            opened = number
        elif opened is not None and line == "```":
            before = next((text for text in reversed(lines[:opened]) if text), "")
            named = re.search(r"`([\w./-]+\.toml)`:$", before)
            yield Block(
                lines[opened][3:], opened + 1, tuple(lines[opened + 1 : number]), named.group(1) if named else ""
            )
            opened = None
    assert opened is None, f"{page.name}, line {opened}: a block is not closed"


def call(command: str) -> str:
    """One line of Python that runs a command of the page, and stops the page if it fails."""
    words = [str(FEDCLADE), *command.split()[1:]]
    return f"print({'$ ' + command!r}, flush=True); __import__('subprocess').run({words!r}, check=True)"


def script(page: Path) -> str:
    """The page as a script with the same line numbers."""
    lines = [""] * len(page.read_text(encoding="utf-8").splitlines())
    for block in blocks(page):
        for number, line in enumerate(block.lines, block.first):
            if block.kind == "python":
                lines[number] = line
            elif block.kind == "console" and line.startswith("$ fedclade"):
                lines[number] = call(line[2:])
    return "\n".join(lines)


def shown(page: Path) -> list[tuple[str, set[str]]]:
    """Every command of the page, and what the page says that it prints."""
    told: list[tuple[str, set[str]]] = []
    for block in blocks(page):
        for line in block.lines if block.kind == "console" else ():
            if line.startswith("$ "):
                told.append((line, set()))
            elif line.strip() not in ("", "..."):
                told[-1][1].add(shape(line))
    return told


def printed(transcript: str) -> list[tuple[str, set[str]]]:
    """Every command that was run, and what it printed."""
    told: list[tuple[str, set[str]]] = [("", set())]
    for line in transcript.splitlines():
        if line.startswith("$ fedclade"):
            told.append((line, set()))
        else:
            told[-1][1].add(shape(line))
    return told[1:]


def shape(line: str) -> str:
    """A line without its numbers, which differ between machines, and without the width of its columns."""
    return " ".join(re.sub(r"\d+(\.\d+)?", "#", line).split())


def run_here(words: list[str], folder: Path) -> str:
    """What a script printed, run as a user would run it; it must succeed."""
    done = subprocess.run(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_has_something_that_is_run(page: Path) -> None:
    assert script(page).strip(), f"{page.name} has no Python and no command: nothing holds it true"
    for command, _ in shown(page):
        assert command.startswith("$ fedclade"), f"{page.name}: {command} is not run, so it belongs in a sh block"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_is_true(page: Path, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for block in blocks(page):
        if block.kind == "toml" and block.file:
            (here / block.file).write_text("\n".join(block.lines), encoding="utf-8")
    as_script = tmp_path / f"{page.name}.py"
    as_script.write_text(script(page), encoding="utf-8")
    transcript = run_here([sys.executable, str(as_script)], here)
    for (command, promised), (ran, got) in zip(shown(page), printed(transcript), strict=True):
        assert command == ran
        assert promised <= got, f"{page.name}: {command} no longer prints {sorted(promised - got)}, but\n{transcript}"


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_runs_and_leaves_nothing_behind(example: Path, tmp_path: Path) -> None:
    assert run_here([sys.executable, str(example)], tmp_path).strip()
    assert not list(tmp_path.iterdir())


def test_reference_names_every_setting_with_its_default() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    settings = [LocalTraining(), RunSettings(), EngineSettings()]
    ours = {name: known.made for name, known in METHODS.items() if known.made.__module__.startswith("fedclade.")}
    named = {**WORLDS, **NETS, **ours}
    for name in named:
        assert f"`{name}`" in page
    for made in [*settings, *(kind() for kind in named.values())]:
        for name, default in plain(made).items():
            value = f'"{default}"' if isinstance(default, str) else str(default)
            line = re.compile(rf"^\| `{name}` \|.*\| `{re.escape(value)}` \|", re.MULTILINE)
            assert line.search(page), f"docs/reference.md has no line for {type(made).__name__}.{name} = {value}"


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
