"""A run is a folder, and these are the names of its files: the experiment, the events, the models, the verdict.

experiment.toml    all settings, with defaults
environment.json   versions, machine, the data's fingerprint
preparation.json   how raw columns or images became inputs, where they did
start.safetensors  the weights that training started from, where they were given
events.jsonl       one event per line (`fedclade.store.events`)
arrays/            the arrays of events, one file for each event that has any
clients.parquet    per round and client: accuracy, loss, group, bytes, took part (clients.arrows while it runs)
checkpoint/        the last two states: round-00007/ with a manifest of checksums
models/            the final models, one row for each distinct one, and which client has which; and the preparation
result.json        the verdict; when it is there, the run is finished
report.html        the report, if one was written
lock               held by the process that writes

One process writes; anybody may read at any time. A kill leaves the last checkpoint, and behind it at most an end of a
log that is cut off when the run is resumed.
"""

import secrets
from datetime import UTC, datetime
from pathlib import Path

from fedclade.core import InputError

EXPERIMENT_FILE = "experiment.toml"
ENVIRONMENT_FILE = "environment.json"
PREPARATION_FILE = "preparation.json"
START_FILE = "start.safetensors"
EVENTS_FILE = "events.jsonl"
ARRAYS_FOLDER = "arrays"
CLIENTS_FILE, CLIENTS_LOG = "clients.parquet", "clients.arrows"
CHECKPOINTS_FOLDER = "checkpoint"
STATE_TREE_FILE, STATE_ARRAYS_FILE = "state.json", "state.safetensors"
MODELS_FOLDER = "models"
ROWS_FILE, ASSIGNMENT_FILE = "rows.safetensors", "assignment.json"
MANIFEST_FILE = "manifest.json"
RESULT_FILE = "result.json"
REPORT_FILE = "report.html"
LOCK_FILE = "lock"
BASELINES_FOLDER = "baselines"  # runs of other methods on the same data, beside the run of own data

MODEL_FILES = (MANIFEST_FILE, ROWS_FILE, ASSIGNMENT_FILE)
RUN_FILES = {
    *(EXPERIMENT_FILE, ENVIRONMENT_FILE, EVENTS_FILE, ARRAYS_FOLDER, CLIENTS_FILE, CLIENTS_LOG),
    *(CHECKPOINTS_FOLDER, MODELS_FOLDER, RESULT_FILE, REPORT_FILE, LOCK_FILE, PREPARATION_FILE, START_FILE),
}
"""All that runs and reports write into a run folder."""


def partial_name(name: str) -> str:
    """The name of a file or folder while it is being written."""
    return f".{name}.new"


def is_partial(name: str) -> bool:
    """Whether a file was being written when its writer was killed."""
    return name.startswith(".") and name.endswith(".new")


STARTUP_FILES = {
    *(LOCK_FILE, ENVIRONMENT_FILE, PREPARATION_FILE, START_FILE, BASELINES_FOLDER),
    *map(partial_name, (ENVIRONMENT_FILE, PREPARATION_FILE, START_FILE, EXPERIMENT_FILE)),
}
"""A folder with no others is not yet a run."""


def is_run(path: Path) -> bool:
    """Whether a folder is one of a run: fedclade writes both files, a user's own experiment stands alone."""
    return (path / EXPERIMENT_FILE).is_file() and (path / ENVIRONMENT_FILE).is_file()


def is_free(path: Path) -> bool:
    """Whether a run can be written here: nothing is there, or only what a start that was killed left."""
    try:
        return not path.exists() or (path.is_dir() and not {entry.name for entry in path.iterdir()} - STARTUP_FILES)
    except OSError as error:
        raise InputError("the run folder cannot be made", where=str(path), got=error.strerror or str(error)) from None


def new_run_name(method: str, source: str) -> str:
    """A name for a run: the day, the method, the data, and four letters that keep it apart."""
    return f"{datetime.now(UTC):%Y-%m-%d}-{method}-{source}-{secrets.token_hex(2)}"
