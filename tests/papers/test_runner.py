"""Runs are made once, shared and resumed; results say what was seen. On scikit-learn's digits, in seconds."""

import base64
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade.core import InputError, Stopped
from fedclade.methods.flt import embedding
from fedclade.nets import weight_files
from fedclade.runs.run import resume
from fedclade_papers.item import Claim, Item, Outcome, PlanTable, Setting, Terms
from fedclade_papers.run_plans import all_plans, longest_first, plans_of
from fedclade_papers.run_results import ItemRuns
from fedclade_papers.runner import read_results, reproduce
from fedclade_papers.weights import file_of
from papers.digit_items import ENCODER, FIGURE, SETTING, TABLE, Seen, of_setting

pytestmark = pytest.mark.slow
MakeResult = Callable[[dict[str, object]], object]


def test_every_run_is_made_once_for_all_items(made: tuple[Terms, Seen]) -> None:
    """FedAvg has four rounds, Local two, and there are two seeds: twelve rounds, though two items ask for them."""
    terms, seen = made
    assert len(seen.runs) == 12
    assert seen.runs.count("local-seed1 2") == 1
    assert "about 10 seconds on two cores" in seen.messages[0]
    files = {path: path.stat().st_mtime_ns for path in terms.folder.rglob("*") if path.is_file()}
    again = Seen()
    reproduce([TABLE, FIGURE], terms, jobs=1, display=again.display)
    assert again.runs == []
    changed = {path.name for path, then in files.items() if path.stat().st_mtime_ns != then}
    assert changed <= {"results.md", "results.json", "results.html"}


def test_a_run_that_is_missing_is_made_again_and_no_other(copy: Terms) -> None:
    """And the tables have all results, not only the one that was made again."""
    folder, again = copy.folder / "small", Seen()
    before = json.loads((folder / "results" / "a-table1.json").read_bytes())
    shutil.rmtree(folder / "runs" / "digits" / "local-seed1")
    (folder / "results" / "a-table1.json").unlink()
    result = reproduce([TABLE], copy, jobs=1, display=again.display)[0]
    assert again.runs == ["local-seed1 1", "local-seed1 2"]
    assert result["lines"] == before["lines"]
    text = (folder / "results.md").read_text()
    assert "a-table1" in text
    assert "a-figure1" in text


def test_finished_runs_keep_no_checkpoints_but_where_models_are_in_them(tmp_path: Path) -> None:
    """The models on a client's path are CFL's; they are nowhere but in its checkpoint."""
    item = of_setting(TABLE, methods={"FedAvg": {"name": "fedavg"}, "CFL": {"name": "cfl"}}, overrides={}, seeds=1)
    reproduce([replace(item, read=lambda _: Outcome())], Terms(tmp_path, "small"), jobs=1)
    fedavg, cfl = (tmp_path / "small" / "runs" / "digits" / f"{name}-seed0" for name in ("fedavg", "cfl"))
    assert not list((fedavg / "checkpoint").iterdir())
    client = next(iter(resume(fedavg).folder.models().row_by_client))
    assert resume(fedavg).model_for(client)
    assert resume(cfl).path_for(client)


BROKEN: list[str | MakeResult] = [
    "{",
    "[]",
    '{"format": 1, "item": "a-table1"}',
    lambda result: {**result, "lines": [{"row": "FedAvg"}]},
    lambda result: {**result, "series": {"FedAvg": {"x": [1]}}},
    lambda result: {**result, "notes": None},
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_a_result_that_cannot_be_used_is_as_good_as_not_there(broken: str | MakeResult, copy: Terms) -> None:
    results, again = copy.folder / "small" / "results", Seen()
    whole = json.loads((results / "a-table1.json").read_bytes())
    text = broken if isinstance(broken, str) else json.dumps(broken(whole))
    for name in ("a-table1", "zzz"):
        (results / f"{name}.json").write_text(text)
    (result,) = reproduce([TABLE], copy, jobs=1, display=again.display)
    assert again.runs == []
    assert result["lines"] == whole["lines"]
    assert [each["item"] for each in read_results(results)] == ["a-figure1", "a-table1"]


def test_results_that_are_read_anew_say_what_making_them_took(copy: Terms) -> None:
    """Nothing is run: the seconds are those of before, the commits those of the runs."""
    path = copy.folder / "small" / "results" / "a-table1.json"
    before = json.loads(path.read_bytes())
    path.write_text(json.dumps({**before, "recipe_sha256": "another", "seconds": 700.5}))
    for number, run in enumerate(sorted((copy.folder / "small" / "runs" / "digits").glob("*-seed?"))):
        info = json.loads((run / "environment.json").read_bytes())
        (run / "environment.json").write_text(json.dumps({**info, "fedclade_commit": f"c{number % 2}"}))
    (again,) = reproduce([TABLE], copy, jobs=1)
    assert again["recipe_sha256"] == before["recipe_sha256"]
    assert (again["seconds"], again["cpu_seconds_here"]) == (700.5, before["cpu_seconds_here"])
    environment = again["environment"]
    assert isinstance(environment, dict)
    assert environment["fedclade_commits"] == ["c0", "c1"]
    assert {"scipy", "torch"} <= environment["packages"].keys()


def test_what_a_result_holds(made: tuple[Terms, Seen]) -> None:
    """Curves are a file beside it too, and inside the page, which works offline."""
    folder = made[0].folder / "small"
    result = json.loads((folder / "results" / "a-table1.json").read_bytes())
    assert result["command"] == "fedclade reproduce a-table1 --scale small"
    assert (result["seeds"], result["runs"]) == ([0, 1], 4)
    assert str(folder) not in json.dumps(result)
    local = next(line for line in result["lines"] if line["row"] == "Local" and line["column"] == "accuracy")
    assert local["printed"] == 95.0
    assert result["recipe"]["digits"]["methods"]["Local"] == {"name": "local"}
    assert result["series"]["FedAvg"]["x"] == [2.0, 4.0]
    for name in ("results.md", "results.html"):
        assert "Local is ahead" in (folder / name).read_text()
    picture, page = (folder / "results" / "a-table1.svg").read_bytes(), (folder / "results.html").read_text()
    assert picture.startswith(b"<?xml")
    assert base64.b64encode(picture).decode() in page
    assert '<a href="#a-table1">a-table1</a>' in page
    assert '<section id="a-table1">' in page


def test_tiny_has_two_rounds_and_no_verdict(tmp_path: Path) -> None:
    seen = Seen()
    result = reproduce([TABLE], Terms(tmp_path, "tiny"), jobs=1, display=seen.display)[0]
    assert sorted(seen.runs) == ["fedavg-seed0 1", "fedavg-seed0 2", "local-seed0 1", "local-seed0 2"]
    said = re.fullmatch(r"a-table1: ([01] of 1 main claims hold; no verdict at this scale)", seen.messages[-1])
    assert said
    assert f"**{said[1]}**" in (tmp_path / "tiny" / "results.md").read_text()
    assert len(result["claims"]) == 1  # type: ignore[arg-type]  # a list


def test_an_interrupt_while_an_item_is_computed_says_how_to_go_on(tmp_path: Path) -> None:
    def interrupt(_: ItemRuns) -> Outcome:
        raise KeyboardInterrupt

    item = Item(name="a-figure2", paper="A", title="", differences="", rule="", read=interrupt)
    with pytest.raises(Stopped, match="interrupted, a-figure2; do: the same command again: it goes on where it was"):
        reproduce([item], Terms(tmp_path, "small"), jobs=1)


@pytest.mark.parametrize("blocked", ["small", "small/results", "small/results.md"])
def test_a_folder_that_cannot_be_written_is_refused(blocked: str, tmp_path: Path) -> None:
    """A file where a folder must be, or a folder in the place of a file."""
    path = tmp_path / "out" / blocked
    if path.suffix:
        (path / "full").mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True)
        path.write_text("")
    with pytest.raises(InputError, match=r"the folder cannot be written, .*out/small: got .*, need .*; do: give anoth"):
        reproduce([FIGURE], Terms(tmp_path / "out", "small"), jobs=1)


def test_weights_are_trained_beside_the_runs_that_need_none(tmp_path: Path) -> None:
    """And are the same, however many processes there are."""

    def settings(terms: Terms) -> tuple[Setting, ...]:
        flt: PlanTable = {"name": "flt", "signature": {"kind": "encoder", "name": str(file_of(ENCODER, terms))}}
        methods = {"FLT": flt, "FedAvg": {"name": "fedavg"}}
        return (replace(SETTING, methods=methods, overrides={}, seeds=1, encoders=(ENCODER,)),)

    item = replace(FIGURE, settings=settings, read=lambda _: Outcome(claims=(Claim("", True, ""),)))
    trained = []
    for jobs in (1, 2):
        terms, seen = Terms(tmp_path / str(jobs)), Seen()
        reproduce([item], terms, jobs=jobs, display=seen.display)
        path = file_of(ENCODER, terms)
        trained.append(weight_files.read(path).weights.tobytes())
        assert set(seen.runs[:5]) == {f"{path.name} 1", *(f"fedavg-seed0 {number}" for number in range(1, 5))}
        assert seen.runs[5:] == [f"flt-seed0 {number}" for number in range(1, 5)]
    assert trained[0] == trained[1]


def test_what_takes_longest_comes_first() -> None:
    methods: dict[str, PlanTable] = {
        **SETTING.methods,
        "FLT": {"name": "flt", "signature": {"kind": "encoder", "own_tuning_epochs": 1}},
    }
    plans = plans_of(replace(SETTING, methods=methods, seeds=2), Terms(Path("out")))
    names = ["flt-seed0", "flt-seed1", "fedavg-seed0", "fedavg-seed1", "local-seed0", "local-seed1"]
    assert [path.name for path in longest_first(plans)] == names  # Local has fewer rounds


def test_two_settings_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two settings have one folder"):
        all_plans((SETTING, replace(SETTING, local={"lr": 0.2})), Terms(Path("out"), "small"))


def test_umap_is_asked_for_before_anything_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flt = {"name": "flt", "signature": {"kind": "encoder", "umap_dimensions": 2}}
    item = of_setting(TABLE, methods={"FedAvg": {"name": "fedavg"}, "FLT": flt}, overrides={})
    monkeypatch.setattr(embedding, "find_spec", lambda _: None)
    seen = Seen()
    with pytest.raises(InputError, match="UMAP is not installed"):
        reproduce([item], Terms(tmp_path), jobs=1, display=seen.display)
    assert seen.runs == []
