"""A run for MLflow: its settings and metrics in a folder of MLflow's own form. No server, network or telemetry."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedclade.core import InputError
from fedclade.export.history import flat_settings, round_rows
from fedclade.store.run_folder import RunFolder

EXPERIMENT = "fedclade"
TAG = "fedclade.run"
OFFLINE_VARIABLES = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
MAX_PARAM_LENGTH = 6000  # characters of a setting that MLflow takes
BATCH_SIZE = 500  # metrics


def write_mlflow(folder: RunFolder, out: Path) -> list[Path]:
    """Add the run to the store in this folder, which may hold others, but not this one already."""
    if out.exists() and any(out.iterdir()) and not (out / ".trash").is_dir():
        need = "a store that MLflow has made, or a new folder"
        raise InputError("the folder is not one of MLflow's", where=str(out), need=need)
    with environment_variables(OFFLINE_VARIABLES):
        from mlflow.entities import Metric, Param
        from mlflow.tracking import MlflowClient

        store = MlflowClient(tracking_uri=out.absolute().as_uri())
        known = store.get_experiment_by_name(EXPERIMENT)
        experiment = store.create_experiment(EXPERIMENT) if known is None else known.experiment_id
        name = str(folder.path.absolute())
        if any(each.data.tags.get(TAG) == name for each in store.search_runs([experiment])):
            raise InputError("the run is there already", where=str(out), got=name, need="a run that is new to it")
        made = store.create_run(experiment, run_name=folder.path.absolute().name, tags={TAG: name}).info
        params = [Param(key, value[:MAX_PARAM_LENGTH]) for key, value in flat_settings(folder).items()]
        store.log_batch(made.run_id, params=params)
        metrics = [
            Metric(key, value, int(1000 * row.event.seconds), row.event.round)
            for row in round_rows(folder)
            for key, value in row.known_metrics()
        ]
        for start in range(0, len(metrics), BATCH_SIZE):
            store.log_batch(made.run_id, metrics=metrics[start : start + BATCH_SIZE])
        if folder.is_finished or not folder.writer:  # else it goes on, as MLflow assumes of a run
            store.set_terminated(made.run_id, "FINISHED" if folder.is_finished else "KILLED")
    return [out / str(experiment) / str(made.run_id)]


@contextmanager
def environment_variables(wanted: dict[str, str]) -> Iterator[None]:
    """Inside, the environment has these; afterwards it is as it was."""
    before = {name: os.environ[name] for name in wanted if name in os.environ}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name in wanted:
            del os.environ[name]
        os.environ.update(before)
