"""Imports point down: a room knows only the rooms below it. And nothing executable is ever loaded from data.

A name counts as imported from the module that defines it: a room that passes it on does not make it allowed.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"

BELOW = {"nets", "data", "core"}
FACE = {"fleet", "fleet.fleet", "fleet.results"}  # the fleet as a method sees it
# Each room, and what it may import; from the top of the house to its floor.
MAY_IMPORT: dict[str, set[str]] = {
    "__main__": {"cli"},
    "papers": {
        *("cli.screen", "api", "report", "runs", "store", "methods", "clustering"),
        *("fleet", "fleet.fleet", "fleet.simulated", "fleet.ledger", "client", *BELOW),
    },
    "cli": {
        *("", "api", "bench", "dashboard", "deploy", "export", "report", "runs", "store", "cli.screen"),
        *("methods", "clustering", "data", "data.load", "nets", "core", "plugins"),
    },
    "cli.screen": {"runs", "store", "core", ""},
    "testing": {*FACE, "runs", "store", "methods", "fleet.simulated", "fleet.transport", "wire", *BELOW},
    "dashboard": {"report", "runs", "store", "core", ""},
    "export": {"runs", "store", "core", ""},
    "deploy": {
        *(*FACE, "runs", "store", "preparation", "fleet.build", "fleet.flower", "fleet.site", "fleet.tables", *BELOW),
    },
    "api": {"report", "runs", "store", "methods", "clustering", "data.load", *BELOW},
    "bench": {*FACE, "runs", "store", "methods", "fleet.simulated", "client", *BELOW},
    "report": {"runs", "store", "methods", "clustering", "data", "core", ""},
    "runs": {
        *(*FACE, "store", "methods", "clustering", "fleet.ledger", "fleet.simulated", "fleet.flower", "fleet.site"),
        *("client", "data.load", *BELOW, "plugins"),
    },
    "store": {"core"},
    "methods": {*FACE, "clustering", "core"},
    "data.load": {*FACE, "preparation", "fleet.tables", *BELOW},  # a user's table is prepared through a fleet
    "preparation": {*FACE, "core"},  # and sees no examples
    "clustering": {"core"},
    "fleet.simulated": {*FACE, "fleet.build", "fleet.transport", "fleet.workers", "client", "wire", *BELOW},
    "fleet.flower": {*FACE, "fleet.build", "fleet.transport", "fleet.site", "wire", *BELOW},
    "fleet.build": {*FACE, "fleet.transport", "nets", "core"},
    "fleet": {"fleet.fleet", "fleet.results", "fleet.ledger", "fleet.transport"},
    "fleet.fleet": {"fleet.gate", "fleet.ledger", "fleet.results", "fleet.transport", "wire", "core"},
    "fleet.gate": {"fleet.transport", "wire", "core"},
    "fleet.ledger": {"wire", "core"},
    "fleet.results": {"core"},
    "fleet.transport": {"wire", "core"},
    "fleet.site": {"client", "wire", *BELOW},
    "fleet.workers": {"client", "wire", "core"},
    "fleet.tables": {"fleet.fleet", "fleet.transport", "client", "wire", "data", "core"},
    "client": {"wire", *BELOW},
    "wire": {"core"},
    "nets": {"core"},
    "data": {"data.load", "core"},  # its front names the loaders
    "core": {"plugins"},
    "plugins": set(),
    "": {
        "api",
        "data",
        "methods",
        "nets",
        "core",
        "runs",
    },  # the package itself: names for others, loaded when asked for
}
ROOMS_INSIDE = ("cli.screen", "data.load")  # parts of a room that may import other things than the rest
ONLY_HERE = {
    "torch": {"nets", "client", "bench", "papers"},
    "flwr": {"fleet.flower"},
    "ray": {"fleet.flower"},
    "cryptography": {"deploy"},
    "typer": {"cli", "cli.screen", "papers"},
    "starlette": {"dashboard"},
    "uvicorn": {"dashboard"},
    "sse_starlette": {"dashboard"},
    "tensorboardX": {"export"},
    "mlflow": {"export"},
    "multiprocessing": {"fleet.workers", "runs", "cli", "papers"},
}
FORBIDDEN_IMPORTS = {"pickle", "cPickle", "dill", "joblib", "shelve", "marshal", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "torch.load", "yaml.load"}


def room_of(module: str) -> str:
    """`fedclade.fleet.gate` -> `fleet.gate`; `fedclade.data.worlds.iid` -> `data`; of the papers' package `papers`."""
    package, *parts = module.split(".")
    if package == "fedclade_papers":
        return "papers"
    inside = next((room for room in ROOMS_INSIDE if f"{'.'.join(parts)}.".startswith(f"{room}.")), "")
    return inside or (".".join(parts[:2]) if parts[:1] == ["fleet"] else parts[0] if parts else "")


def is_allowed(room: str, module: str) -> bool:
    """Whether the modules of a room may import a module, ours or not."""
    top = module.partition(".")[0]
    if top in ("fedclade", "fedclade_papers"):
        return room_of(module) in (room, *MAY_IMPORT[room])
    return room in ONLY_HERE.get(top, {room}) and top not in FORBIDDEN_IMPORTS


@dataclass(frozen=True)
class Module:
    """A file, parsed."""

    name: str
    tree: ast.Module
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    """What a name in it stands for: a module and a name there, which is "" for the module itself."""

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.imported[alias.asname or alias.name] = (node.module or "", alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imported[alias.asname or name] = (name, "")


def can_run_what_it_reads(call: ast.Call) -> bool:
    """Whether a call is a forbidden one, or lets pickle in; torch may load what it reads as tensors alone."""
    words = {word.arg: ast.unparse(word.value) for word in call.keywords}
    name = ast.unparse(call.func)
    safe = name == "torch.load" and words.get("weights_only") == "True"
    return (name in FORBIDDEN_CALLS and not safe) or "allow_pickle" in words


class Sources:
    """All modules below a folder, each parsed once."""

    def __init__(self, *folders: Path) -> None:
        self.modules: dict[str, Module] = {}
        for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
            parts = (
                path.relative_to(next(folder for folder in folders if folder in path.parents).parent)
                .with_suffix("")
                .parts
            )
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = Module(name, ast.parse(path.read_text(), str(path)))

    def home(self, module: str, name: str) -> str:
        """The module of ours that defines a name, however many others pass it on."""
        if f"{module}.{name}" in self.modules:  # `from fedclade.store import lock`
            return f"{module}.{name}"
        onwards = self.modules[module].imported.get(name) if module in self.modules else None
        return self.home(*onwards) if onwards and onwards[0].startswith("fedclade") else module

    def uses(self, module: Module) -> Iterator[tuple[int, str, str]]:
        """What a module takes from others: (line, module, name), with "" as the name of a whole module."""
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((node.lineno, "." * node.level + (node.module or ""), alias.name) for alias in node.names)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):  # of a module, as `lock.Lock`
                of = ".".join(filter(None, module.imported.get(node.value.id, ())))
                if of in self.modules:
                    yield node.lineno, of, node.attr

    def wrong_imports(self) -> list[str]:
        found = []
        for module in self.modules.values():
            room = room_of(module.name)
            for line, other, name in self.uses(module):
                home = self.home(other, name)
                named = home if home == f"{other}.{name}" else other
                if other.startswith("."):
                    found.append(f"{module.name}:{line}: a relative import")
                elif not is_allowed(room, named):
                    found.append(f"{module.name}:{line} imports {named}")
                elif not is_allowed(room, home):
                    found.append(f"{module.name}:{line} imports {name} of {home} through {named}")
        return sorted(set(found))

    def wrong_calls(self) -> list[str]:
        return [
            f"{module.name}:{node.lineno} calls {ast.unparse(node.func)}"
            for module in self.modules.values()
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Call) and can_run_what_it_reads(node)
        ]


@pytest.fixture(scope="module")
def sources() -> Sources:
    return Sources(SOURCE / "fedclade", SOURCE / "fedclade_papers")


def test_imports_point_down(sources: Sources) -> None:
    assert {room_of(name) for name in sources.modules} <= set(MAY_IMPORT), "a room is not in the plan"
    faults = sources.wrong_imports()
    assert not faults, "\n".join(["imports that do not point down:", *faults])


def test_nothing_executable_is_loaded(sources: Sources) -> None:
    faults = sources.wrong_calls()
    assert not faults, "\n".join(["calls that can run what they read:", *faults])


def test_the_check_sees_what_is_wrong(tmp_path: Path) -> None:
    """Each kind of fault, in files of its own."""
    house = tmp_path / "fedclade"
    files = {
        "client/__init__.py": "from fedclade.client.bench import Bench\n",
        "client/bench.py": "import torch\nclass Bench: ...\n",
        "runs/loop.py": "from fedclade.client import Bench as Bench\n",
        "fleet/results.py": "from fedclade.core import Row\n",
        "core/__init__.py": "class Row: ...\n",
        "methods/good.py": "from fedclade.fleet.results import Row\nimport fedclade.fleet.results as p\nx = p.Row\n",
        "methods/up.py": "def f():\n    from fedclade.runs import loop\nimport torch.nn\nimport pickle\n",
        "export/csv.py": "from fedclade.runs import loop\nx = loop.Bench\nfrom . import y\neval(x)\n",
        "nets/files.py": "torch.load(x, weights_only=True)\ntorch.load(x)\ntorch.load(x, weights_only=ok)\n",
        "report/page.py": "from fedclade.runs.loop import Bench\nload(x, allow_pickle=False)\n",
    }
    for name, text in files.items():
        (house / name).parent.mkdir(parents=True, exist_ok=True)
        (house / name).write_text(text)
    sources = Sources(house)
    assert sources.wrong_imports() == [
        "fedclade.export.csv:2 imports Bench of fedclade.client.bench through fedclade.runs.loop",
        "fedclade.export.csv:3: a relative import",
        "fedclade.methods.up:2 imports fedclade.runs.loop",
        "fedclade.methods.up:3 imports torch.nn",
        "fedclade.methods.up:4 imports pickle",
        "fedclade.report.page:1 imports Bench of fedclade.client.bench through fedclade.runs.loop",
    ]
    assert sources.wrong_calls() == [
        "fedclade.export.csv:4 calls eval",
        "fedclade.nets.files:2 calls torch.load",
        "fedclade.nets.files:3 calls torch.load",
        "fedclade.report.page:2 calls load",
    ]


def test_public_names_are_all_there() -> None:
    import fedclade

    for name in fedclade.__all__:
        assert getattr(fedclade, name) is not None
    assert set(fedclade._MODULE_BY_NAME) | {"__version__"} == set(fedclade.__all__)
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
