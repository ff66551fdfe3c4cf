"""What is kept, and what is made anew: runs and results of another recipe, and damaged ones."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade.nouns import Damaged, InputError
from fedclade.papers.item import Pretrained, Terms
from fedclade.papers.plans import finished, plans_of
from fedclade.papers.runner import HERE, NotAllMade, digest, reproduce, sources_in
from papers.digit_items import FIGURE, NETWORK, NOTHING, SETTING, TABLE, Seen

pytestmark = pytest.mark.slow


def test_a_run_of_another_experiment_is_made_anew(tmp_path: Path) -> None:
    """What is called Local is another method now: its run makes way, FedAvg's is kept."""
    terms, seen = Terms(tmp_path, "tiny"), Seen()
    reproduce([TABLE], terms, jobs=1)
    local = replace(SETTING, methods={**SETTING.methods, "Local": {"name": "fedprox"}})
    reproduce([replace(TABLE, settings=lambda _: (local,))], terms, jobs=1, watching=seen.watching())
    assert seen.runs == ["local-seed0 1", "local-seed0 2"]
    assert seen.told[0] == ("digits local-seed0: the run there is of another experiment; it is removed and made anew")


def test_a_run_folder_with_something_else_in_it_is_kept(tmp_path: Path) -> None:
    terms = Terms(tmp_path, "tiny")
    reproduce([TABLE], terms, jobs=1)
    mine = tmp_path / "tiny" / "runs" / "digits" / "local-seed0" / "my notes.txt"
    mine.write_text("keep")
    local = replace(SETTING, methods={**SETTING.methods, "Local": {"name": "fedprox"}})
    with pytest.raises(InputError, match=r"another experiment is in the way.*got my notes.txt beside it"):
        reproduce([replace(TABLE, settings=lambda _: (local,))], terms, jobs=1)
    assert mine.read_text() == "keep"
    assert finished(mine.parent)


def test_runs_are_kept_where_the_data_that_are_asked_for_now_are_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = Terms(tmp_path / "out", "tiny")
    reproduce([TABLE], terms, jobs=1)
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("FEDCLADE_DATA", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    lacking = replace(SETTING, data={**SETTING.data, "source": "emnist47"})
    with pytest.raises(InputError, match="emnist47"):
        reproduce([replace(TABLE, settings=lambda _: (lacking,))], terms, jobs=1)
    assert all(finished(path) for path in plans_of(SETTING, terms))


def test_results_are_of_the_code_that_reads_them(tmp_path: Path) -> None:
    """Other code of the papers is another recipe; another page is not."""
    found = []
    for number, changed in enumerate(("", "accuracy.py", "page.py")):
        folder = shutil.copytree(HERE, tmp_path / str(number), ignore=shutil.ignore_patterns("__pycache__"))
        if changed:
            (folder / changed).write_text((folder / changed).read_text() + "\n")
        found.append(sources_in(folder))
    assert found[1] != found[0] == found[2] == sources_in(HERE)


def test_results_are_of_the_encoders_and_networks_that_they_name() -> None:
    terms = Terms(Path("out"), "small")
    encoder = Pretrained("enc", ("digits",), 3, 100)
    ways = [replace(SETTING, encoders=(each,)) for each in (encoder, replace(encoder, epochs=4))]
    ways += [replace(SETTING, networks=(each,)) for each in (NETWORK, replace(NETWORK, seed=7))]
    assert len({digest(TABLE, (way,), {}, terms) for way in ways}) == 4


def test_a_damaged_run_keeps_no_other_item_from_being_made(tmp_path: Path) -> None:
    terms = Terms(tmp_path, "small")
    other = replace(
        FIGURE, name="b-figure1", settings=lambda _: (replace(SETTING, name="others"),), read=lambda _: NOTHING
    )
    reproduce([TABLE, other], terms, jobs=1)
    run = tmp_path / "small" / "runs" / "digits" / "local-seed1"
    (run / "result.json").write_text("{")
    for name in ("a-table1", "b-figure1"):
        (tmp_path / "small" / "results" / f"{name}.json").unlink()
    with pytest.raises(NotAllMade) as told:
        reproduce([TABLE, other], terms, jobs=1)
    assert [result["item"] for result in told.value.results] == ["b-figure1"]
    with pytest.raises(Damaged, match=r"local-seed1.*; do: remove that run's folder"):
        reproduce([TABLE], terms, jobs=1)
    shutil.rmtree(run)
    assert reproduce([TABLE], terms, jobs=1)[0]["item"] == "a-table1"


def test_a_run_that_knows_no_younger_setting_is_the_same_experiment(tmp_path: Path) -> None:
    """One that was made before FedAvg could be asked for `absent`; one that asks for something else is another."""
    terms, again = Terms(tmp_path, "small"), Seen()
    reproduce([TABLE], terms, jobs=1)
    asked = tmp_path / "small" / "runs" / "digits" / "fedavg-seed0" / "experiment.toml"
    whole = asked.read_text()
    assert 'absent = "participants"\n' in whole
    result = tmp_path / "small" / "results" / "a-table1.json"
    for text, rounds in (
        (whole.replace('absent = "participants"\n', ""), 0),
        (whole.replace("lr = 0.1", "lr = 0.2"), 4),
    ):
        asked.write_text(text)
        result.unlink()
        reproduce([TABLE], terms, jobs=1, watching=again.watching())
        assert len(again.runs) == rounds
