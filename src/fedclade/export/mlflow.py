"""A run for MLflow: its settings and figures in a folder of MLflow's own kind. No server, no network, no telemetry."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedclade.export.history import rows, settings
from fedclade.nouns import InputError
from fedclade.runs.folder import RunFolder
from fedclade.runs.lock import holder_of

EXPERIMENT = "fedclade"
TAG = "fedclade.run"
ALONE = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
LONGEST = 6000  # letters of a setting that MLflow takes
AT_ONCE = 500  # figures


def write_mlflow(folder: RunFolder, out: Path) -> list[Path]:
    """Add the run to the store in this folder, which may hold others, but not this one already."""
    if out.exists() and any(out.iterdir()) and not (out / ".trash").is_dir():
        raise InputError(
            "the folder is not one of MLflow's", where=str(out), need="a store that MLflow has made, or a new folder"
        )
    with variables(ALONE):
        from mlflow.entities import Metric, Param
        from mlflow.tracking import MlflowClient

        store = MlflowClient(tracking_uri=out.absolute().as_uri())
        known = store.get_experiment_by_name(EXPERIMENT)
        experiment = store.create_experiment(EXPERIMENT) if known is None else known.experiment_id
        name = str(folder.path.absolute())
        if any(each.data.tags.get(TAG) == name for each in store.search_runs([experiment])):
            raise InputError("the run is there already", where=str(out), got=name, need="a run that is new to it")
        made = store.create_run(experiment, run_name=folder.path.absolute().name, tags={TAG: name}).info
        store.log_batch(made.run_id, params=[Param(key, value[:LONGEST]) for key, value in settings(folder).items()])
        figures = [
            Metric(key, value, int(1000 * row.seconds), row.round) for row in rows(folder) for key, value in row.known()
        ]
        for start in range(0, len(figures), AT_ONCE):
            store.log_batch(made.run_id, metrics=figures[start : start + AT_ONCE])
        if folder.finished or not holder_of(folder.path):  # else it goes on, as MLflow takes a run to do
            store.set_terminated(made.run_id, "FINISHED" if folder.finished else "KILLED")
    return [out / str(experiment) / str(made.run_id)]


@contextmanager
def variables(wanted: dict[str, str]) -> Iterator[None]:
    """Inside, the environment has these; afterwards it is as it was."""
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
