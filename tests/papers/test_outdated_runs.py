"""Runs and results of another recipe, and damaged ones, are made anew; all others are kept."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from fedclade.core import Damaged, InputError
from fedclade.methods import FedAvg
from fedclade_papers import runner
from fedclade_papers.item import Outcome, Terms
from fedclade_papers.run_plans import is_finished, plans_of
from fedclade_papers.runner import HERE, SomeItemsFailed, digest, reproduce, sources_in
from papers.digit_items import ENCODER, FIGURE, NETWORK, SETTING, TABLE, Seen, of_setting

pytestmark = pytest.mark.slow
OTHER_LOCAL = of_setting(TABLE, methods={**SETTING.methods, "Local": {"name": "fedprox"}})


def test_a_run_of_another_experiment_is_made_anew(copy: Terms) -> None:
    """What is called Local is another method now: its runs are removed, FedAvg's are kept."""
    seen = Seen()
    reproduce([OTHER_LOCAL], copy, jobs=1, display=seen.display)
    assert seen.runs == [f"local-seed{seed} {number}" for seed in (0, 1) for number in (1, 2)]
    assert seen.messages[0] == (
        "digits local-seed0: the run there is of another experiment; it is removed and made anew"
    )


def test_a_run_by_other_code_of_its_method_is_made_anew(copy: Terms) -> None:
    """FedAvg's code is said to have been another: its runs are made anew, and noted; Local's are kept."""
    runs = copy.folder / "small" / "runs" / "digits"
    noted = (runs / "fedavg-seed0.code").read_text()
    for seed in (0, 1):
        (runs / f"fedavg-seed{seed}.code").write_text("other code")
    (copy.folder / "small" / "results" / "a-table1.json").unlink()
    seen = Seen()
    reproduce([TABLE], copy, jobs=1, display=seen.display)
    assert {line.split()[0] for line in seen.runs} == {"fedavg-seed0", "fedavg-seed1"}
    assert seen.messages[0] == (
        "digits fedavg-seed0: the run there is by other code of its method; it is removed and made anew"
    )
    assert (runs / "fedavg-seed0.code").read_text() == noted


def test_results_are_of_the_code_of_their_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same recipe by other code of a method is another one."""
    terms = Terms(tmp_path)
    plans = plans_of(SETTING, terms)
    before = digest(TABLE, (SETTING,), plans, terms)
    monkeypatch.setattr(runner, "method_digest", lambda plan: "other" if plan.method == FedAvg() else "same")
    after = digest(TABLE, (SETTING,), plans, terms)
    monkeypatch.setattr(runner, "method_digest", lambda _: "same")
    assert len({before, after, digest(TABLE, (SETTING,), plans, terms)}) == 3


def test_a_run_folder_with_something_else_in_it_is_kept(copy: Terms) -> None:
    mine = copy.folder / "small" / "runs" / "digits" / "local-seed0" / "my notes.txt"
    mine.write_text("keep")
    with pytest.raises(InputError, match=r"another experiment is in the way.*got my notes.txt beside it"):
        reproduce([OTHER_LOCAL], copy, jobs=1)
    assert mine.read_text() == "keep"
    assert all(is_finished(path) for path in plans_of(SETTING, copy))


def test_runs_are_kept_where_the_data_that_are_asked_for_now_are_not_here(
    copy: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FEDCLADE_DATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(copy.folder))
    with pytest.raises(InputError, match="emnist47"):
        reproduce([of_setting(TABLE, data={**SETTING.data, "source": "emnist47"})], copy, jobs=1)
    assert all(is_finished(path) for path in plans_of(SETTING, copy))


def test_results_are_of_the_code_that_reads_them(tmp_path: Path) -> None:
    """Other code of the papers is another recipe; another page is not."""
    found = []
    for number, changed in enumerate(("", "accuracy.py", "results_page.py")):
        folder = shutil.copytree(HERE, tmp_path / str(number), ignore=shutil.ignore_patterns("__pycache__"))
        if changed:
            (folder / changed).write_text((folder / changed).read_text() + "\n")
        found.append(sources_in(folder))
    assert found[1] != found[0] == found[2] == sources_in(HERE)


def test_results_are_of_the_encoders_and_networks_that_they_name() -> None:
    ways = [replace(SETTING, encoders=(each,)) for each in (ENCODER, replace(ENCODER, epochs=4))]
    ways += [replace(SETTING, networks=(each,)) for each in (NETWORK, replace(NETWORK, seed=7))]
    assert len({digest(TABLE, (way,), {}, Terms(Path("out"), "small")) for way in ways}) == 4


def test_a_damaged_run_keeps_no_other_item_from_being_made(copy: Terms) -> None:
    other = replace(of_setting(FIGURE, name="others"), name="b-figure1", read=lambda _: Outcome())
    run = copy.folder / "small" / "runs" / "digits" / "local-seed1"
    (run / "result.json").write_text("{")
    (copy.folder / "small" / "results" / "a-table1.json").unlink()
    with pytest.raises(SomeItemsFailed) as caught:
        reproduce([TABLE, other], copy, jobs=1)
    assert [result["item"] for result in caught.value.results] == ["b-figure1"]
    with pytest.raises(Damaged, match=r"local-seed1.*; do: remove that run's folder"):
        reproduce([TABLE], copy, jobs=1)
    shutil.rmtree(run)
    assert reproduce([TABLE], copy, jobs=1)[0]["item"] == "a-table1"


def test_a_run_that_knows_no_younger_setting_is_the_same_experiment(copy: Terms) -> None:
    """One that was made before FedAvg could be asked for `absent`; one that asks for something else is another."""
    again = Seen()
    asked = copy.folder / "small" / "runs" / "digits" / "fedavg-seed0" / "experiment.toml"
    whole, default = asked.read_text(), 'absent = "participants"\n'
    assert default in whole
    for text, rounds in ((whole.replace(default, ""), 0), (whole.replace("lr = 0.1", "lr = 0.2"), 4)):
        asked.write_text(text)
        (copy.folder / "small" / "results" / "a-table1.json").unlink()
        reproduce([TABLE], copy, jobs=1, display=again.display)
        assert len(again.runs) == rounds
