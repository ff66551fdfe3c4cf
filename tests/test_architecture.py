"""Imports point down: a room knows only the rooms below it. And nothing executable is ever loaded from data."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fedclade"

BELOW = {"nets", "data", "nouns"}
# Each room, and what it may import; from the top of the house to its floor.
MAY_IMPORT: dict[str, set[str]] = {
    "__main__": {"cli"},
    "cli": {
        *("", "api", "bench", "dashboard", "deploy", "export", "papers", "report", "runs"),
        *("methods", "data", "nets", "nouns", "plugins"),
    },
    "dashboard": {"report", "runs", "nouns", ""},
    "export": {"runs", "nouns", ""},
    "deploy": {"runs", "fleet.flower", "fleet.site", "data", "nets", "nouns"},
    "papers": {"report", "runs", "methods", "relate", "fleet.simulated", "data", "nets", "nouns"},
    "api": {"report", "runs", "methods", "data", "nets", "nouns"},
    "bench": {"runs", "methods", "fleet.simulated", "fleet.protocol", "local", "data", "nets", "nouns"},
    "report": {"runs", "nouns", ""},
    "runs": {
        *("methods", "relate", "fleet.protocol", "fleet.simulated", "fleet.flower", "fleet.site"),
        *("data", "nets", "nouns", "plugins"),
    },
    "methods": {"fleet.protocol", "relate", "nouns"},
    "fleet.simulated": {"fleet.server", "fleet.workers", "fleet.gate", "fleet.protocol", "local", *BELOW},
    "fleet.flower": {"fleet.server", "fleet.gate", "fleet.letters", "fleet.protocol", "fleet.site", *BELOW},
    "fleet.site": {"fleet.letters", "local", "nets", "data", "nouns"},
    "fleet.workers": {"fleet.protocol", "local", "nouns"},
    "local": {"fleet.protocol", "nets", "data", "nouns"},
    "nets": {"nouns"},
    "data": {"nouns"},
    "relate": {"nouns"},
    "fleet.letters": {"fleet.protocol", "nouns"},
    "fleet.server": {"fleet.gate", "fleet.protocol", "nouns"},
    "fleet.gate": {"fleet.protocol", "nouns"},
    "fleet.protocol": {"nouns"},
    "fleet": set(),
    "nouns": {"plugins"},
    "plugins": set(),
    "": {"api", "data", "methods", "nouns", "runs"},  # the package itself: names for others, loaded when asked for
}
ONLY_HERE = {
    "torch": {"nets", "local", "bench"},
    "flwr": {"fleet.flower"},
    "ray": {"fleet.flower"},
    "cryptography": {"deploy"},
    "typer": {"cli"},
    "starlette": {"dashboard"},
    "uvicorn": {"dashboard"},
    "sse_starlette": {"dashboard"},
    "tensorboardX": {"export"},
    "mlflow": {"export"},
    "multiprocessing": {"fleet.workers", "runs", "cli"},
}
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "torch.load", "yaml.load"}

FILES = sorted(SOURCE.rglob("*.py"))


def room_of(module: str) -> str:
    """`fedclade.fleet.gate` -> `fleet.gate`; `fedclade.data.worlds.iid` -> `data`."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2]) if parts[:1] == ["fleet"] else parts[0] if parts else ""


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            for alias in node.names:  # `from fedclade.runs import lock` imports a module
                inner = SOURCE.parent.joinpath(*module.split("."), f"{alias.name}.py")
                folder = SOURCE.parent.joinpath(*module.split("."), alias.name)
                yield f"{module}.{alias.name}" if inner.exists() or folder.is_dir() else module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(module_of(path))
    for imported in imports_of(path):
        top = imported.split(".")[0]
        if top == "fedclade":
            other = room_of(imported)
            assert other == room or other in MAY_IMPORT[room], f"{module_of(path)} imports {imported}"
        assert room in ONLY_HERE.get(top, {room}), f"{module_of(path)} imports {imported}"
        assert top not in FORBIDDEN_IMPORTS, f"{module_of(path)} imports {imported}"


def test_every_room_is_in_the_plan() -> None:
    assert {room_of(module_of(path)) for path in FILES} <= set(MAY_IMPORT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_executable_is_loaded(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in FORBIDDEN_CALLS, f"{path}:{node.lineno}"
            assert not any(word.arg == "allow_pickle" for word in node.keywords), f"{path}:{node.lineno}"


def test_the_check_sees_a_wrong_import(tmp_path: Path) -> None:
    """The rules above are read from real files: a method that imports a room above it is found."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from fedclade.runs.folder import RunFolder\nimport torch\n")
    assert list(imports_of(wrong)) == ["fedclade.runs.folder", "torch"]
    assert room_of("fedclade.runs.folder") not in MAY_IMPORT["methods"]


def test_public_names_are_all_there() -> None:
    import fedclade

    for name in fedclade.__all__:
        assert getattr(fedclade, name) is not None
    assert set(fedclade._HOMES) | {"__version__"} == set(fedclade.__all__)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = fedclade.nothing_like_it


def test_help_loads_nothing_heavy() -> None:
    """`fedclade --help` answers at once because torch and the like are not imported."""
    code = (
        "import sys\nfrom fedclade.cli.app import code_of\nassert code_of(['--help'], False) == 0\n"
        "heavy = {'torch', 'sklearn', 'numpy', 'pyarrow', 'plotly', 'pydantic', 'jinja2', 'cryptography', 'flwr'}\n"
        "heavy |= {'starlette', 'uvicorn', 'mlflow', 'tensorboardX'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "compare" in shown
    assert shown.splitlines()[-1] == "[]"
