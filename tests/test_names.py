"""Names read as plain English: no replaced name comes back, no function is a participle, a type is defined once."""

import ast
import dataclasses
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedclade.core import LocalTraining
from fedclade.data import WORLDS
from fedclade.methods import METHODS, ClassMoments, Encoder, Selection
from fedclade.nets import NETS
from fedclade.runs.experiment import EngineSettings, FlowerSettings
from fedclade.runs.run_settings import RunSettings

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
ALL = [path for place in ("src", "tests", "examples", "benchmarks") for path in sorted((ROOT / place).rglob("*.py"))]


def words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


REPLACED = words(
    """astray settled looked_at told attending sureness judged chance venue venue_of abreast crowd whom
    Sureness Told Story Crowd Desk Taskonomy Centres Grouped Attended Standing Venue Judge Kept Sort Looks Relating
    Apart Careful Judging Sharing Sighted Attends Encodes Branching"""
)
"""Names of before, in the place of which CONTRIBUTING's list has a plain one: no identifier has them."""
REPLACED_MODULES = REPLACED | words(
    """nouns relate letters shelf attention_shelf taskonomy contradictions looking watching watched rehousing holdings
    workbench remembered theory theory_cfl tried renewal keeping opening finding fetching"""
)
REPLACED_SETTINGS = words("most fewest gate strangers watch soft tuning")
BARE_PARTICIPLES = words(
    """begun bound built chosen dealt drawn found given gone heard held kept known laid_out learnt lost made met seen
    sent shown taken thrown told undone written"""
)
BESIDE_A_PARTICIPLE = words("as at by for from in of on through under how many with")
NO_PARTICIPLES = words("embed exceed feed need proceed seed shed speed")


def is_participle(name: str) -> bool:
    """Whether a function is named by a participle alone, or by one with a preposition behind it: `made_of`."""
    first, *rest = name.strip("_").split("_")
    participle = name.strip("_") in BARE_PARTICIPLES or first in BARE_PARTICIPLES
    participle |= first.endswith("ed") and first not in NO_PARTICIPLES
    return participle and set(rest) <= BESIDE_A_PARTICIPLE


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.NAME:
                yield token.start[0], token.string


def test_no_replaced_name_is_used() -> None:
    mine = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in ALL
        for line, name in identifiers(path)
        if name in REPLACED and path != mine
    ]
    paths = [path.relative_to(ROOT).with_suffix("") for path in ALL]
    modules = [str(path) for path in paths if REPLACED_MODULES & {*path.parts}]
    used = [str(path) for path in SOURCES if re.search(r"\.home\b|\.only\(|\bas wrong\b", path.read_text("utf-8"))]
    assert not found + modules + used, "\n".join(found + modules + used)


def test_no_setting_has_a_replaced_name() -> None:
    classes = [RunSettings, LocalTraining, EngineSettings, FlowerSettings, Selection, ClassMoments, Encoder]
    for settings in (*classes, *WORLDS.values(), *NETS.values(), *(known.made for known in METHODS.values())):
        names = {field.name for field in dataclasses.fields(settings)}
        assert not names & REPLACED_SETTINGS, settings


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("told", True),
        ("made_of", True),
        ("_packed", True),
        ("weighted_mean", False),
        ("embed", False),
        ("place", False),
    ],
)
def test_a_participle_is_known(name: str, expected: bool) -> None:
    assert is_participle(name) == expected


def test_no_function_is_named_by_a_participle() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name)
    ]
    assert not found, "\n".join(found)


def test_the_name_of_a_type_is_defined_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(ROOT)))
        for node in tree.body:  # aliases; a variable of types is local to its module by custom
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.expr):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                alias = isinstance(target, ast.Name) and re.match("[A-Z][a-z]", target.id)
                if alias and isinstance(target, ast.Name) and "TypeVar(" not in ast.unparse(node.value):
                    places[target.id].append(str(path.relative_to(ROOT)))
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert not twice, twice
