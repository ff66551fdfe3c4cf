"""Plug-ins of installed packages: found by name, left out with one warning if broken, refused if a name is taken."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fedclade as fc
from cli.calling import call, error_of, output_of, parsed
from fedclade.cli.app import code_of
from fedclade.methods import METHODS, method_named
from installing import METHOD, forget, installed, write_package
from refusals import check_refused

EXPERIMENT = """
data = {source = "digits", world = "iid", clients = 4}
net = {name = "logistic"}
run = {rounds = 2}
engine = {workers = 0}
"""
LISTS = {"methods": "methods", "nets": "models", "sources": "data list", "worlds": "worlds"}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for packages, installed as long as the test goes on; the current folder has an experiment."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / "experiment.toml").write_text(EXPERIMENT)
    folder = tmp_path / "packages"
    folder.mkdir()
    with installed(folder):
        yield folder


def test_a_method_is_run_resumed_and_reported_by_its_name(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_package(packages, "middle", {"methods": {"plain-mean": "middle:Mean"}}, METHOD)
    listed = parsed("methods --json", capsys)
    wanted = {"summary": "The plain mean.", "settings": {"weight": 1.0}, "package": "middle", "version": "1.0"}
    assert listed["plain-mean"] == wanted
    assert set(listed["fedavg"]) == {"summary", "settings"}  # type: ignore[call-overload]  # ours, as before
    assert "The plain mean. (package middle 1.0)" in output_of("methods", capsys)
    ran = parsed("run experiment.toml --set method.name=plain-mean --out mine --json", capsys)
    assert ran["method"] == "plain-mean"
    assert parsed("resume mine --json", capsys) == ran
    assert call("report mine", capsys)[0] == 0
    assert 'name = "plain-mean"' in Path("mine/experiment.toml").read_text()
    noted = json.loads(Path("mine/environment.json").read_text())["plugins"]
    assert noted == {"method": {"name": "plain-mean", "package": "middle", "version": "1.0"}}
    parsed("run experiment.toml --out ours --json", capsys)
    assert "plugins" not in json.loads(Path("ours/environment.json").read_text())


def test_a_run_without_its_package_says_what_to_install(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_package(packages, "middle", {"methods": {"plain-mean": "middle:Mean"}}, METHOD)
    parsed("run experiment.toml --set method.name=plain-mean --out mine --json", capsys)
    (packages / "middle-1.0.dist-info" / "entry_points.txt").unlink()
    forget()
    err = error_of("resume mine", capsys)
    assert err.startswith('error: the method is not known, mine/experiment.toml, method.name: got "plain-mean"')
    assert err.endswith("do: install the package that brings it: pip install middle==1.0\n")
    assert call("report mine", capsys)[0] == 0  # which reads the folder only
    err = error_of("run experiment.toml --set method.name=plain-mean", capsys)
    assert err.endswith("do: install the package that brings it, if it is a plug-in\n")
    Path("mine/environment.json").write_text("{}")
    assert call("resume mine", capsys)[0] == 2


BROKEN = {
    "import": ("import nowhere_at_all", "ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "attribute": ("", "AttributeError: module 'broken' has no attribute 'Mean'"),
    "raises": ("raise RuntimeError('first\\nsecond')", "RuntimeError: first second"),
    "leaves": ("import sys; sys.exit(7)", "SystemExit: 7"),
    "function": ("def Mean(): pass", "TypeError: Mean is not a class of @settings"),
    "number": ("Mean = 3", "TypeError: int is not a class of @settings"),
    "plain class": ("class Mean: pass", "TypeError: Mean is not a class of @settings"),
    "no place": (METHOD.replace("def place", "def put"), "TypeError: Mean has no function place"),
    "no default": (METHOD.replace("float = 1.0", "float"), "InputError: weight is missing, Mean.weight: need a value"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_plugin_gives_one_warning(how: str, packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, got = BROKEN[how]
    write_package(packages, "broken", {"methods": {"plain-mean": "broken:Mean"}}, module)
    need = "broken:Mean, a class of @settings, all with defaults, with needs, start, round, assignment and place"
    what = 'warning: plug-in "plain-mean" of package broken 1.0 cannot be used'
    do = "pip install --upgrade broken, or pip uninstall broken"
    code, out, err = call("methods --json", capsys)
    assert (code, err) == (0, f"{what}: got {got}, need {need}; do: {do}\n")
    assert list(json.loads(out)) == [*METHODS.registered_entries, "abc-oracle"]  # that of the papers' package
    assert call("run experiment.toml --quiet --out mine", capsys)[::2] == (0, ""), "once in a process"
    err = error_of("run experiment.toml --set method.name=plain-mean", capsys)
    assert err.startswith("error: the method is not known, ")


@pytest.mark.parametrize(
    ("group", "module"),
    [
        ("nets", "from fedclade.core import settings\n@settings\nclass Thing: pass"),
        ("sources", "def Thing(folder): pass"),
        ("sources", "class Thing: pass"),
        ("worlds", "Thing = None"),
        ("commands", "Thing = 'text'"),
        ("commands", "def Thing(what: object): pass"),
    ],
)
def test_a_broken_plugin_of_any_kind(
    group: str, module: str, packages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_package(packages, "broken", {group: {"zebra": "broken:Thing"}}, module)
    code, out, err = call(LISTS.get(group, "--help"), capsys)
    assert (code, err.count("\n")) == (0, 1)
    assert re.match(r'warning: plug-in "zebra" of package broken 1\.0 cannot be used: got \w+Error: ', err)
    assert "zebra" not in out
    found = parsed("doctor --json", capsys)
    plugin = {"kind": group.removesuffix("s"), "name": "zebra", "package": "broken", "version": "1.0"}
    assert found["plugins"] == [{**plugin, "state": "broken"}]
    assert not found["checks"]["plug-ins can be used"]  # type: ignore[index]


def test_a_name_that_cannot_be_typed_is_left_out(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_package(packages, "broken", {"methods": {"../mean": "broken:Mean"}}, METHOD)
    code, out, err = call("methods", capsys)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(
        'warning: plug-in "../mean" of package broken 1.0 cannot be used: got this name, need letters'
    )
    assert "../mean" not in out


def test_metadata_that_cannot_be_read_gives_one_warning(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The library stops at a line that is none, whoever's it is."""
    write_package(packages, "torn", {})
    (packages / "torn-1.0.dist-info" / "entry_points.txt").write_text("[fedclade.methods]\nno equals sign\n")
    code, _, err = call("doctor", capsys)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("warning: plug-ins cannot be read: got TypeError: ")


TAKEN = {
    "methods": ("fedavg", "middle:Mean", "methods --json"),
    "nets": ("mlp", "middle:Mean", "models"),
    "sources": ("own", "middle:Mean", "data list"),
    "worlds": ("iid", "middle:Mean", "worlds"),
    "commands": ("report", "middle:main", "report mine"),
}


@pytest.mark.parametrize("group", TAKEN)
def test_a_name_of_our_own_is_taken(group: str, packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, value, command = TAKEN[group]
    write_package(packages, "middle", {group: {name: value}}, METHOD + "\ndef main(): print('not ours')\n")
    got = f'"{name}" of fedclade and of package middle 1.0, need one owner; do: pip uninstall middle'
    line = f"the name of a {group.removesuffix('s')} is taken, fedclade.{group}: got {got}\n"
    for words in (command, *(["run experiment.toml"] if group != "commands" else [])):
        assert error_of(words, capsys) == "error: " + line
    assert call("--version", capsys)[::2] == (0, "")
    assert call("--help", capsys)[::2] == (0, "warning: " + line if group == "commands" else "")
    found = parsed("doctor --json", capsys)
    assert [(plugin["name"], plugin["state"]) for plugin in found["plugins"]] == [(name, "taken")]  # type: ignore[attr-defined]
    assert not list(Path.cwd().glob("runs"))


def test_two_packages_with_one_name(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_package(packages, "first", {"methods": {"mean": "first:Mean"}, "commands": {"hello": "first:main"}}, METHOD)
    write_package(packages, "second", {"methods": {"mean": "second:Mean"}, "commands": {"hello": "second:main"}})
    for words, kind, name in (("methods", "method", "mean"), ("hello", "command", "hello")):
        got = f'"{name}" of package first 1.0 and of package second 1.0'
        do = "pip uninstall first or pip uninstall second"
        line = f"the name of a {kind} is taken, fedclade.{kind}s: got {got}, need one owner; do: {do}\n"
        assert error_of(words, capsys) == f"error: {line}"
    assert call("models --quiet", capsys)[::2] == (0, ""), "which has nothing to do with it"


def test_a_name_that_a_script_has_registered_is_taken(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(packages, "middle", {"methods": {"mine": "middle:Mean"}}, METHOD)
    monkeypatch.setattr(METHODS, "registered_entries", dict(METHODS.registered_entries))
    fc.register("mine", fc.FedAvg)
    check_refused('got "mine" of fedclade and of package middle', method_named, "mine")
    del METHODS["mine"]
    other = type(method_named("mine", {"weight": 0.5}))
    fc.register("mine", other, finds_groups=True)  # the package's own class: no two owners
    assert type(method_named("mine")) is other
    write_package(packages, "another", {}, METHOD)
    import another  # type: ignore[import-not-found]  # made by this test

    del METHODS["mine"]
    fc.register("mine", another.Mean)
    check_refused(r'got "mine" of module another, by fedclade\.register and of package middle', method_named, "mine")


def test_a_module_may_read_the_registry_that_it_is_in(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    looks = "\nfrom fedclade.methods import METHODS\nassert 'fedavg' in METHODS and 'mine' not in METHODS\n"
    write_package(packages, "middle", {"methods": {"mine": "middle:Mean"}}, METHOD + looks)
    assert "mine" in parsed("methods --json", capsys)


def test_a_bug_in_a_plugin_is_not_ours(packages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = METHOD.replace("updates.rows.mean(axis=0)", "updates.no_such_thing")
    write_package(packages, "middle", {"methods": {"mine": "middle:Mean"}}, module)
    for words in ("run experiment.toml --set method.name=mine", "compare experiment.toml -m mine -m fedavg --jobs 2"):
        assert error_of(words, capsys, code=1).startswith("error: a bug in package middle, AttributeError: ")


COMMAND = '''
import typer
from fedclade.cli.screen import Json, Quiet, emit
from refusals import check_refused

def hello(code: int = 0, as_json: Json = False, quiet: Quiet = False) -> None:
    """Say hello."""
    from fedclade.core import InputError

    if code == 1:
        raise ZeroDivisionError("by zero")
    if code == 2:
        raise InputError("nobody is here", where="hello", need="somebody")
    if code:
        raise typer.Exit(code)
    if as_json:
        emit({"hello": "you"})
    elif not quiet:
        print("hello")

several = typer.Typer(no_args_is_help=True, help="Say several things.")
several.command("hello")(hello)
'''


@pytest.fixture
def commands(packages: Path) -> None:
    entries = {"hello": "greeting:hello", "several": "greeting:several"}
    write_package(packages, "greeting", {"commands": entries}, COMMAND)


@pytest.mark.usefixtures("commands")
@pytest.mark.parametrize("words", ["hello", "several hello"])
def test_a_command_is_like_our_own(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(words, capsys) == (0, "hello\n", "")
    assert call(f"{words} --quiet", capsys) == (0, "", "")
    assert parsed(f"{words} --json", capsys) == {"hello": "you"}
    assert "Say hello." in call(f"{words} -h", capsys)[1]
    assert call(f"{words} --code 5", capsys) == (5, "", "")
    assert call(f"{words} --code 2", capsys) == (2, "", "error: nobody is here, hello: need somebody\n")
    bug = "error: a bug in package greeting, ZeroDivisionError: by zero; do: run again with --debug"
    assert error_of(f"{words} --code 1", capsys, code=1).startswith(bug)
    assert code_of([*words.split(), "--code", "1"], debug=True) == 1
    assert "Traceback" in capsys.readouterr().err
    first = words.split()[0]
    assert call(f"{words} --cod 1", capsys)[2].endswith(f"do: fedclade {first} --help\n")


@pytest.mark.usefixtures("commands")
def test_a_command_is_imported_only_when_it_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ("--version", "models --quiet", "helo", "run --help"):
        call(words, capsys)
        assert "greeting" not in sys.modules, words
    shown = call("--help", capsys)[1]
    assert re.search("hello +Say hello", shown)
    assert re.search("several +Say several things", shown)
    assert call("", capsys)[1].count("Say hello") == 1
