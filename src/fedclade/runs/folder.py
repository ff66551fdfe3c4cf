"""A run is a folder: what was asked, what happened, the models, the verdict.

    experiment.toml    what was asked, complete
    environment.json   versions, machine, the data's fingerprint
    events.jsonl       one line per fact
    arrays/            what facts have of arrays, a file for each event that has any
    clients.parquet    per round and client: accuracy, loss, group, bytes, took part (clients.arrows while it runs)
    checkpoint/        the last two states: round-00007/ with a manifest of checksums
    models/            the final models, one row for each distinct one, and who has which
    result.json        the verdict; when it is there, the run is finished

One process writes; anybody may read at any time. A kill leaves the last checkpoint, and behind it at most an end of a
log that is cut off when the run is resumed.
"""

import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors
import safetensors.numpy

from fedclade.nouns import Assignment, Damaged, InputError, Stopped
from fedclade.runs import lock
from fedclade.runs.client_table import CLIENTS, whole_batches
from fedclade.runs.codec import Arrays
from fedclade.runs.durable import Log, digest, whole_lines, write_file, write_folder
from fedclade.runs.event_arrays import FOLDER, file_name, file_of, put_arrays, read_arrays, take_arrays
from fedclade.runs.manifest import sealed, unsealed, verified
from fedclade.runs.plain import finite

FORMAT = 2  # of checkpoints; another one is refused
KEPT = 2  # checkpoints

BEFORE = {lock.NAME, "environment.json", ".environment.json.new", ".experiment.toml.new"}  # not yet a run


@dataclass(frozen=True)
class Checkpoint:
    """What was reached after a round."""

    round: int
    tree: object
    arrays: Arrays
    totals: Mapping[str, float]
    """Sums over the run so far: seconds, bytes."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Inside, a disk that refuses (full, gone, read-only) stops the run; what was saved before is safe."""
    try:
        yield
    except OSError as wrong:
        raise Stopped("the run could not be written", where=str(path), got=wrong.strerror or str(wrong)) from None


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._asked = ""  # the digest of experiment.toml as it was when the folder was made or opened for writing
        self._lock: IO[str] | None = None
        self._events: Log | None = None
        self._clients: Log | None = None

    # -- making and opening -------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path, experiment: str, environment: Mapping[str, object]) -> "RunFolder":
        """A new folder, held by this process."""
        if not free(path):
            holder = lock.holder_of(path)
            raise InputError(
                "the run folder is taken",
                where=str(path),
                got=f"a run that {holder} is writing" if holder else "something that is there already",
                need="a new or empty folder",
                do=f"give another --out, or continue with: fedclade resume {path}",
            )
        folder = cls(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            folder.hold()
            if (path / "experiment.toml").exists():
                folder.close()
                raise lock.taken(path, "a run that was started at the same time")
            write_file(path / "environment.json", json.dumps(environment, indent=2).encode())
            write_file(path / "experiment.toml", experiment.encode())  # last: a folder with both is a run
            folder._asked = digest(experiment.encode())
            folder._start_logs()
        except OSError as wrong:
            folder.close()
            raise InputError(
                "the run folder cannot be made", where=str(path), got=wrong.strerror or str(wrong)
            ) from None
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """A folder that is there, for reading."""
        if not is_run(path):
            raise InputError("there is no run here", where=str(path), need="a run folder with an experiment.toml in it")
        return cls(path)

    def hold(self) -> None:
        """Keep every other writer out until `close`."""
        self._lock = lock.hold(self.path)
        if is_run(self.path):
            self._asked = digest((self.path / "experiment.toml").read_bytes())

    def close(self) -> None:
        """Let go of the folder."""
        for log in (self._events, self._clients):
            if log is not None:
                log.close()
        if self._lock is not None:
            lock.let_go(self.path, self._lock)
        self._events = self._clients = self._lock = None

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing ------------------------------------------------------------------------------------------------------

    def note(self, event: str, /, **facts: object) -> None:
        """One fact, as a line of events.jsonl; its arrays in a file beside it."""
        assert self._events is not None
        plain, arrays = take_arrays(facts)
        line = {"event": event, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), **plain}
        with writing(self.path):
            if arrays:  # before the line that names them
                name, content = file_name(event, facts.get("round")), safetensors.numpy.save(arrays)
                (self.path / FOLDER).mkdir(exist_ok=True)
                write_file(self.path / FOLDER / name, content)
                line["arrays"] = {"file": name, "sha256": digest(content)}
            self._events.append(json.dumps(finite(line), allow_nan=False).encode() + b"\n")

    def note_clients(self, table: pa.RecordBatch) -> None:
        """A round's lines of the clients' table."""
        assert self._clients is not None
        with writing(self.path):
            self._clients.append(table.serialize().to_pybytes())

    def save(self, checkpoint: Checkpoint) -> None:
        """Everything up to this round is safe after this."""
        with writing(self.path):
            self._save(checkpoint)

    def _save(self, checkpoint: Checkpoint) -> None:
        assert self._events is not None
        assert self._clients is not None
        self._events.sync()
        self._clients.sync()
        files = {
            "state.json": json.dumps(checkpoint.tree).encode(),
            "state.safetensors": safetensors.numpy.save(checkpoint.arrays),
        }
        manifest = {
            "format": FORMAT,
            "round": checkpoint.round,
            "files": {name: digest(content) for name, content in files.items()},
            "events": self._events.mark,
            "clients": self._clients.mark,
            "experiment": self._asked,
            "totals": dict(checkpoint.totals),
        }
        write_folder(
            self.path / "checkpoint" / f"round-{checkpoint.round:05d}", {**files, "manifest.json": sealed(manifest)}
        )
        for old in self._checkpoints()[:-KEPT]:
            shutil.rmtree(old)

    def finish(self, result: Mapping[str, object], models: Assignment) -> None:
        """The verdict and the models; the run is finished after this."""
        with writing(self.path):
            self._finish(result, models)

    def _finish(self, result: Mapping[str, object], models: Assignment) -> None:
        assert self._clients is not None
        assert self._events is not None
        self._events.sync()
        self._clients.sync()
        sink = pa.BufferOutputStream()
        pq.write_table(self.clients(), sink)
        table = sink.getvalue().to_pybytes()
        write_file(self.path / "clients.parquet", table)
        files = {
            "rows.safetensors": safetensors.numpy.save({"rows": np.ascontiguousarray(models.rows)}),
            "assignment.json": json.dumps(models.home, indent=0).encode(),
        }
        verdict = json.dumps(finite(result), indent=2, allow_nan=False).encode()
        manifest = {
            "files": {name: digest(content) for name, content in files.items()},
            "run": {
                "clients.parquet": digest(table),
                "events.jsonl": self._events.mark["sha256"],
                "experiment.toml": self._asked,
                "result.json": digest(verdict),
                **{f"{FOLDER}/{name}": sha256 for name, sha256 in self._array_files()},
            },
        }
        write_folder(self.path / "models", {**files, "manifest.json": sealed(manifest)})
        write_file(self.path / "result.json", verdict)
        (self.path / "clients.arrows").unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove the checkpoints of a finished run, from which nothing goes on; they are most of what it takes."""
        for old in self._checkpoints() if self.finished else ():
            shutil.rmtree(old, ignore_errors=True)

    # -- resuming -----------------------------------------------------------------------------------------------------

    def latest(self, *, repair: bool = False) -> Checkpoint | None:
        """The last checkpoint, with the logs cut back to it; None if the run had not reached its first one.

        With `repair`, a damaged checkpoint is passed over for the one before it.
        """
        with writing(self.path):
            return self._latest(repair)

    def _latest(self, repair: bool) -> Checkpoint | None:
        for leftover in (self.path / "checkpoint").glob(".round-*.new"):
            shutil.rmtree(leftover, ignore_errors=True)
        found = self._checkpoints()
        while found:
            newest = found.pop()
            try:
                checkpoint, manifest = self._read(newest)
            except Damaged as wrong:
                if repair and found:
                    continue
                whole = f", or go on from {found[-1].name}: fedclade resume --repair {self.path}" if found else ""
                raise Damaged(
                    wrong.what, where=wrong.where, got=wrong.got, need=wrong.need, do=f"restore it{whole}"
                ) from None
            if digest((self.path / "experiment.toml").read_bytes()) != manifest["experiment"]:
                raise Damaged(
                    "experiment.toml is not what the run was started with",
                    where=str(self.path / "experiment.toml"),
                    need="the file as it was",
                    do="undo the change, or start a new run",
                )
            self._events = Log(self.path / "events.jsonl", manifest["events"], repair=whole_lines if repair else None)
            if not repair:
                verified(self.path, {f"{FOLDER}/{name}": sha256 for name, sha256 in self._array_files()})
            salvaged = partial(self._salvaged, checkpoint.round) if repair else None
            self._clients = Log(self.path / "clients.arrows", manifest["clients"], repair=salvaged)
            return checkpoint
        if not repair and any(event.get("event") == "round" for event in self.events()):
            raise Damaged(
                "the checkpoints are missing",
                where=str(self.path / "checkpoint"),
                need="them as they were written",
                do=f"restore them, or begin again: fedclade resume --repair {self.path}",
            )
        self._start_logs()
        return None

    def verify(self) -> None:
        """Everything that a finished run is made of is as it was written."""
        self.models()
        wanted = unsealed(self.path / "models" / "manifest.json").get("run")
        if not wanted:
            raise Damaged("the run was made by another version", where=str(self.path), need="a manifest of the run")
        verified(self.path, wanted)

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether the verdict is there."""
        return (self.path / "result.json").is_file()

    @property
    def live(self) -> str:
        """Who is writing the run now; empty if nobody is."""
        return lock.holder_of(self.path)

    def asked(self) -> str:
        """The experiment, as TOML."""
        try:
            return (self.path / "experiment.toml").read_text(encoding="utf-8")
        except ValueError:
            raise Damaged("experiment.toml is damaged", where=str(self.path), need="it as it was") from None

    def remembered(self) -> Checkpoint:
        """What the method remembers after the last round, for reading: the newest checkpoint."""
        found = self._checkpoints()
        if not found:
            raise Damaged("the checkpoints are missing", where=str(self.path / "checkpoint"), need="at least one")
        return self._read(found[-1])[0]

    def result(self) -> dict[str, object]:
        """The verdict."""
        return self._json("result.json")

    def environment(self) -> dict[str, object]:
        """Where the run was made."""
        return self._json("environment.json")

    def events(self) -> Iterator[dict[str, object]]:
        """The facts so far; an unfinished last line is left out."""
        path = self.path / "events.jsonl"
        for number, line in enumerate(path.read_bytes().split(b"\n")[:-1] if path.exists() else ()):
            try:
                event = json.loads(line)
            except ValueError:
                raise Damaged("an event cannot be read", where=f"{path}, line {number + 1}", need="JSON") from None
            if isinstance(event, dict):
                yield event

    def facts(self, event: Mapping[str, object]) -> Mapping[str, object]:
        """What a method told in an event, with its arrays."""
        facts = event.get("facts")
        whole = put_arrays(facts, read_arrays(self.path, event)) if isinstance(facts, Mapping) else {}
        assert isinstance(whole, Mapping)
        return whole

    def clients(self) -> pa.Table:
        """The clients' table so far."""
        done, running = self.path / "clients.parquet", self.path / "clients.arrows"
        if done.exists():
            try:
                return pq.read_table(done, schema=CLIENTS)
            except (pa.ArrowException, OSError):
                raise Damaged("clients.parquet cannot be read", where=str(done), need="it as it was written") from None
        return pa.Table.from_batches(whole_batches(running), CLIENTS)

    def models(self) -> Assignment:
        """The final models and who has which."""
        folder = self.path / "models"
        if not folder.is_dir() and self.finished:
            raise Damaged("the final models are gone", where=str(self.path), need="models/ as it was written")
        if not folder.is_dir():
            raise InputError("the run has no final models yet", where=str(self.path), need="a finished run")
        files = verified(folder, unsealed(folder / "manifest.json")["files"])
        rows = safetensors.numpy.load(files["rows.safetensors"])["rows"]
        return Assignment(rows, json.loads(files["assignment.json"]))

    # -- inside -------------------------------------------------------------------------------------------------------

    def _array_files(self) -> Iterator[tuple[str, str]]:
        """The files of arrays that events name, with their SHA-256."""
        return (named for event in self.events() if (named := file_of(event)) is not None)

    def _version(self) -> str:
        """Of the fedclade that began the run, as far as it says so."""
        packages = self.environment().get("packages")
        return str(packages.get("fedclade", "unknown")) if isinstance(packages, Mapping) else "unknown"

    def _start_logs(self) -> None:
        self._events = Log(self.path / "events.jsonl")
        self._clients = Log(self.path / "clients.arrows")
        self._clients.append(CLIENTS.serialize().to_pybytes())

    def _salvaged(self, number: int, content: bytes) -> bytes:
        """What can still be read of a damaged clients' log, up to this round."""
        batches = [batch for batch in whole_batches(content) if max(batch["round"].to_pylist(), default=0) <= number]
        return b"".join(part.serialize().to_pybytes() for part in (CLIENTS, *batches))

    def _checkpoints(self) -> list[Path]:
        """Their folders, the oldest first; what else may lie there is nobody's."""
        found = [path for path in (self.path / "checkpoint").glob("round-*") if re.fullmatch(r"round-\d+", path.name)]
        return sorted((path for path in found if path.is_dir()), key=lambda path: int(path.name.removeprefix("round-")))

    def _read(self, folder: Path) -> tuple[Checkpoint, dict[str, Any]]:
        manifest = unsealed(folder / "manifest.json")
        if manifest["format"] != FORMAT:
            raise InputError(
                "the run was made by another version of fedclade",
                where=str(folder),
                got=f"a checkpoint of format {manifest['format']}, fedclade {self._version()}",
                need=f"format {FORMAT}",
                do="go on with the version that it was started with, or start it again",
            )
        files = verified(folder, manifest["files"])
        arrays = safetensors.numpy.load(files["state.safetensors"])
        totals = {name: float(value) for name, value in manifest["totals"].items()}
        return Checkpoint(int(manifest["round"]), json.loads(files["state.json"]), arrays, totals), manifest

    def _json(self, name: str) -> dict[str, object]:
        try:
            value = json.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            raise InputError("the run is not finished", where=str(self.path / name), need="a finished run") from None
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise Damaged(f"{name} cannot be read", where=str(self.path / name), need="a JSON object")
        return value


def free(path: Path) -> bool:
    """Whether a run can be written here: nothing is there, or only what a start that was killed left."""
    try:
        return not path.exists() or (path.is_dir() and not {entry.name for entry in path.iterdir()} - BEFORE)
    except OSError as wrong:
        raise InputError("the run folder cannot be made", where=str(path), got=wrong.strerror or str(wrong)) from None


def is_run(path: Path) -> bool:
    """Whether a folder is one of a run: fedclade writes both files, a user's own experiment stands alone."""
    return (path / "experiment.toml").is_file() and (path / "environment.json").is_file()


def new_name(method: str, source: str) -> str:
    """A name for a run: the day, the method, the data, and four letters that keep it apart."""
    return f"{datetime.now(UTC):%Y-%m-%d}-{method}-{source}-{secrets.token_hex(2)}"
