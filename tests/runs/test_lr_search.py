"""`lr = "auto"`: a few step sizes are tried before the first round, and the best goes into the run."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedclade as fc
from fedclade.data import Federation
from fedclade.methods import AnyMethod
from fedclade.runs.experiment import experiment_from
from fedclade.runs.lr_search import best_of
from fedclade.runs.lr_values import values_to_try
from fedclade.store.events import LrSearchEvent
from fedclade.store.run_folder import RunFolder
from fedclade.testing import Interrupted, play_run
from fedclade.testing.checks import without_time
from refusals import check_refused

VALUES = (0.001, 0.05, 1000.0)
FEDAVG = fc.FedAvg()


def train(federation: Federation, out: Path, method: AnyMethod = FEDAVG, **settings: Any) -> fc.Run:
    return fc.train(federation, method, out=out, **{"rounds": 10, "workers": 0, "evaluate_every": 10, **settings})


@pytest.fixture(scope="module")
def searched(two_groups: Federation, tmp_path_factory: pytest.TempPathFactory) -> fc.Run:
    return train(two_groups, tmp_path_factory.mktemp("searched") / "run", lr=VALUES)


def test_the_best_is_chosen_and_what_diverges_is_not(searched: fc.Run) -> None:
    (event,) = searched.folder.events(LrSearchEvent)
    slow, good, diverged = event.scores
    assert (event.values, event.lr, event.rounds, event.clients) == (VALUES, 0.05, 5, 6)
    assert slow is not None
    assert good is not None
    assert diverged is None
    assert slow < good
    assert searched.result["lr_search"] == {
        "values": [*VALUES],
        "scores": [slow, good, None],
        "lr": 0.05,
        "rounds": 5,
        "clients": 6,
    }
    assert searched.training_notes == ["lr auto: 0.05 of 0.001, 0.05, 1000"]


def test_the_run_is_that_of_the_value_that_was_chosen(two_groups: Federation, searched: fc.Run, tmp_path: Path) -> None:
    given = train(two_groups, tmp_path / "given", lr=0.05)
    assert given.result["model_hash"] == searched.result["model_hash"]
    assert given.accuracy == searched.accuracy


def test_every_byte_is_counted(two_groups: Federation, tmp_path: Path) -> None:
    """Two values, five rounds each, six clients, 650 parameters of 4 bytes; a model is sent once more to be tested."""
    searched = train(two_groups, tmp_path / "one", lr=[0.01, 0.1], net="logistic").result
    given = train(two_groups, tmp_path / "two", lr=0.1, net="logistic").result
    model = 4 * 650
    trained, tested = 2 * 5 * 6, 2 * 6

    def more(name: str) -> int:
        return int(str(searched[name])) - int(str(given.get(name, 0)))

    assert more("bytes_down_train_mean") == trained * model
    assert more("bytes_up_train_mean") == trained * (model + 16)
    assert more("bytes_down_validate") == tested * model
    assert more("bytes_down") == (trained + tested) * model
    assert more("bytes_down_evaluate") == 0
    (event,) = RunFolder.open(tmp_path / "one").events(LrSearchEvent)
    assert event.bytes_down == (trained + tested) * model


def test_all_methods_get_the_same(two_groups: Federation, searched: fc.Run, tmp_path: Path) -> None:
    methods: list[AnyMethod] = [fc.Local(), fc.FLT(), fc.Ditto()]
    for method in methods:
        other = train(two_groups, tmp_path / type(method).__name__, method, lr=VALUES, rounds=6)
        assert other.result["lr_search"] == searched.result["lr_search"]


def test_the_test_part_decides_nothing(two_groups: Federation, searched: fc.Run, tmp_path: Path) -> None:
    fewer = {
        client: replace(held, test=replace(held.test, index=held.test.index[:2]))
        for client, held in two_groups.data.items()
    }
    other = train(replace(two_groups, data=fewer), tmp_path / "other", lr=VALUES)
    assert other.result["lr_search"] == searched.result["lr_search"]
    assert other.result["model_hash"] == searched.result["model_hash"]


@pytest.mark.parametrize("after", [1, 3, 4])
def test_it_is_resumed_without_another_search(after: int, two_groups: Federation, tmp_path: Path) -> None:
    whole, _ = play_run(FEDAVG, two_groups, tmp_path / "whole", lr_values=(0.01, 0.4))
    with pytest.raises(Interrupted):
        play_run(FEDAVG, two_groups, tmp_path / "cut", lr_values=(0.01, 0.4), stop_after=after)
    again, _ = play_run(FEDAVG, two_groups, tmp_path / "cut", lr_values=(0.01, 0.4))
    assert without_time(again) == without_time(whole)


def test_a_schedule_goes_on_from_what_was_chosen(two_groups: Federation, tmp_path: Path) -> None:
    ways: list[Any] = [[0.001, 0.05], 0.05]
    found = [
        train(two_groups, tmp_path / str(number), lr=lr, schedule="cosine").result["model_hash"]
        for number, lr in enumerate(ways)
    ]
    assert found[0] == found[1]


def by_client(*scores: float) -> dict[str, float]:
    return {str(number): score for number, score in enumerate(scores)}


def test_the_middle_is_kept_unless_another_is_better_beyond_noise() -> None:
    """Of four gains with a mean of 0.1 the standard error is their deviation over 2."""
    middle = by_client(0.5, 0.5, 0.5, 0.5)
    clear = by_client(0.6, 0.6, 0.55, 0.65)  # deviation 0.041, two errors are 0.041
    unclear = by_client(0.9, 0.3, 0.9, 0.3)  # deviation 0.346, two errors are 0.346
    assert best_of([by_client(0.1, 0.1, 0.1, 0.1), middle, clear]) == 2
    assert best_of([clear, middle, by_client(0.2, 0.2, 0.2, 0.2)]) == 0
    assert best_of([middle, middle, unclear]) == 1
    assert best_of([middle, {}, unclear]) == 2  # the middle one diverged
    assert best_of([{}, {}, {}]) == 0  # so did all: the smallest
    assert best_of([{}, by_client(0.5), by_client(0.6)]) == 2  # one client: nothing tells the noise


def test_the_values_stand_around_the_default_of_the_data(tmp_path: Path) -> None:
    assert values_to_try("auto", {"lr": 0.5}) == (0.17, 0.5, 1.5)  # of a table
    assert values_to_try("auto", {}) == (0.033, 0.1, 0.3)
    assert values_to_try("auto", {"optimizer": "adam"}) == (0.001, 0.003, 0.009)
    assert values_to_try("auto", {"optimizer": {"kind": "adamw"}}) == (0.001, 0.003, 0.009)
    assert values_to_try([3, 0.1], {}) == (0.1, 3.0)
    rng = np.random.default_rng(0)
    table = {"site": np.repeat(list("abcd"), 30), "x": rng.normal(size=120), "y": rng.integers(2, size=120)}
    run = train(fc.data.from_frame(table, client="site", label="y"), tmp_path / "run", lr="auto", rounds=2)
    assert run.result["lr_search"]["values"] == [0.17, 0.5, 1.5]  # type: ignore[index]  # a table


def test_what_is_no_search_is_refused(two_groups: Federation, tmp_path: Path) -> None:
    for wrong in ([], [0.1], [0.1, 0.1], [0.1, -1.0], [0.1, "x"], [0.1, True], [float(each) for each in range(1, 12)]):
        check_refused("lr is not usable", train, two_groups, tmp_path / "run", lr=wrong)
    check_refused("lr is not usable", train, two_groups, tmp_path / "run", lr="fast")
    assert not (tmp_path / "run").exists()


def test_a_file_says_which_values_there_are() -> None:
    made = experiment_from({"data": {"source": "digits", "world": "iid"}, "local": {"lr": "auto", "batch": 20}})
    assert made.local.lr == 0.1
    assert made.local.batch == 20
    assert tomllib.loads(made.toml())["local"]["lr"] == [0.033, 0.1, 0.3]
    assert experiment_from(tomllib.loads(made.toml())) == made
