"""The programs that a run can be written for, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fedclade.core import InputError
from fedclade.export.csv import write_csv
from fedclade.export.mlflow import write_mlflow
from fedclade.export.tensorboard import write_tensorboard
from fedclade.store.run_folder import RunFolder


@dataclass(frozen=True)
class Target:
    """A program that reads runs."""

    write: Callable[[RunFolder, Path], list[Path]]
    """Write a run to a folder; returns the files."""
    package: str = ""
    """The package that must be installed for it."""


TARGETS = {
    "csv": Target(write_csv),
    "tensorboard": Target(write_tensorboard, "tensorboardX"),
    "mlflow": Target(write_mlflow, "mlflow"),
}


def export_run(path: Path, to: str, out: Path | None = None) -> list[Path]:
    """Write a run, finished or not, for another program: into `out`, or a folder of that name in the run."""
    target = TARGETS[to]
    folder = RunFolder.open(path)
    if target.package and find_spec(target.package) is None:
        what, do = f"{target.package} is not installed", 'pip install "fedclade[track]"'
        raise InputError(what, where=f"--to {to}", need="the extra that brings it", do=do)
    place = out or path / to
    if place.exists() and not place.is_dir():
        raise InputError("the export cannot be written", where=str(place), got="a file", need="a folder")
    try:
        return target.write(folder, place)
    except OSError as error:
        raise InputError("the export cannot be written", where=str(place), got=error.strerror or str(error)) from None
