"""Every page is run: its Python, its commands, its experiments; and every example.

A page becomes a script with the same line numbers, so that a traceback points into the page. Python stays as it is, a
line `$ fedclade ...` of a console block becomes a call of the command, and what the page shows below such a line must
be among what the command prints, but for the numbers. A TOML block behind a line that names a file in backticks is
written to that file first. Blocks of any other kind (sh, text) are read by people only.
"""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fedclade.core import LocalTraining
from fedclade.core.training import SGD, Adam, AdamW, CosineSchedule, StepSchedule
from fedclade.data import SOURCES, WORLDS, OwnData
from fedclade.data.recipe import MODIFIERS, read_recipe
from fedclade.methods import METHODS, ClassMoments, Encoder, Selection
from fedclade.nets import NETS
from fedclade.runs.early_stopping import EarlyStopping
from fedclade.runs.experiment import EngineSettings, FlowerSettings, read_experiment
from fedclade.runs.run_settings import RunSettings
from fedclade.runs.target import MetricTarget

ROOT = Path(__file__).parents[1]
MAPS = [ROOT / "docs" / "one-update.md", *sorted((ROOT / "docs" / "methods").glob("*.md"))]  # held by test_map.py
PAGES = [ROOT / "README.md", *(page for page in sorted((ROOT / "docs").glob("*.md")) if page not in MAPS)]
PROSE = [*PAGES, *MAPS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md"]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FEDCLADE = Path(sys.executable).with_name("fedclade")
OUR_METHODS = {name: known.made for name, known in METHODS.items() if known.made.__module__.startswith("fedclade.")}
PATIENCE = 900  # seconds for one page or example; a busy machine needs a few times what an idle one does


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
    entries: list[tuple[str, set[str]]] = []
    for block in blocks(page):
        for line in block.lines if block.kind == "console" else ():
            if line.startswith("$ "):
                entries.append((line, set()))
            elif line.strip() not in ("", "..."):
                entries[-1][1].add(shape(line))
    return entries


def printed(transcript: str) -> list[tuple[str, set[str]]]:
    """Every command that was run, and what it printed."""
    entries: list[tuple[str, set[str]]] = [("", set())]
    for line in transcript.splitlines():
        if line.startswith("$ fedclade"):
            entries.append((line, set()))
        else:
            entries[-1][1].add(shape(line))
    return entries[1:]


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
@pytest.mark.timeout(PATIENCE + 60)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_experiments_can_be_read(page: Path, tmp_path: Path) -> None:
    for block in blocks(page):
        if block.kind == "toml":
            assert block.file, f"{page.name}, line {block.first}: an experiment without the name of a file"
            (tmp_path / block.file).write_text("\n".join(block.lines), encoding="utf-8")
            read_experiment(tmp_path / block.file)


def defaults(kind: type) -> Iterator[tuple[str, str]]:
    """Every setting of a class, and its default as the reference shows it."""
    assert dataclasses.is_dataclass(kind)
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING:
            yield field.name, "required"
        else:
            value = list(field.default) if isinstance(field.default, tuple) else field.default
            value = getattr(value, "kind", value)  # a nested table stands by its kind
            yield field.name, f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def rows(heading: str) -> list[list[str]]:
    """The cells of every table row below a heading of the reference, down to the next heading of its level or above."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    level = heading.partition(" ")[0]
    assert f"\n{heading}\n" in page
    part = re.split(rf"^#{{2,{len(level)}}} ", page.partition(f"\n{heading}\n")[2], flags=re.MULTILINE)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]


def meant(cell: str, known: Iterable[str]) -> set[str]:
    """The names that a cell lists in backticks; "all but" stands for all others."""
    listed = set(re.findall("`([^`]+)`", cell))
    return set(known) - listed if cell.startswith("all but") else listed


def test_reference_names_every_setting_with_its_default() -> None:
    alone: dict[str, type] = {
        "[local]": LocalTraining,
        "Who takes part": Selection,
        "[run]": RunSettings,
        "[run.early_stopping]": EarlyStopping,
        "[compare]": MetricTarget,
        "[engine]": EngineSettings,
        "[engine] with Flower": FlowerSettings,
    }
    for heading, kind in alone.items():
        entries = [row[:3] for row in rows(f"### {heading}")]
        for name, default in defaults(kind):
            assert any(row[0] == f"`{name}`" and row[2] == default for row in entries), f"{heading} {name} = {default}"
    for signature in (ClassMoments, Encoder):
        entries = [row[:3] for row in rows("#### Signatures of FLT")]
        for name, default in defaults(signature):
            assert name == "kind" or any((row[0], row[2]) == (f"`{name}`", default) for row in entries), name
    nested = {"Optimisers": (SGD, Adam, AdamW), "Schedules": (CosineSchedule, StepSchedule)}
    for heading, choices in nested.items():
        table = [row for row in rows(f"#### {heading}") if len(row) == 5 and row[0] not in ("key", "---")]
        by_name: dict[str, type] = {choice.kind: choice for choice in choices}
        shown_there = {(one, row[0], row[2]) for row in table for one in meant(row[3], by_name)}
        has = {(one, f"`{name}`", default) for one, kind in by_name.items() for name, default in defaults(kind)}
        assert shown_there == {each for each in has if each[1] != "`kind`"}, heading
    for name, default in defaults(OwnData):
        assert any(row[0] == f"`{name}`" and row[2] == default for row in rows("## Own data")), f"{name} = {default}"
    named: dict[str, dict[str, type]] = {
        "### [net]": {**NETS},
        "### [method]": {**OUR_METHODS},
        "## Worlds": {**WORLDS},
    }
    for heading, kinds in named.items():
        table = [row for row in rows(heading) if len(row) == 5 and row[0] not in ("key", "---", "`name`")]
        told_of = {(one, row[0], row[2]) for row in table for one in meant(row[3], kinds)}
        there = {(one, f"`{name}`", default) for one, kind in kinds.items() for name, default in defaults(kind)}
        assert told_of == there, f"{heading}: (what, setting, default) in one of reference and code only"


def test_reference_names_what_goes_over_a_world() -> None:
    entries = [tuple(row[:3]) for row in rows("### A world that changes")]
    for over, kind in MODIFIERS.items():
        assert f"`[data.{over}]`" in (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
        for name, default in defaults(kind):
            assert any((row[0], row[2]) == (f"`{name}`", default) for row in entries), f"{over}.{name} = {default}"


def test_reference_names_everything_with_a_name() -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    truths = {row[0]: row[2] for row in rows("## Worlds") if len(row) == 4}
    assert {f"`{name}`" for name in WORLDS} <= set(truths)
    for name in (*NETS, *OUR_METHODS):
        assert f"`{name}`" in page
    found = {row[0]: row for row in rows("## Sources")}
    for name, source in SOURCES.items():
        fetched, where = found[f"`{name}`"][3:]
        for files in source.files:
            assert f"`{files.folders[0]}/`" in where, f"{name}: {files.folders[0]}/"
            assert any(all(f"`{file}`" in page for file in layout) for layout in files.layouts), name
        assert fetched == ("yes" if source.files and all(files.official for files in source.files) else "no"), name


def test_reference_tells_the_planted_truth() -> None:
    asked: dict[str, dict[str, object]] = {"structured": {"groups": 2, "clients": 20}, "dominant": {"examples": 20}}
    entries = {row[0].strip("`"): row[2] for row in rows("## Worlds") if len(row) == 4}
    for name in WORLDS:
        if name == "writers":  # needs a source with writers
            assert entries[name] == "none"
            continue
        truth = read_recipe({"source": "digits", "world": name, **asked.get(name, {})}).federation(0).truth
        assert entries[name] == ("none" if truth is None else "one group" if len(truth) == 1 else "the groups"), name


@pytest.mark.parametrize("page", PROSE, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
