"""Where training starts: at random weights, or at what `start_from` names, a file, a run or an object of Python."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from os import PathLike
from os import path as os_path
from pathlib import Path

import numpy as np

from fedclade.core import Assignment, Damaged, InputError, Row
from fedclade.data.files.npz import read_arrays
from fedclade.methods import Needs
from fedclade.nets import Module, Net
from fedclade.nets.start_weights import (
    WHERE,
    StartWeights,
    check_size,
    decode_start,
    named_tensors,
    read_safetensors_file,
    read_torch_file,
    weights_of,
)
from fedclade.runs.experiment import PYTHON, Experiment, read_experiment, with_absolute_start
from fedclade.runs.method_state import restore_state
from fedclade.store.durable_files import digest
from fedclade.store.files import EXPERIMENT_FILE, START_FILE, is_run
from fedclade.store.run_folder import RunFolder

NEED = "a state_dict, a module, a file (.safetensors, .pt, .pth or .npz), a run or its folder"


def with_start(experiment: Experiment, start_from: object) -> Experiment:
    """The experiment that starts from what was given in Python: an object, or the path of a file or of a run."""
    if start_from is None:
        return experiment
    path = getattr(start_from, "path", start_from)  # of a run
    if isinstance(path, str | PathLike) and str(path):
        return replace(experiment, run=with_absolute_start(experiment.run, str(path)))
    if not isinstance(start_from, Mapping | Module):
        raise InputError("nothing can start from this", where=WHERE, got=type(start_from).__name__, need=NEED)
    run = replace(experiment.run, start_from=PYTHON)
    return replace(experiment, run=run, start_weights=weights_of(start_from))


def start_weights(experiment: Experiment) -> StartWeights | None:
    """The weights that an experiment starts from; None: random ones."""
    named = experiment.run.start_from
    if not named or experiment.start_weights is not None:
        return experiment.start_weights
    if named == PYTHON:
        do = "give them in Python: fedclade.train(..., start_from=...)"
        raise InputError("the first weights were given in Python", where=WHERE, need="the same weights", do=do)
    return read_weights(Path(named))


def read_weights(path: Path) -> StartWeights:
    """The weights in a file, or of a finished run."""
    if os_path.isdir(path) and is_run(path):
        return weights_of_run(path)
    check_size(path)
    readers: dict[str, Callable[[Path], StartWeights]] = {
        ".safetensors": read_safetensors_file,
        **{".pt": read_torch_file, ".pth": read_torch_file},
        ".npz": read_npz_file,
    }
    if path.suffix.lower() not in readers:
        raise InputError("this is no file of weights", where=WHERE, got=str(path), need=NEED)
    return readers[path.suffix.lower()](path)


def read_npz_file(path: Path) -> StartWeights:
    """The weights in a file of numpy's arrays, each under the name of its tensor."""
    names: list[str] = []

    def pick(entries: list[str]) -> list[str]:
        names.extend(entry.removesuffix(".npy") for entry in entries if entry.endswith(".npy"))
        return names

    arrays = read_arrays(path, pick)
    return StartWeights(named_tensors(dict(zip(names, arrays, strict=True)), str(path)), str(path))


def weights_of_run(path: Path) -> StartWeights:
    """The model of a finished run: the common one, or the mean over its clients of those that they ended with."""
    folder = RunFolder.open(path)
    pieces = tensor_shapes(folder)
    models, what = folder.models(), "model"
    with suppress(InputError, Damaged):  # its method is not known here, or its last state was removed
        models, what = common_models(folder), "common model"
    used = np.bincount(list(models.row_by_client.values()), minlength=models.model_count)
    row = models.mean(used / used.sum())
    count = int(np.count_nonzero(used))
    origin = f"the {what} of run {path}"
    if count > 1:
        origin = f"the mean of the {count} models of run {path}, each counted once for every client that has it"
    ends = np.cumsum([prod(shape) for shape in pieces.values()])
    parts = np.split(row, ends[:-1])
    arrays = {name: part.reshape(shape) for (name, shape), part in zip(pieces.items(), parts, strict=True)}
    return StartWeights(named_tensors(arrays, origin), origin)


def common_models(folder: RunFolder) -> Assignment:
    """What clients of a run learned together, where each has a model of its own beside it."""
    asked = read_experiment(folder.path / EXPERIMENT_FILE)
    common = asked.method.needs().common_models
    if common is None:
        raise InputError("the method keeps no common model", where=str(folder.path), got=asked.method_name)
    return common(restore_state(asked, folder.last_checkpoint()).final_method)


def tensor_shapes(folder: RunFolder) -> dict[str, tuple[int, ...]]:
    """The tensors of a run's net, in the order of a row."""
    listed = folder.environment().get("tensors")
    if not isinstance(listed, list) or not listed:
        need = "a run that was not blind, of this fedclade"
        raise InputError("the run does not say which tensors its net has", where=f"{WHERE}, {folder.path}", need=need)
    named = (str(each).rpartition(" ") for each in listed)
    return {name: tuple(map(int, filter(None, sides.split("x")))) for name, _, sides in named}


def check_start(experiment: Experiment, needs: Sequence[Needs]) -> None:
    """An error if given weights are no start for this experiment."""
    if not experiment.run.start_from:
        return
    if experiment.local.blind:
        need = "random weights, which the clients draw themselves"
        raise InputError("a blind run cannot start from given weights", where=WHERE, need=need)
    if (count := max(each.first_models for each in needs)) > 1:
        raise one_start_error(experiment, count)


def stored_start(folder: RunFolder, net: Net, noted: str) -> Row | None:
    """The row that a run started from, if it was given; an error unless it is what it was."""
    if not noted:
        return None
    where, content = str(folder.path / START_FILE), folder.start()
    if digest(content) != noted:
        got, need = f"SHA-256 {digest(content)[:12]}...", f"{noted[:12]}..."
        raise Damaged(f"{START_FILE} is damaged", where=where, got=got, need=need)
    return decode_start(content, net, where)


def initial_row(net: Net, experiment: Experiment, given: Row | None, number: int) -> Row:
    """Initial model number 0, 1, ...; in a blind run how far it is from the one that clients start from."""
    if given is not None:
        if number:
            raise one_start_error(experiment, "several")
        return given
    if not experiment.local.blind:
        return net.initial_row(experiment.run.seed, number)
    if number:
        raise InputError("blind clients start from one model", where="local.blind", got="several", need="one")
    return np.zeros(net.size, np.float32)


def one_start_error(experiment: Experiment, count: object) -> InputError:
    """The error for a method that needs several first models where one is given."""
    got, need = f"{experiment.method_name}: {count} different ones", "a method that starts from one model"
    do = 'ifca does so with start_from = "fedavg"'
    return InputError("the method starts from several models", where=WHERE, got=got, need=need, do=do)
