"""Own data from the command line: run and compare without TOML, what is said of it, and what is wrong with it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from PIL import Image

from cli.calling import error_of, output_of, parsed
from fedclade.runs.experiment import read_experiment
from fedclade.store.run_folder import RunFolder
from realistic_tables import realistic_table

COLUMNS = "--client site --label fault"
QUICK = "--set run.rounds=2"


@pytest.fixture
def machines(here: Path) -> Path:
    """Machines of two kinds, in 12 sites."""
    table, _, _ = realistic_table("machines", clients=12, rows=40)
    pacsv.write_csv(table, here / "machines.csv")
    return here / "machines.csv"


@pytest.mark.usefixtures("machines")
def test_a_file_is_run_with_baselines_and_the_folder_is_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    found = parsed(f"run machines.csv {COLUMNS} --out run {QUICK} --json", capsys)
    assert (found["method"], found["run"]) == ("flt", "run")
    baselines = found["baselines"]
    assert isinstance(baselines, list)
    assert [each["method"] for each in baselines] == ["fedavg", "local"]
    assert [len(each["groups"]) for each in baselines] == [1, 12]
    assert all(0 <= each["accuracy"] <= 1 for each in baselines)
    assert found["notes"] == [
        "columns left out: 'Unnamed: 0' (an index without a name); 'software' (the same in every row)"
    ]
    assert Path("run/report.html").exists()
    assert [RunFolder.open(Path("run/baselines") / name).is_finished for name in ("fedavg", "local")] == [True] * 2
    assert parsed("resume run --json", capsys)["model_hash"] == found["model_hash"]
    assert parsed("report run --out other.html --json", capsys)["runs"] == [
        "run",
        "run/baselines/fedavg",
        "run/baselines/local",
    ]
    again = parsed(f"run machines.csv {COLUMNS} --out run {QUICK} --json", capsys)
    assert again["model_hash"] == found["model_hash"]
    assert "another experiment" in error_of(f"run machines.csv {COLUMNS} --out run --set run.rounds=3", capsys)
    assert "this is the folder of a run" in error_of("run run", capsys)


@pytest.mark.usefixtures("machines")
def test_a_person_is_told_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    out = output_of(f"run machines.csv {COLUMNS} --out run {QUICK}", capsys)
    first, *lines, report, run = out.splitlines()
    ends = [at for at, line in enumerate(lines) if not line]
    tables = [
        [line.split()[0] for line in lines[start + 1 : end]] for start, end in ((0, ends[0]), (ends[0] + 1, ends[1]))
    ]
    assert first.startswith("Note: columns left out: 'Unnamed: 0'")
    assert tables == [["flt", "fedavg", "local", "(most"]] * 2
    assert "flt" in lines[ends[1] + 1]  # which one was best
    assert (report, run) == ("Report: run/report.html", "Run: run")


@pytest.mark.usefixtures("machines")
def test_the_experiment_is_saved_and_gives_the_same(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"{COLUMNS} --without speed --categorical software --min-rows 10"
    first = parsed(f"run machines.csv {words} --out run --write-toml mine.toml {QUICK} --json", capsys)
    saved = read_experiment(here / "mine.toml")
    played = read_experiment(here / "run" / "experiment.toml")
    assert replace(saved, engine=played.engine) == played  # three runs at once have no workers of their own
    assert saved.data["without"] == ("speed",)
    assert (saved.run.participation, saved.net["hidden"], saved.local.batch) == (1.0, 64, 128)
    second = parsed("run mine.toml --out again --json", capsys)
    assert second["model_hash"] == first["model_hash"]
    other = parsed("run mine.toml --out other --only temperature --json --set data.without=[]", capsys)
    assert other["model_hash"] != first["model_hash"]
    assert second["notes"] == first["notes"]
    assert "Note: columns left out: 'Unnamed: 0'" in output_of("run mine.toml --out third", capsys)
    assert json.loads((here / "other" / "preparation.json").read_bytes())["inputs"][0]["column"] == "temperature"
    (here / "mine.toml").write_text("mine = 1\n")
    assert "there is another file" in error_of(f"run machines.csv {words} --write-toml mine.toml", capsys)


def test_toml_has_the_same_defaults(machines: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = f'data = {{source = "own", path = "{machines.name}", client = "site", label = "fault"}}\n'
    (here / "short.toml").write_text(f'{data}method = {{name = "flt"}}\n')
    output_of(f"run machines.csv {COLUMNS} --out run --write-toml long.toml {QUICK} -q", capsys)
    assert read_experiment(here / "short.toml", ["run.rounds=2"]) == read_experiment(here / "long.toml")
    (here / "short.toml").write_text(f'{data}net = {{name = "logistic"}}\nlocal = {{lr = 0.01}}\n')
    other = read_experiment(here / "short.toml")
    assert (other.net, other.local.lr, other.local.batch) == ({"name": "logistic"}, 0.01, 128)


def begin_again(run: Path) -> None:
    """The folder of a run that was killed before its first round."""
    for path in run.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in ("experiment.toml", "environment.json", "preparation.json"):
            path.unlink()


@pytest.mark.usefixtures("machines")
def test_a_run_that_was_stopped_goes_on_with_its_baselines(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"run machines.csv {COLUMNS} --out run {QUICK} --json"
    whole = parsed(words, capsys)
    local = here / "run" / "baselines" / "local"
    begin_again(local)
    assert parsed("report run --json", capsys)["runs"] == ["run", "run/baselines/fedavg"]
    parsed("resume run --json", capsys)
    assert RunFolder.open(local).is_finished
    begin_again(local)
    again = parsed(words, capsys)
    assert (again["model_hash"], again["baselines"]) == (whole["model_hash"], whole["baselines"])


@pytest.mark.usefixtures("machines")
def test_nothing_is_written_into_a_folder_that_is_taken(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "taken").mkdir()
    (here / "taken" / "mine.txt").write_text("x")
    assert "the run folder is taken" in error_of(f"run machines.csv {COLUMNS} --out taken {QUICK}", capsys)
    assert [path.name for path in (here / "taken").rglob("*")] == ["mine.txt"]


@pytest.mark.usefixtures("machines")
def test_compare_takes_data_too(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"compare machines.csv {COLUMNS} --without speed -m fedavg -m local --out both {QUICK}"
    found = parsed(f"{words} --json", capsys)
    assert [line["method"] for line in found["methods"]] == ["fedavg", "local"]  # type: ignore[attr-defined]
    assert "Note: columns left out: 'Unnamed: 0'" in output_of(words, capsys)


@pytest.mark.usefixtures("machines")
def test_a_run_keeps_its_preparation(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parsed(f"run machines.csv {COLUMNS} --out run {QUICK} --json", capsys)
    whole = (here / "run" / "preparation.json").read_bytes()
    assert whole == (here / "run" / "models" / "preparation.json").read_bytes()
    table = json.loads(whole)
    assert table["task"]["names"] == ["leak", "none", "seized"]
    (here / "run" / "preparation.json").write_bytes(whole.replace(b"temperature", b"temperaturf"))
    assert "preparation.json" in error_of("resume run", capsys, code=4)


def test_classes_are_given_beforehand(here: Path, machines: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def names(words: str) -> object:
        out = here / f"run{len([*here.glob('run*')])}"
        parsed(f"run machines.csv {COLUMNS} {words} --out {out.name} {QUICK} --json", capsys)
        return json.loads((out / "preparation.json").read_bytes())["task"]["names"]

    assert names("--classes seized,none,leak,burst") == ["seized", "none", "leak", "burst"]
    (here / "classes.txt").write_text("none\nleak\n\nseized\n")
    assert names("--classes classes.txt") == ["none", "leak", "seized"]
    assert "holds 'leak', not among the classes" in error_of(
        f"run {machines.name} {COLUMNS} --classes none,seized", capsys
    )
    assert "at least two names, each once" in error_of(f"run {machines.name} {COLUMNS} --classes none,none", capsys)
    assert "a file that is there" in error_of(f"run {machines.name} {COLUMNS} --classes other.txt", capsys)


N = 400
RNG = np.random.default_rng(0)
SITES = [f"s{number % 8}" for number in range(N)]
GOOD = {"site": SITES, "x": RNG.normal(size=N), "fault": RNG.integers(0, 2, N)}


WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "one", "lazy", "dog", "while", "other", "birds", "sing"]


def sentences() -> list[str]:
    return [" ".join(RNG.choice(WORDS, 8)) for _ in range(N)]


def write(path: Path, **columns: object) -> None:
    table = pa.table({**GOOD, **columns})
    pq.write_table(table, path) if path.suffix == ".parquet" else pacsv.write_csv(table, path)


def write_duplicates(path: Path) -> None:
    path.write_text("site,x,x,y,y,fault\n" + "".join(f"{site},1,2,3,4,{row % 2}\n" for row, site in enumerate(SITES)))


def write_mixture(path: Path) -> None:
    (path / "berlin").mkdir(parents=True)
    for name in ("rows.csv", "photo.png", "notes.txt"):
        (path / name).write_text("x")


MARKS = ["${}.5", "{},25 EUR", "{}.4 kg", "{} %", "{},5"]
MEASURED = np.linspace(0, 1, N) ** 2 + 0.0001
WRONG: list[tuple[str, Callable[[Path], object], str, tuple[str, ...]]] = [
    ("a.csv", lambda p: write(p, one=sentences(), two=sentences()), "", ("'one' holds free text", "'two' holds")),
    ("a.csv", lambda p: write(p, fault=MEASURED), "--task classification", ("'fault' has too many classes: 400 d",)),
    (
        "a.csv",
        lambda p: write(p, fault=["leak", "no"] * 200),
        "--task regression",
        ("'fault' holds 'leak', and a regression needs numbers",),
    ),
    ("a.csv", write, "--client place", ("column 'place' is not there (--client)", "columns are: site, x, fault")),
    (
        "a.csv",
        lambda p: write(p, one=sentences()),
        "--client= --label faul",
        ("client is missing", "'one' holds free text", "'faul' is not there", "--client COLUMN"),
    ),
    ("a.csv", write, "--client=", ("client is missing, data.client: got no name, for the table ",)),
    ("a.csv", write, "--client sit --label faul", ("'sit'", "'faul'", 'did you mean "site"', 'did you mean "fault"')),
    ("a.csv", Path.touch, "", ("the file is empty",)),
    ("a.csv", lambda p: write(p, site=["s"] * N), "", ("column 'site' names 1 client", "at least 2")),
    ("a.csv", write_duplicates, "", ("'x' is there 2 times; 'y' is there 2 times",)),
    ("a.csv", lambda p: write(p, fault=["leak"] * N), "", ("column 'fault' is 'leak' in every row",)),
    ("a.parquet", lambda p: write(p, a=[[1]] * N, b=[{"c": 1}] * N), "", ("'a' holds lists", "'b' holds tables")),
    (
        "a.csv",
        lambda p: write(p, a=["[1, 2, 3]"] * N, b=["{'c': 1}"] * N, c=[f"[0.{n}]" for n in range(N)]),
        "",
        ("'a' holds lists; 'b' holds tables; 'c' holds lists",),
    ),
    ("a.csv", lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n"), "", ("the file is not CSV", "a PNG image")),
    ("a.txt", lambda p: p.write_text("hello"), "", ("the ending is not known", ".csv")),
    ("mixed", write_mixture, "", ("the folder holds different things", "1 folder, 1 .txt file, 1 .png file")),
    ("a.csv", write, "--without y --keep z", ("'y' is not there (--without)", "'z' is not there (--keep)")),
    (
        "a.parquet",
        lambda p: write(p, **{f"x{n}": [each.format(n + 7 * row) for row in range(N)] for n, each in enumerate(MARKS)}),
        "--keep x2",
        (*(f"'x{n}' holds numbers with a currency, a unit, or" for n in range(len(MARKS))), "such as 12345.67"),
    ),
    ("a.csv", lambda p: write(p, x=[f"{n} kg" for n in range(N)]), "--numeric x", ("'x' holds no plain numbers",)),
    ("a.csv", lambda p: write(p, x=[7] * N), "--keep x", ("which --keep cannot change", "column of numbers that")),
    ("a.csv", lambda p: write(p, x=[*range(N)]), "", ("no column can be used", "--keep x")),
    ("a.csv", write, "--prepare log", ("prepare",)),
    ("a.csv", write, "--min-rows 99", ("names 8 clients, 0 of them with 99 rows",)),
]


@pytest.mark.parametrize(("name", "make", "words", "said"), WRONG)
def test_wrong_input_is_one_line_by_every_command(
    name: str,
    make: Callable[[Path], object],
    words: str,
    said: tuple[str, ...],
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make(here / name)
    columns = "" if name == "mixed" else COLUMNS
    if "--client" in words:
        columns = "" if "--label" in words else "--label fault"
    for command in ("groups", "run", "compare"):
        more = " -m local" if command == "compare" else ""
        error = error_of(f"{command} {name} {columns} {words}{more}", capsys)
        assert all(each in error for each in said), error
    assert not (here / "runs").exists()


def write_images(path: Path) -> None:
    for client in ("a", "b", "c", "d"):
        (path / client).mkdir(parents=True)
        for number in range(8):
            Image.fromarray(RNG.integers(0, 255, (6, 6), np.uint8)).save(path / client / f"{number}.png")


@pytest.mark.parametrize(
    ("name", "make", "options", "advice"),
    [
        ("ok.csv", write, "--client site --label=", "name the label: --label COLUMN"),
        ("images", write_images, "", "a folder for each class"),
    ],
)
def test_without_labels_nothing_is_trained_but_what_needs_none(
    name: str,
    make: Callable[[Path], None],
    options: str,
    advice: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make(here / name)
    for command in ("run", "compare"):
        error = error_of(f"{command} {name} {options}{' -m local' if command == 'compare' else ''}", capsys)
        assert "there is nothing to learn" in error
        assert advice in error
        assert "--task reconstruction" in error
    assert not (here / "runs").exists()
    assert parsed(f"groups {name} {options} --json", capsys)
    more = "--task reconstruction --set run.rounds=1 --out r --json"
    assert "mse" in str(parsed(f"run {name} {options} {more}", capsys)["metrics"])
