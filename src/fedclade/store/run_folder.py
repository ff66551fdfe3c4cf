"""A run folder, written by one process and read by any. Its files are listed in `fedclade.store.files`."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, TypeVar, overload

import numpy as np
import pyarrow as pa
import safetensors.numpy
from numpy.typing import NDArray

from fedclade.core import Assignment, Damaged, InputError, Mixture, Stopped
from fedclade.store import checkpoints, files, lock
from fedclade.store.checkpoints import Checkpoint
from fedclade.store.client_table import CLIENT_SCHEMA, parquet, read_table, repair_batches
from fedclade.store.durable_files import Log, digest, whole_lines, write_file, write_folder
from fedclade.store.event_arrays import array_path, extract_arrays, insert_arrays, read_arrays, write_arrays
from fedclade.store.events import Event, EventFacts, FactsEvent, RoundEvent, parse_events, plain_value, to_json
from fedclade.store.json_values import json_value
from fedclade.store.manifest import encode_manifest, read_manifest, verify_files

E = TypeVar("E", bound=Event)
MIXTURE_ARRAYS = ("mixture_starts", "mixture_rows", "mixture_shares")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Inside, a disk that refuses (full, gone, read-only) stops the run; what was saved before is safe."""
    try:
        yield
    except OSError as error:
        raise Stopped("the run could not be written", where=str(path), got=error.strerror or str(error)) from None


def model_arrays(models: Assignment) -> dict[str, NDArray[np.generic]]:
    """The arrays of the file of models: rows, and where models are mixed from them, how."""
    arrays: dict[str, NDArray[np.generic]] = {"rows": np.ascontiguousarray(models.basis)}
    if models.mixture is not None:
        parts = models.mixture.starts, models.mixture.rows, models.mixture.shares
        arrays.update(zip(MIXTURE_ARRAYS, parts, strict=True))
    return arrays


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._experiment_digest = ""  # of the experiment, when the folder was made or opened for writing
        self._lock: IO[str] | None = None
        self._logs: list[Log] = []  # of events and of clients, while the run is written

    # -- making and opening -------------------------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        path: Path,
        experiment: str,
        environment: Mapping[str, object],
        preparation: bytes = b"",
        start: bytes = b"",
    ) -> "RunFolder":
        """A new folder, held by this process.

        `preparation` is how raw data became inputs, as JSON; `start` the weights that training starts from, if they
        were given.
        """
        if not files.is_free(path):
            holder = lock.holder_of(path)
            got = f"a run that {holder} is writing" if holder else "something that is there already"
            need, do = "a new or empty folder", f"give another --out, or continue with: fedclade resume {path}"
            raise InputError("the run folder is taken", where=str(path), got=got, need=need, do=do)
        folder = cls(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            folder.acquire()
            if (path / files.EXPERIMENT_FILE).exists():
                folder.close()
                raise lock.locked_error(path, "a run that was started at the same time")
            write_file(path / files.ENVIRONMENT_FILE, json.dumps(environment, indent=2).encode())
            for name, content in ((files.PREPARATION_FILE, preparation), (files.START_FILE, start)):
                if content:
                    write_file(path / name, content)
            write_file(path / files.EXPERIMENT_FILE, experiment.encode())  # last: a folder with both is a run
            folder._experiment_digest = digest(experiment.encode())
            folder._start_logs()
        except OSError as error:
            folder.close()
            got = error.strerror or str(error)
            raise InputError("the run folder cannot be made", where=str(path), got=got) from None
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """A folder that is there, for reading."""
        if not files.is_run(path):
            raise InputError("there is no run here", where=str(path), need="a run folder with an experiment.toml in it")
        return cls(path)

    def acquire(self) -> None:
        """Keep every other writer out until `close`."""
        self._lock = lock.acquire(self.path)
        if files.is_run(self.path):
            self._experiment_digest = digest((self.path / files.EXPERIMENT_FILE).read_bytes())

    def close(self) -> None:
        """Let other writers in."""
        for log in self._logs:
            log.close()
        if self._lock is not None:
            lock.release(self.path, self._lock)
        self._logs, self._lock = [], None

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing ------------------------------------------------------------------------------------------------------

    def log_event(self, event: Event) -> None:
        """Add an event with the time of now; the arrays of its facts go to a file beside the log."""
        event = replace(event, time=datetime.now(UTC).isoformat(timespec="milliseconds"))
        line, arrays = extract_arrays(to_json(event))
        with writing(self.path):
            if arrays:  # before the line that names them
                line["arrays"] = plain_value(write_arrays(self.path, event, arrays))
            self._writers()[0].append(json.dumps(json_value(line), allow_nan=False).encode() + b"\n")

    def log_clients(self, table: pa.RecordBatch) -> None:
        """Add a round's lines to the clients' table."""
        with writing(self.path):
            self._writers()[1].append(table.serialize().to_pybytes())

    def save(self, checkpoint: Checkpoint) -> None:
        """Everything up to this round is safe after this."""
        with writing(self.path):
            events, clients = self._sync_logs()
            marks = {"events": events.mark, "clients": clients.mark, "experiment": self._experiment_digest}
            checkpoints.write(self.path, checkpoint, marks)

    def finish(self, result: Mapping[str, object], models: Assignment) -> None:
        """Write the verdict and the models; the run is finished after this."""
        with writing(self.path):
            events, _ = self._sync_logs()
            table = parquet(self.clients())
            write_file(self.path / files.CLIENTS_FILE, table)
            content = {
                files.ROWS_FILE: safetensors.numpy.save(model_arrays(models)),
                files.ASSIGNMENT_FILE: json.dumps(models.row_by_client, indent=0).encode(),
            }
            own = {files.PREPARATION_FILE: made} if (made := self.preparation()) else {}
            content |= own
            verdict = json.dumps(json_value(result), indent=2, allow_nan=False).encode()
            manifest = {
                "files": {name: digest(each) for name, each in content.items()},
                "run": {
                    files.CLIENTS_FILE: digest(table),
                    files.EVENTS_FILE: events.mark["sha256"],
                    files.EXPERIMENT_FILE: self._experiment_digest,
                    files.RESULT_FILE: digest(verdict),
                    **{name: digest(each) for name, each in own.items()},
                    **({files.START_FILE: digest(start)} if (start := self.start()) else {}),
                    **self._array_files(),
                },
            }
            write_folder(self.path / files.MODELS_FOLDER, {**content, files.MANIFEST_FILE: encode_manifest(manifest)})
            write_file(self.path / files.RESULT_FILE, verdict)
            (self.path / files.CLIENTS_LOG).unlink(missing_ok=True)

    def remove_checkpoints(self) -> None:
        """Remove the checkpoints of a finished run, from which nothing goes on; they are most of what it takes."""
        for old in checkpoints.folders_in(self.path) if self.is_finished else ():
            shutil.rmtree(old, ignore_errors=True)

    def restore_latest(self, *, repair: bool = False) -> Checkpoint | None:
        """The last checkpoint, with the logs cut back to it; None if the run had not reached its first one.

        With `repair`, a damaged checkpoint is passed over for the one before it.
        """
        with writing(self.path):
            checkpoints.remove_partial(self.path)
            found = checkpoints.newest(self.path, repair=repair)
            if found is None:
                if not repair and any(self.events(RoundEvent)):
                    raise Damaged(
                        "the checkpoints are missing",
                        where=str(self.path / files.CHECKPOINTS_FOLDER),
                        need="them as they were written",
                        do=f"restore them, or begin again: fedclade resume --repair {self.path}",
                    )
                self._start_logs()
                return None
            checkpoint, manifest = found
            experiment = self.path / files.EXPERIMENT_FILE
            if digest(experiment.read_bytes()) != manifest["experiment"]:
                what, do = (
                    f"{files.EXPERIMENT_FILE} is not what the run was started with",
                    "undo it, or start a new run",
                )
                raise Damaged(what, where=str(experiment), need="the file as it was", do=do)
            whole = whole_lines if repair else None
            self._logs = [Log(self.path / files.EVENTS_FILE, manifest["events"], repair=whole)]
            if not repair:
                verify_files(self.path, self._array_files())
            readable = partial(repair_batches, checkpoint.round) if repair else None
            self._logs.append(Log(self.path / files.CLIENTS_LOG, manifest["clients"], repair=readable))
            return checkpoint

    def _start_logs(self) -> None:
        self._logs = [Log(self.path / files.EVENTS_FILE), Log(self.path / files.CLIENTS_LOG)]
        self._logs[1].append(CLIENT_SCHEMA.serialize().to_pybytes())

    def _writers(self) -> tuple[Log, Log]:
        events, clients = self._logs
        return events, clients

    def _sync_logs(self) -> tuple[Log, Log]:
        for log in self._writers():
            log.sync()
        return self._writers()

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def is_finished(self) -> bool:
        """Whether the verdict is there."""
        return (self.path / files.RESULT_FILE).is_file()

    @property
    def writer(self) -> str:
        """The process that is writing the run now; empty if there is none."""
        return lock.holder_of(self.path)

    def verify(self) -> None:
        """An error unless all files of a finished run are as they were written."""
        self.models()
        wanted = read_manifest(self.path / files.MODELS_FOLDER / files.MANIFEST_FILE).get("run")
        if not wanted:
            raise Damaged("the run was made by another version", where=str(self.path), need="a manifest of the run")
        verify_files(self.path, wanted)

    def experiment_toml(self) -> str:
        """The experiment, as TOML."""
        try:
            return (self.path / files.EXPERIMENT_FILE).read_text(encoding="utf-8")
        except ValueError:
            raise Damaged(f"{files.EXPERIMENT_FILE} is damaged", where=str(self.path), need="it as it was") from None

    def last_checkpoint(self) -> Checkpoint:
        """The newest checkpoint, for reading."""
        if (found := checkpoints.newest(self.path)) is None:
            raise Damaged(
                "the checkpoints are missing", where=str(self.path / files.CHECKPOINTS_FOLDER), need="at least one"
            )
        return found[0]

    def result(self) -> dict[str, object]:
        """The verdict."""
        return self._read_json(files.RESULT_FILE)

    def environment(self) -> dict[str, object]:
        """Where the run was made."""
        return self._read_json(files.ENVIRONMENT_FILE)

    def preparation(self) -> bytes:
        """How raw data became inputs, as JSON; empty where they were inputs already."""
        return self._read_optional(files.PREPARATION_FILE)

    def start(self) -> bytes:
        """The weights that training started from, as safetensors; empty where they were random."""
        return self._read_optional(files.START_FILE)

    @overload
    def events(self) -> Iterator[Event]: ...

    @overload
    def events(self, kind: type[E]) -> Iterator[E]: ...

    def events(self, kind: type[Event] = Event) -> Iterator[Event]:
        """The events of a kind so far, or of all kinds; an unfinished last line is left out."""
        path = self.path / files.EVENTS_FILE
        for number, event in enumerate(parse_events(path.read_bytes() if path.exists() else b"")[0]):
            if event is None:
                raise Damaged("an event cannot be read", where=f"{path}, line {number + 1}", need="JSON")
            if isinstance(event, kind):
                yield event

    def facts(self, event: FactsEvent) -> EventFacts:
        """The facts of an event with their arrays."""
        arrays = {} if event.arrays is None else read_arrays(self.path, event.arrays)
        return {name: insert_arrays(each, arrays) for name, each in event.facts.items()}

    def clients(self) -> pa.Table:
        """The clients' table so far."""
        return read_table(self.path)

    def models(self) -> Assignment:
        """The final models, and which client has which."""
        folder = self.path / files.MODELS_FOLDER
        if not folder.is_dir() and self.is_finished:
            raise Damaged("the final models are gone", where=str(self.path), need="models/ as it was written")
        if not folder.is_dir():
            raise InputError("the run has no final models yet", where=str(self.path), need="a finished run")
        content = verify_files(folder, read_manifest(folder / files.MANIFEST_FILE)["files"])
        arrays = safetensors.numpy.load(content[files.ROWS_FILE])
        mixture = Mixture(*(arrays[name] for name in MIXTURE_ARRAYS)) if MIXTURE_ARRAYS[0] in arrays else None
        return Assignment(arrays["rows"], json.loads(content[files.ASSIGNMENT_FILE]), mixture)

    def _array_files(self) -> dict[str, str]:
        """The files of arrays that events name, with their SHA-256."""
        named = [event.arrays for event in self.events(FactsEvent) if event.arrays is not None]
        return {array_path(each): each.sha256 for each in named}

    def _read_optional(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return b""

    def _read_json(self, name: str) -> dict[str, object]:
        try:
            value = json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            raise InputError("the run is not finished", where=str(self.path / name), need="a finished run") from None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise Damaged(f"{name} cannot be read", where=str(self.path / name), need="a JSON object")
        return value
