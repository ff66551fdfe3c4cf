"""Checksums of code: results and runs depend on the code that made them, and on all that it imports from some rooms."""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOMS = ("fedclade.methods", "fedclade.clustering", "fedclade_papers")
"""The code of methods, and of what only the papers' experiments have: worlds, nets, methods and what reads results."""


@cache
def code_digest(module: str) -> str:
    """A checksum of this module and of all modules that it imports from these rooms, be it through others."""
    found, left = dict[str, bytes](), [module]
    while left:
        if (name := left.pop()) not in found:
            found[name] = source_of(name)
            left += imported_modules(ast.parse(found[name]))
    return hashlib.sha256(b"".join(name.encode() + found[name] for name in sorted(found))).hexdigest()


def source_of(module: str) -> bytes:
    """The text of a module."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_bytes()


def imported_modules(tree: ast.Module) -> Iterator[str]:
    """The modules of these rooms that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if is_in_rooms(each.name))
        elif isinstance(node, ast.ImportFrom) and node.module is not None and is_in_rooms(node.module):
            yield from (home_of(node.module, each.name) for each in node.names)


@cache
def home_of(module: str, name: str) -> str:
    """The module of a name that is imported from this one; one that a package passes on is where it comes from."""
    spec = find_spec(module)
    assert spec is not None
    if spec.submodule_search_locations is None:
        return module
    if find_spec(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    for node in ast.parse(source_of(module)).body:
        passed_on = isinstance(node, ast.ImportFrom) and name in [each.name for each in node.names]
        if isinstance(node, ast.ImportFrom) and node.module is not None and passed_on and is_in_rooms(node.module):
            return home_of(node.module, name)
    return module


def is_in_rooms(module: str) -> bool:
    """Whether it is in one of these rooms."""
    return any(module == room or module.startswith(f"{room}.") for room in ROOMS)
