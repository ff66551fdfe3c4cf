"""Several runs at once: their progress is reported, and the first failure ends them all."""

import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import fedclade as fc
from fedclade.api import Settings
from fedclade.core import Damaged, FedcladeError, Stopped
from fedclade.data import Federation
from fedclade.methods import AnyMethod
from fedclade.runs.compare import FederationCache, best_jobs, finish, folder_name, plan_runs, without_workers
from fedclade.runs.experiment import EngineSettings, experiment_from
from fedclade.runs.loop import ProgressCallback, RunProgress
from fedclade.runs.parallel import PrepareWork, Work, run_parallel
from fedclade.store.run_folder import RunFolder

SMALL = {"data": {"source": "digits", "world": "iid", "clients": 4}}


def working(work: Work) -> PrepareWork:
    return lambda: work


def tells(path: Path, number: int) -> Work:
    def work(watch: ProgressCallback) -> None:
        watch(RunProgress(1, 2, None))
        watch(RunProgress(2, 2, 0.5))
        (path / f"{number}").write_text(str(os.getpid()))

    return work


def unwatched(_: int) -> ProgressCallback:
    return lambda _: None


def test_all_are_done_in_processes_of_their_own_and_watched(tmp_path: Path) -> None:
    seen: dict[int, list[RunProgress]] = {}

    def watch(number: int) -> Callable[[RunProgress], None]:
        seen[number] = []
        return seen[number].append

    run_parallel([working(tells(tmp_path, number)) for number in range(5)], 2, watch)
    processes = {(tmp_path / str(number)).read_text() for number in range(5)}
    assert len(processes) == 5
    assert str(os.getpid()) not in processes
    assert list(seen.values()) == [[RunProgress(1, 2, None), RunProgress(2, 2, 0.5)]] * 5


def test_the_first_failure_is_the_error_and_ends_the_others(tmp_path: Path) -> None:
    def fails(_: ProgressCallback) -> None:
        while not (tmp_path / "other").exists() or not (tmp_path / "other").read_text():  # made, and then written
            time.sleep(0.01)
        raise Damaged("a file is gone", where="there", got="nothing", need="it", do="look")

    def lasts(_: ProgressCallback) -> None:
        (tmp_path / "other").write_text(str(os.getpid()))
        signal.pause()

    with pytest.raises(Damaged, match="a file is gone") as caught:
        run_parallel([working(fails), working(lasts), working(tells(tmp_path, 3))], 2, unwatched)
    assert str(caught.value) == "a file is gone, there: got nothing, need it; do: look"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "other").read_text()), 0)
    assert not (tmp_path / "3").exists()  # it was never begun


def test_a_full_disk_a_bug_and_a_death_are_errors() -> None:
    def full(_: ProgressCallback) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def bug(_: ProgressCallback) -> None:
        raise ZeroDivisionError("by zero")

    with pytest.raises(Stopped, match="the disk is full; do: make room, then the same command again"):
        run_parallel([working(full)], 2, unwatched)
    with pytest.raises(FedcladeError, match="a bug in fedclade, ZeroDivisionError: by zero"):
        run_parallel([working(bug)], 2, unwatched)
    with pytest.raises(FedcladeError, match=r"process died.*exit code 7"):
        run_parallel([working(lambda _: os._exit(7))], 2, unwatched)


def test_threads_of_the_process_before_are_not_waited_for() -> None:
    """Libraries that have threads count on them; a forked process has none."""

    def multiplies(_: ProgressCallback) -> None:
        assert torch.get_num_threads() == 1
        assert torch.ones(500, 500) @ torch.ones(500) == pytest.approx(torch.full((500,), 500.0))

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.ones(2000, 2000) @ torch.ones(2000, 2000)
        run_parallel([working(multiplies)] * 2, 2, unwatched)
    finally:
        torch.set_num_threads(before)


def test_an_interrupt_stops_and_says_how_to_go_on() -> None:
    def interrupting(_: int) -> ProgressCallback:
        def raises(_: RunProgress) -> None:
            raise KeyboardInterrupt

        return raises

    def work(watch: ProgressCallback) -> None:
        watch(RunProgress(1, 2, None))
        signal.pause()

    with pytest.raises(Stopped, match=r"interrupted.*2 runs that are not finished"):
        run_parallel([working(work), working(work)], 2, interrupting)


@pytest.mark.slow
def test_side_by_side_gives_the_same_models(two_groups: Federation, tmp_path: Path) -> None:
    methods: list[AnyMethod] = [fc.FedAvg(), fc.IFCA(clusters=2, restarts=2, trial=1)]
    plan: Settings = {"rounds": 3, "participation": 0.5}
    hashes = []
    for jobs in (1, 3):
        found = fc.compare(two_groups, methods, seeds=2, net="logistic", out=tmp_path / str(jobs), jobs=jobs, **plan)
        hashes.append([run.result["model_hash"] for run in found.runs])
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 4


def test_a_method_has_settings_of_its_own_over_those_of_the_file() -> None:
    plans = plan_runs(experiment_from(SMALL), ["fedavg", "ifca:clusters=5,averaging=gradients"], 2, Path("out"))
    specs = ["fedavg", "ifca-clusters=5-averaging=gradients"]
    assert [str(path) for path in plans] == [f"out/{spec}-seed{seed}" for seed in (0, 1) for spec in specs]
    assert list(plans.values())[1].method == fc.IFCA(clusters=5, averaging="gradients")
    assert folder_name("mine:a=../b c") == "mine-a=..-b-c"
    with pytest.raises(FedcladeError, match=r"method\.cluster is not known"):
        plan_runs(experiment_from(SMALL), ["ifca:cluster=5"], 1, Path("out"))
    for asked in ("ifca:", "ifca:clusters", "ifca:clusters=2,"):
        with pytest.raises(FedcladeError, match=f'--method: got "{asked}", need name:key=value'):
            plan_runs(experiment_from(SMALL), [asked], 1, Path("out"))
    # The file has K = 4; only settings that are given for the same method change.
    experiment = experiment_from({**SMALL, "method": {"name": "ifca", "clusters": 4, "averaging": "gradients"}})
    plans = plan_runs(experiment, ["ifca", "ifca:restarts=1", "fedsem:clusters=3"], 1, Path("out"))
    assert [plan.method for plan in plans.values()] == [
        fc.IFCA(clusters=4, averaging="gradients"),
        fc.IFCA(clusters=4, averaging="gradients", restarts=1),
        fc.FedSEM(clusters=3),
    ]


def test_the_same_method_in_other_words_is_run_once(two_groups: Federation, tmp_path: Path) -> None:
    """Twice the same run is no second seed."""
    asked = ["ifca", "ifca:clusters=2", "ifca:trial=3,clusters=3", "ifca:clusters=3,trial=3", "ifca"]
    plans = plan_runs(experiment_from(SMALL), asked, 1, Path("out"))
    assert [path.name for path in plans] == ["ifca-seed0", "ifca-trial=3-clusters=3-seed0"]
    methods: list[AnyMethod] = [fc.Ditto(), fc.Ditto(lam=0.1), fc.FedAvg()]
    found = fc.compare(two_groups, methods, net="logistic", rounds=1, out=tmp_path / "once")
    assert [(line.method, line.runs) for line in found.lines] == [("ditto", 1), ("fedavg", 1)]


def test_a_run_beside_others_has_no_workers() -> None:
    experiment = experiment_from(SMALL)
    assert without_workers(experiment).engine == EngineSettings(workers=0)
    assert best_jobs(experiment, 1) == 1
    assert best_jobs(experiment, 10**6) == len(os.sched_getaffinity(0))


@pytest.mark.parametrize("jobs", [1, 2])
def test_other_work_begins_before_the_runs_and_is_watched(jobs: int, tmp_path: Path) -> None:
    seen: dict[str, list[RunProgress]] = {}

    def watch(path: Path) -> ProgressCallback:
        return seen.setdefault(path.name, []).append

    plans = plan_runs(experiment_from({**SMALL, "run": {"rounds": 1}}), ["fedavg", "local"], 1, tmp_path / "runs")
    beside = {tmp_path / str(number): tells(tmp_path, number) for number in range(2)}
    finish(plans, FederationCache(None), jobs=jobs, progress_for=watch, extra_work=beside)
    assert all(RunFolder.open(path).is_finished for path in plans)
    assert list(seen) == ["0", "1", "fedavg-seed0", "local-seed0"]
    assert seen["0"] == seen["1"] == [RunProgress(1, 2, None), RunProgress(2, 2, 0.5)]
    processes = {path.read_text() for path in beside}
    assert (str(os.getpid()) in processes) == (jobs == 1)
