"""Runs are made once, shared and resumed; results say what was seen. On scikit-learn's digits, in seconds."""

import base64
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade.nets import shelf
from fedclade.nouns import InputError, Stopped
from fedclade.papers import encoders
from fedclade.papers.found import Found, first_at_least
from fedclade.papers.item import Claim, Item, Outcome, Setting, Terms
from fedclade.papers.plans import all_plans, longest_first, plans_of
from fedclade.papers.runner import NotAllMade, reproduce, stored_in
from fedclade.papers.training import on_training_examples
from fedclade.relate import embedding
from fedclade.runs.run import resume
from papers.digit_items import ENCODER, FIGURE, SETTING, TABLE, Seen

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Terms, Seen]:
    terms, seen = Terms(tmp_path_factory.mktemp("made"), "small"), Seen()
    reproduce([TABLE, FIGURE], terms, jobs=1, watching=seen.watching())
    return terms, seen


def test_every_run_is_made_once_for_all_items(made: tuple[Terms, Seen]) -> None:
    """FedAvg has four rounds, Local two, and there are two seeds: twelve rounds, though two items ask for them."""
    _, seen = made
    assert len(seen.runs) == 12
    assert seen.runs.count("local-seed1 2") == 1
    assert "about 10 seconds on two cores" in seen.told[0]


def test_a_second_call_does_nothing(made: tuple[Terms, Seen]) -> None:
    terms, _ = made
    files = {path: path.stat().st_mtime_ns for path in terms.folder.rglob("*") if path.is_file()}
    again = Seen()
    reproduce([TABLE, FIGURE], terms, jobs=1, watching=again.watching())
    assert again.runs == []
    changed = {path.name for path, then in files.items() if path.stat().st_mtime_ns != then}
    assert changed <= {"results.md", "results.json", "results.html"}


def test_a_run_that_is_missing_is_made_again_and_no_other(made: tuple[Terms, Seen]) -> None:
    terms, _ = made
    folder = terms.folder / "small"
    before = json.loads((folder / "results" / "a-table1.json").read_bytes())
    shutil.rmtree(folder / "runs" / "digits" / "local-seed1")
    (folder / "results" / "a-table1.json").unlink()
    again = Seen()
    result = reproduce([TABLE], terms, jobs=1, watching=again.watching())[0]
    assert again.runs == ["local-seed1 1", "local-seed1 2"]
    assert result["lines"] == before["lines"]


def test_finished_runs_keep_no_checkpoints_but_where_models_are_in_them(tmp_path: Path) -> None:
    """The models on a client's path are CFL's; they are nowhere but in its checkpoint."""
    methods = {"FedAvg": {"name": "fedavg"}, "CFL": {"name": "cfl"}}
    setting = replace(SETTING, methods=methods, others={}, seeds=1)
    item = replace(TABLE, settings=lambda _: (setting,), read=lambda _: Outcome())
    reproduce([item], Terms(tmp_path, "small"), jobs=1)
    fedavg, cfl = (tmp_path / "small" / "runs" / "digits" / f"{name}-seed0" for name in ("fedavg", "cfl"))
    assert not list((fedavg / "checkpoint").iterdir())
    somebody = next(iter(resume(fedavg).folder.models().home))
    assert resume(fedavg).model_for(somebody)
    assert resume(cfl).path_for(somebody)


BROKEN = [
    "{",
    "[]",
    '{"format": 1}',
    '{"format": 1, "item": "a-table1"}',
    lambda result: {**result, "lines": [1]},
    lambda result: {**result, "lines": [{"row": "FedAvg"}]},
    lambda result: {**result, "series": {"FedAvg": {"x": [1]}}},
    lambda result: {**result, "notes": None},
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
def test_a_result_that_cannot_be_used_is_as_good_as_not_there(
    broken: str | Callable[[dict[str, object]], object], made: tuple[Terms, Seen], tmp_path: Path
) -> None:
    terms, _ = made
    shutil.copytree(terms.folder, tmp_path / "copy")
    results = tmp_path / "copy" / "small" / "results"
    whole = json.loads((results / "a-table1.json").read_bytes())
    text = broken if isinstance(broken, str) else json.dumps(broken(whole))
    for name in ("a-table1", "zzz"):
        (results / f"{name}.json").write_text(text)
    again = Seen()
    (made_again,) = reproduce([TABLE], Terms(tmp_path / "copy", "small"), jobs=1, watching=again.watching())
    assert again.runs == []
    assert made_again["lines"] == whole["lines"]
    assert [each["item"] for each in stored_in(results)] == ["a-figure1", "a-table1"]


def test_results_that_are_read_anew_say_what_making_them_took(made: tuple[Terms, Seen], tmp_path: Path) -> None:
    """Nothing is run: the seconds are those of before, the commits those of the runs."""
    terms, _ = made
    shutil.copytree(terms.folder, tmp_path / "copy")
    path = tmp_path / "copy" / "small" / "results" / "a-table1.json"
    before = json.loads(path.read_bytes())
    path.write_text(json.dumps({**before, "recipe_sha256": "another", "seconds": 700.5}))
    for number, run in enumerate(sorted((tmp_path / "copy" / "small" / "runs" / "digits").iterdir())):
        told = json.loads((run / "environment.json").read_bytes())
        (run / "environment.json").write_text(json.dumps({**told, "fedclade_commit": f"c{number % 2}"}))
    (again,) = reproduce([TABLE], Terms(tmp_path / "copy", "small"), jobs=1)
    assert again["recipe_sha256"] == before["recipe_sha256"]
    assert (again["seconds"], again["cpu_seconds_here"]) == (700.5, before["cpu_seconds_here"])
    environment = again["environment"]
    assert isinstance(environment, dict)
    assert environment["fedclade_commits"] == ["c0", "c1"]
    assert {"scipy", "torch"} <= environment["packages"].keys()


def test_what_a_result_holds(made: tuple[Terms, Seen]) -> None:
    terms, _ = made
    result = json.loads((terms.folder / "small" / "results" / "a-table1.json").read_bytes())
    assert result["command"] == "fedclade reproduce a-table1 --scale small"
    assert result["seeds"] == [0, 1]
    assert result["runs"] == 4
    assert str(terms.folder) not in json.dumps(result)
    local = next(line for line in result["lines"] if line["row"] == "Local" and line["column"] == "accuracy")
    assert local["printed"] == 95.0
    assert local["difference"] == pytest.approx(local["ours"] - 95.0)
    assert result["recipe"]["digits"]["methods"]["Local"] == {"name": "local"}
    assert result["series"]["FedAvg"]["x"] == [2.0, 4.0]
    for name in ("results.md", "results.html"):
        text = (terms.folder / "small" / name).read_text()
        assert "a-table1" in text
        assert "Local is ahead" in text


def test_figures_over_seeds(made: tuple[Terms, Seen]) -> None:
    """The mean and the deviation of two runs, by hand."""
    terms, _ = made
    found = Found(terms, [SETTING])
    one, other = (100 * float(str(run.result()["accuracy"])) for run in found.runs("digits", "FedAvg"))
    seen = found.accuracy("digits", "FedAvg")
    assert seen.mean == pytest.approx((one + other) / 2)
    assert seen.deviation == pytest.approx(abs(one - other) / 2)
    assert found.curve("digits", "FedAvg")["y"][-1] == pytest.approx(seen.mean)


def test_training_accuracy_is_that_of_each_clients_own_examples(made: tuple[Terms, Seen]) -> None:
    """Local's models, applied here by hand to what their clients trained on."""
    terms, _ = made
    accuracy, _ = on_training_examples(Found(terms, [replace(SETTING, seeds=1)]), "digits", "Local")
    path = next(path for path in plans_of(SETTING, terms) if path.name == "local-seed0")
    models = Found(terms, [SETTING]).runs("digits", "Local")[0].models()
    federation = plans_of(SETTING, terms)[path].federation()
    shares = []
    for client in federation.clients:
        held = federation[client].train
        row = models.row_of(client)
        weights, bias = row[:640].reshape(10, 64), row[640:]
        guessed = (held.inputs.reshape(len(held), 64) @ weights.T + bias).argmax(axis=1)
        shares.append((guessed == held.labels).mean())
    assert accuracy.mean == pytest.approx(100 * sum(shares) / len(shares))


def test_tiny_has_two_rounds_and_no_verdict(tmp_path: Path) -> None:
    seen = Seen()
    result = reproduce([TABLE], Terms(tmp_path, "tiny"), jobs=1, watching=seen.watching())[0]
    assert sorted(seen.runs) == ["fedavg-seed0 1", "fedavg-seed0 2", "local-seed0 1", "local-seed0 2"]
    assert result["verdict"] == ""
    assert seen.told[-1] == "a-table1: no verdict at this scale"
    assert "**no verdict at this scale**" in (tmp_path / "tiny" / "results.md").read_text()


def test_an_interrupt_while_an_item_is_computed_says_how_to_go_on(tmp_path: Path) -> None:
    def interrupted(_: Found) -> Outcome:
        raise KeyboardInterrupt

    item = Item(name="a-figure2", paper="A", title="", differs="", rule="", read=interrupted)
    with pytest.raises(Stopped, match="interrupted, a-figure2; do: the same command again: it goes on where it was"):
        reproduce([item], Terms(tmp_path, "small"), jobs=1)


@pytest.mark.parametrize("inside", ["", "small", "small/results", "small/results.md"])
def test_a_folder_that_cannot_be_written_is_told(inside: str, tmp_path: Path) -> None:
    """A file where a folder must be, or a folder in the place of a file."""
    way = tmp_path / "out" / inside
    way.parent.mkdir(parents=True, exist_ok=True)
    if inside.endswith(".md"):
        (way / "full").mkdir(parents=True)
    else:
        way.write_text("")
    with pytest.raises(InputError, match=r"the folder cannot be written, .*out/small: got .*, need .*; do: give anoth"):
        reproduce([FIGURE], Terms(tmp_path / "out", "small"), jobs=1)


def test_weights_are_trained_beside_the_runs_that_need_none(tmp_path: Path) -> None:
    """And are the same, however many processes there are."""

    def settings(terms: Terms) -> tuple[Setting, ...]:
        flt = {"name": "flt", "signature": "encoder", "encoder": str(encoders.file_of(ENCODER, terms))}
        methods = {"FLT": flt, "FedAvg": {"name": "fedavg"}}
        return (replace(SETTING, methods=methods, others={}, seeds=1, encoders=(ENCODER,)),)

    item = replace(FIGURE, settings=settings, read=lambda _: Outcome(claims=(Claim("", True, ""),)))
    made = []
    for jobs in (1, 2):
        terms, seen = Terms(tmp_path / str(jobs)), Seen()
        reproduce([item], terms, jobs=jobs, watching=seen.watching())
        path = encoders.file_of(ENCODER, terms)
        made.append(shelf.read(path).weights.tobytes())
        assert set(seen.runs[:5]) == {f"{path.name} 1", *(f"fedavg-seed0 {number}" for number in range(1, 5))}
        assert seen.runs[5:] == [f"flt-seed0 {number}" for number in range(1, 5)]
    assert made[0] == made[1]


def test_what_takes_longest_comes_first() -> None:
    methods = {**SETTING.methods, "FLT": {"name": "flt", "signature": "encoder", "tuning": "clients"}}
    plans = plans_of(replace(SETTING, methods=methods, seeds=2), Terms(Path("out")))
    names = ["flt-seed0", "flt-seed1", "fedavg-seed0", "fedavg-seed1", "local-seed0", "local-seed1"]
    assert [path.name for path in longest_first(plans)] == names  # Local has fewer rounds


def test_two_settings_of_one_name_are_refused() -> None:
    other = replace(SETTING, local={"lr": 0.2})
    with pytest.raises(InputError, match="two settings have one folder"):
        all_plans((SETTING, other), Terms(Path("out"), "small"))


def test_rounds_to_a_target() -> None:
    curve = {"x": [5.0, 10.0, 15.0], "y": [40.0, 70.0, 65.0]}
    assert first_at_least(curve, 65.0) == 10.0
    assert first_at_least(curve, 71.0) is None


def test_an_item_without_its_data_keeps_no_other_from_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("FEDCLADE_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    lacking = replace(SETTING, name="lacking", data={**SETTING.data, "source": "emnist47"})
    broken = replace(TABLE, name="b-table1", settings=lambda _: (lacking,))
    seen = Seen()
    terms = Terms(tmp_path, "tiny")
    with pytest.raises(
        NotAllMade, match=r"1 of 2 items were not made: got b-table1, need .*; do: fedclade data list"
    ) as told:
        reproduce([broken, TABLE], terms, jobs=1, watching=seen.watching())
    assert [result["item"] for result in told.value.results] == ["a-table1"]
    assert "emnist47" in told.value.missing["b-table1"]
    assert "emnist47" not in str(told.value)  # it is short: why stands in the line of each item
    assert "a-table1" in (tmp_path / "tiny" / "results.md").read_text()
    assert any(line.startswith("b-table1: not made, the files are not here, source emnist47") for line in seen.told)
    with pytest.raises(InputError, match="emnist47"):
        reproduce([broken], terms, jobs=1)


def test_tables_have_all_that_was_made_so_far(made: tuple[Terms, Seen]) -> None:
    terms, _ = made
    reproduce([FIGURE], terms, jobs=1)
    text = (terms.folder / "small" / "results.md").read_text()
    assert "a-table1" in text
    assert "a-figure1" in text


def test_pictures_are_in_the_page(made: tuple[Terms, Seen]) -> None:
    """Curves as a file beside the result and inside the page, which works offline; and a list of items."""
    terms, _ = made
    picture = (terms.folder / "small" / "results" / "a-table1.svg").read_bytes()
    page = (terms.folder / "small" / "results.html").read_text()
    assert picture.startswith(b"<?xml")
    assert base64.b64encode(picture).decode() in page
    assert '<a href="#a-table1">a-table1</a>' in page
    assert '<section id="a-table1">' in page


def test_umap_is_asked_for_before_anything_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flt = {"name": "flt", "signature": "encoder", "encoder": "fashion-mnist", "embedding": "umap"}
    setting = replace(SETTING, methods={"FedAvg": {"name": "fedavg"}, "FLT": flt}, others={})
    monkeypatch.setattr(embedding, "find_spec", lambda _: None)
    seen = Seen()
    with pytest.raises(InputError, match="UMAP is not installed"):
        reproduce([replace(TABLE, settings=lambda _: (setting,))], Terms(tmp_path), jobs=1, watching=seen.watching())
    assert seen.runs == []
