"""The maps for people are true: the list of rooms, and the pages that say where a step or a paper's line stands."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fedclade"
MAPS = [ROOT / "docs" / "one-update.md", *sorted((ROOT / "docs" / "methods").glob("*.md"))]


def rooms_listed() -> list[str]:
    """The rooms of `src/fedclade` that CONTRIBUTING names, in its order."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    listed = text[text.index("    src/fedclade/\n") : text.index("    tests/ ")]
    return re.findall(r"^      ([\w.]+?)/? ", listed, flags=re.MULTILINE)


def test_every_room_is_on_the_map() -> None:
    there = {path.name for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    listed = rooms_listed()
    assert len(listed) == len(set(listed))
    assert set(listed) == there - {"__init__.py", "_version.py"}


def test_where_to_look_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+(?!NAME)\w+\.py)`", text))  # NAME.py is still to be written
    assert len(named) >= 8
    for path in named:
        assert any((base / path).is_file() for base in (SOURCE, ROOT)), path


def names_in(path: Path) -> set[str]:
    """What a module defines: its functions, classes and constants, and `Class.method` of each class."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("page", MAPS, ids=lambda page: page.stem)
def test_every_place_on_a_page_is_there(page: Path) -> None:
    places = re.findall(r"\]\((\S+?\.py)\) `([\w.]+)`", page.read_text(encoding="utf-8"))
    assert len(places) >= 5
    for path, name in places:
        assert name in names_in(page.parent / path), f"{path} has no {name}"
