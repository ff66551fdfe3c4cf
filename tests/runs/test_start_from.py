"""A run that starts from given weights: by every door, for every method, resumed; and what is refused."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from torch import Tensor, nn

import fedclade as fc
from fedclade.cli.app import code_of
from fedclade.core import Damaged, InputError
from fedclade.data import Federation
from fedclade.nets import net_for
from fedclade.nets.start_weights import encode_start
from fedclade.runs.experiment import experiment_from
from fedclade.runs.run import start
from refusals import check_refused

STILL: dict[str, Any] = {"net": "logistic", "rounds": 1, "participation": 1.0, "lr": 1e-30, "workers": 0}
"""One round whose steps are too short to move a float32."""
WEIGHTS = {
    "1.weight": torch.arange(640, dtype=torch.float32).reshape(10, 64) / 640 - 0.5,
    "1.bias": torch.linspace(-1, 1, 10),
}
ROW = np.concatenate([tensor.numpy().reshape(-1) for tensor in WEIGHTS.values()])


def save_torch(path: Path) -> None:
    torch.save({"state_dict": WEIGHTS, "epoch": 3}, path)


def save_half(path: Path) -> None:
    safetensors.torch.save_file({name: tensor.to(torch.float64) for name, tensor in WEIGHTS.items()}, path)


def save_npz(path: Path) -> None:
    arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in WEIGHTS.items()}
    np.savez_compressed(path, **arrays)


def linear() -> nn.Module:
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    module.load_state_dict(WEIGHTS)
    return module


def in_a_file(name: str, save: Callable[[Path], None]) -> Callable[[Path], object]:
    def make(folder: Path) -> object:
        save(folder / name)
        return folder / name

    return make


DOORS: Mapping[str, Callable[[Path], object]] = {
    "state_dict": lambda _: WEIGHTS,
    "arrays": lambda _: {name: tensor.numpy() for name, tensor in WEIGHTS.items()},
    "module": lambda _: linear(),
    "pt": in_a_file("weights.pt", lambda path: torch.save(WEIGHTS, path)),
    "pth": in_a_file("weights.pth", save_torch),
    "safetensors": in_a_file("weights.safetensors", save_half),
    "npz": in_a_file("weights.npz", save_npz),
}


@pytest.mark.parametrize("door", DOORS)
def test_clients_start_from_the_weights_by_every_door(two_groups: Federation, tmp_path: Path, door: str) -> None:
    run = fc.train(two_groups, fc.FedAvg(), start_from=DOORS[door](tmp_path), out=tmp_path / "run", **STILL)  # type: ignore[arg-type]  # of several types
    assert np.array_equal(run.folder.models().rows, ROW[None])
    stored = safetensors.torch.load_file(run.path / "start.safetensors")
    assert {name: tensor.tolist() for name, tensor in stored.items()} == {
        name: tensor.tolist() for name, tensor in WEIGHTS.items()
    }
    assert run.notes[-1].startswith("training starts from ")


@pytest.mark.parametrize(
    "method",
    [
        *(fc.Local(), fc.FLT(), fc.CFL(), fc.FedSEM(), fc.Ditto(), fc.FineTuned(), fc.PCAKMeansHC(), fc.ABC()),
        *(fc.FedProx(), fc.IFCA(start_from="fedavg")),
    ],
    ids=lambda method: type(method).__name__,
)
def test_every_method_starts_from_them(two_groups: Federation, tmp_path: Path, method: Any) -> None:
    run = fc.train(two_groups, method, start_from=WEIGHTS, out=tmp_path / "run", **STILL)
    models = run.folder.models()
    for client in two_groups:
        assert np.allclose(models.row_of(client), ROW, rtol=1e-6, atol=0)


def test_the_weights_that_a_seed_draws_are_the_run_of_that_seed(two_groups: Federation, tmp_path: Path) -> None:
    net = net_for("logistic", two_groups.shape, 10)
    settings: Any = {**STILL, "lr": 0.2, "rounds": 3, "participation": 0.5, "seed": 5}
    drawn = fc.train(two_groups, fc.FLT(), out=tmp_path / "drawn", **settings)
    given = net.module(net.initial_row(5))
    run = fc.train(two_groups, fc.FLT(), start_from=given, out=tmp_path / "given", **settings)
    assert run.result["model_hash"] == drawn.result["model_hash"]
    other = fc.train(two_groups, fc.FLT(), start_from=WEIGHTS, out=tmp_path / "other", **settings)
    assert other.result["model_hash"] != drawn.result["model_hash"]


def test_a_run_gives_its_model_and_of_several_their_mean_over_clients(two_groups: Federation, tmp_path: Path) -> None:
    one = fc.train(two_groups, fc.FedAvg(), out=tmp_path / "one", **{**STILL, "lr": 0.2})
    again = fc.train(two_groups, fc.FedAvg(), start_from=one, out=tmp_path / "again", **STILL)
    assert np.array_equal(again.folder.models().rows, one.folder.models().rows)
    assert again.notes == [f"training starts from the model of run {one.path}"]

    several = fc.train(two_groups, fc.Local(), out=tmp_path / "several", **{**STILL, "lr": 0.2})
    models = several.folder.models()
    mean = np.mean([models.row_of(client).astype(np.float64) for client in two_groups], axis=0)
    after = fc.train(two_groups, fc.FedAvg(), start_from=str(several.path), out=tmp_path / "after", **STILL)
    assert np.allclose(after.folder.models().rows[0], mean, atol=1e-7)
    origin = f"the mean of the 6 models of run {several.path}, each counted once for every client that has it"
    assert after.notes == [f"training starts from {origin}"]


def test_a_run_with_own_models_beside_a_common_one_gives_the_common_one(two_groups: Federation, tmp_path: Path) -> None:
    """Fine-tuning leaves the common model as FedAvg has it."""
    settings: Any = {**STILL, "lr": 0.2, "rounds": 2}
    common = fc.train(two_groups, fc.FedAvg(), out=tmp_path / "common", **settings)
    tuned = fc.train(two_groups, fc.FineTuned(), out=tmp_path / "tuned", **settings)
    after = fc.train(two_groups, fc.FedAvg(), start_from=tuned, out=tmp_path / "after", **STILL)
    assert np.array_equal(after.folder.models().rows, common.folder.models().rows)
    assert after.notes == [f"training starts from the common model of run {tuned.path}"]


def test_counters_of_batch_norm_need_not_fit(tmp_path: Path) -> None:
    """They are in a state_dict, and are no part of a model."""

    def make() -> nn.Module:
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))

    torch.manual_seed(3)
    trained = make()
    trained(torch.randn(8, 3))
    rng = np.random.default_rng(0)
    federation = fc.data.from_arrays({name: (rng.random((20, 3)), np.arange(20) % 2) for name in "ab"})
    own: Any = {**STILL, "net": make, "batch": 8}
    run = fc.train(federation, fc.FedAvg(), start_from=trained, out=tmp_path / "run", **own)
    before: dict[str, Tensor] = trained.state_dict()
    after = run.model_for("a").state_dict()
    assert torch.equal(after["0.weight"], before["0.weight"])
    assert before["1.num_batches_tracked"] == 1


class Enough(Exception):
    """Stop."""


def stop(_: fc.RunProgress) -> None:
    raise Enough


def test_a_run_is_resumed_from_the_weights_that_it_keeps(two_groups: Federation, tmp_path: Path) -> None:
    """Also when it was killed before its first checkpoint, and the file that it was started from is gone."""
    file, settings = tmp_path / "weights.pt", {**STILL, "lr": 0.2, "rounds": 3}
    torch.save(WEIGHTS, file)
    whole = fc.train(two_groups, fc.FedAvg(), start_from=file, out=tmp_path / "whole", **settings)
    for name, is_early in (("late", False), ("early", True)):
        with pytest.raises(Enough):
            fc.train(two_groups, fc.FedAvg(), start_from=file, out=tmp_path / name, callback=stop, **settings)
        if is_early:
            shutil.rmtree(tmp_path / name / "checkpoint")
    file.unlink()
    for name, repair in (("late", False), ("early", True)):
        run = fc.resume(tmp_path / name, federation=two_groups, repair=repair)
        assert run.result["model_hash"] == whole.result["model_hash"]


def test_weights_that_changed_in_the_folder_are_damage(two_groups: Federation, tmp_path: Path) -> None:
    run = fc.train(two_groups, fc.FedAvg(), start_from=WEIGHTS, out=tmp_path / "done", **STILL)
    with pytest.raises(Enough):
        fc.train(two_groups, fc.FedAvg(), start_from=WEIGHTS, out=tmp_path / "stopped", callback=stop, **STILL)
    for path in (run.path, tmp_path / "stopped"):
        (path / "start.safetensors").write_bytes(b"something else")
        with pytest.raises(Damaged, match=r"start\.safetensors is damaged"):
            fc.resume(path, federation=two_groups)
        (path / "start.safetensors").unlink()
        with pytest.raises(Damaged, match=r"start\.safetensors is damaged"):
            fc.resume(path, federation=two_groups)


def test_a_comparison_goes_on_with_the_same_weights_alone(two_groups: Federation, tmp_path: Path) -> None:
    methods: list[Any] = [fc.FedAvg(), fc.Local()]
    first = fc.compare(two_groups, methods, start_from=WEIGHTS, out=tmp_path, **STILL)
    again = fc.compare(two_groups, methods, start_from=WEIGHTS, out=tmp_path, **STILL)
    assert [run.result for run in again.runs] == [run.result for run in first.runs]
    other = {**WEIGHTS, "1.bias": torch.zeros(10)}
    said = "the weights to start from are not those that the run was started with"
    check_refused(said, fc.compare, two_groups, methods, start_from=other, out=tmp_path, **STILL)
    check_refused("there is a run of another experiment", fc.compare, two_groups, methods, out=tmp_path, **STILL)

    file, folder = tmp_path / "weights.pt", tmp_path / "of a file"
    torch.save(WEIGHTS, file)
    fc.compare(two_groups, methods, start_from=file, out=folder, **STILL)
    torch.save(other, file)
    check_refused(said, fc.compare, two_groups, methods, start_from=file, out=folder, **STILL)
    file.unlink()
    again = fc.compare(two_groups, methods, start_from=file, out=folder, **STILL)
    assert [run.result["model_hash"] for run in again.runs] == [run.result["model_hash"] for run in first.runs]


def test_an_experiment_names_a_file_relative_to_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save(WEIGHTS, "weights.pt")
    Path("experiment.toml").write_text(
        '[data]\nsource = "digits"\nworld = "iid"\nclients = 3\n[net]\nname = "logistic"\n[local]\nlr = 1e-30\n'
        '[run]\nrounds = 1\nparticipation = 1.0\nstart_from = "weights.pt"\n[engine]\nworkers = 0\n'
    )
    assert code_of(["run", "experiment.toml", "--out", "run"], False) == 0
    assert f"Note: training starts from {tmp_path / 'weights.pt'}" in capsys.readouterr().out
    assert f'start_from = "{tmp_path / "weights.pt"}"' in Path("run/experiment.toml").read_text()
    noted = json.loads(Path("run/environment.json").read_text())
    net = net_for("logistic", (1, 8, 8), 10)
    assert noted["start_sha256"] == hashlib.sha256(encode_start(ROW, net)).hexdigest()
    assert code_of(["resume", "run"], False) == 0


def test_weights_that_were_given_in_python_are_not_in_the_file(tmp_path: Path) -> None:
    tables = {"data": {"source": "digits", "world": "iid"}, "run": {"start_from": "python"}}
    check_refused("the first weights were given in Python", start, experiment_from(tables), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def refused(federation: Federation, folder: Path, start_from: object, **changes: Any) -> InputError:
    """The error of such a start; there is no folder."""
    given: Any = {**STILL, "method": fc.FedAvg(), "start_from": start_from, **changes}
    with pytest.raises(InputError) as caught:
        fc.train(federation, given.pop("method"), out=folder / "refused", **given)
    assert not (folder / "refused").exists()
    return caught.value


def test_weights_of_another_net_are_refused_by_their_tensors(two_groups: Federation, tmp_path: Path) -> None:
    other = {"1.weight": torch.zeros(7, 64), "1.bias": torch.zeros(10, dtype=torch.int64), "extra": torch.zeros(1)}
    error = refused(two_groups, tmp_path, other)
    assert (
        error.got == "1.weight is 7x64, not 10x64; 1.bias is torch.int64, not floating point; extra is not of this net"
    )
    assert error.need == "1.weight 10x64, 1.bias 10"
    assert refused(two_groups, tmp_path, {}).got == "1.weight is missing; 1.bias is missing"
    run = fc.train(two_groups, fc.FedAvg(), out=tmp_path / "mlp", **{**STILL, "net": "mlp"})
    assert "1.weight is 200x64, not 10x64" in refused(two_groups, tmp_path, run).got
    nan = {**WEIGHTS, "1.bias": torch.full((10,), torch.nan)}
    assert refused(two_groups, tmp_path, nan).got == "10 numbers that are not finite"


def test_what_cannot_start_is_refused(two_groups: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no state_dict" in refused(two_groups, tmp_path, {"1.weight": "text"}).what
    assert "nothing can start from this" in refused(two_groups, tmp_path, 3).what
    assert "there is no such file" in refused(two_groups, tmp_path, "nowhere.pt").what
    assert "there is no such file" in refused(two_groups, tmp_path, "x" * 300 + ".pt").what
    (tmp_path / "weights.h5").write_bytes(b"0")
    assert "no file of weights" in refused(two_groups, tmp_path, tmp_path / "weights.h5").what
    several = refused(two_groups, tmp_path, WEIGHTS, method=fc.IFCA())
    assert (several.got, several.do) == ("ifca: 6 different ones", 'ifca does so with start_from = "fedavg"')
    monkeypatch.setenv("FEDCLADE_SECRET", "a secret")
    assert "a blind run cannot start" in refused(two_groups, tmp_path, WEIGHTS, blind=True).what
    with pytest.raises(Enough):
        fc.train(two_groups, fc.FedAvg(), out=tmp_path / "stopped", callback=stop, **STILL)
    assert "no final models yet" in refused(two_groups, tmp_path, tmp_path / "stopped").what
    blind = fc.train(two_groups, fc.FedAvg(), out=tmp_path / "blind", blind=True, **STILL)
    assert "does not say which tensors" in refused(two_groups, tmp_path, blind).what


def test_a_method_of_others_that_asks_for_several_models_is_refused(two_groups: Federation, tmp_path: Path) -> None:
    """Which does not say so before."""

    class TwoStarts(fc.FedAvg):
        def start(self, fleet, first, now):  # type: ignore[no-untyped-def]  # as FedAvg's
            first(1)
            return super().start(fleet, first, now)

    TwoStarts.start.__annotations__["return"] = fc.FedAvg.start.__annotations__["return"]
    with pytest.raises(InputError, match="the method starts from several models"):
        fc.train(two_groups, TwoStarts(), start_from=WEIGHTS, out=tmp_path / "run", **STILL)


class Hostile:
    """Would write a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def bomb(path: Path) -> None:
    """A file of torch in which 3 GB of zeros are packed."""
    torch.save(WEIGHTS, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("x", "w", force_zip64=True) as entry:
        for _ in range(3 * 1024):
            entry.write(bytes(2**20))


def test_files_that_would_run_or_fill_the_memory_are_refused(two_groups: Federation, tmp_path: Path) -> None:
    target = tmp_path / "written"
    file = tmp_path / "weights.pt"
    for zipped in (True, False):
        torch.save({**WEIGHTS, "extra": Hostile(target)}, file, _use_new_zipfile_serialization=zipped)
        assert refused(two_groups, tmp_path, file).what == "the weights cannot be read"
        assert not target.exists()
    pickled: dict[str, Any] = {"1.weight": np.array([Hostile(target)], dtype=object)}
    np.savez(tmp_path / "weights.npz", **pickled)
    assert "Python objects" in refused(two_groups, tmp_path, tmp_path / "weights.npz").what
    assert not target.exists()
    torch.save({"1.weight": torch.zeros(1).expand(2**40, 64)}, file)  # 256 TB, by its shape
    assert "1.weight is 1099511627776x64, not 10x64" in refused(two_groups, tmp_path, file).got
    for content in (b"", b"PK\x05\x06" + bytes(18), b"\x80\x02."):
        for name in ("weights.pt", "weights.safetensors", "weights.npz"):
            (tmp_path / name).write_bytes(content)
            refused(two_groups, tmp_path, tmp_path / name)


@pytest.mark.slow
def test_a_file_that_unpacks_to_gigabytes_is_refused_at_once(two_groups: Federation, tmp_path: Path) -> None:
    bomb(tmp_path / "weights.pt")
    assert (tmp_path / "weights.pt").stat().st_size < 2**23
    assert "bytes when unpacked" in refused(two_groups, tmp_path, tmp_path / "weights.pt").got


def test_help_says_what_can_be_given() -> None:
    code = "import fedclade as fc, pydoc; print(pydoc.plain(pydoc.render_doc(fc.train)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "start_from      the weights to start from: a `state_dict` or a module" in shown
