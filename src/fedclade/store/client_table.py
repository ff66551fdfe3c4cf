"""The clients' table of a run: a log of record batches while it goes on, one parquet file when it is finished."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from fedclade.core import Damaged
from fedclade.store.files import CLIENTS_FILE, CLIENTS_LOG

CLIENT_SCHEMA = pa.schema(
    [
        ("round", pa.int32()),
        ("client", pa.string()),
        ("accuracy", pa.float64()),
        ("loss", pa.float64()),
        ("group", pa.int32()),
        ("bytes", pa.int64()),
        ("took_part", pa.bool_()),
        ("metric", pa.float64()),
        ("metric_error", pa.float64()),
        ("examples", pa.int64()),
    ]
)


def whole_batches(log: bytes) -> list[pa.RecordBatch]:
    """The batches of a clients' log up to where it ends or cannot be read: the end may be being written right now."""
    batches: list[pa.RecordBatch] = []
    try:
        with pa.ipc.open_stream(log) as stream:
            for batch in stream:
                batch.validate(full=True)
                batches.append(batch)
    except (pa.ArrowException, OSError):
        pass
    return batches


def repair_batches(last_round: int, log: bytes) -> bytes:
    """The part of a damaged clients' log that can still be read, up to this round."""
    batches = [batch for batch in whole_batches(log) if max(batch["round"].to_pylist(), default=0) <= last_round]
    return b"".join(part.serialize().to_pybytes() for part in (CLIENT_SCHEMA, *batches))


def read_table(run: Path) -> pa.Table:
    """The clients' table of a run so far."""
    done, running = run / CLIENTS_FILE, run / CLIENTS_LOG
    if done.exists():
        try:
            return pq.read_table(done, schema=CLIENT_SCHEMA)
        except (pa.ArrowException, OSError):
            raise Damaged(f"{CLIENTS_FILE} cannot be read", where=str(done), need="it as it was written") from None
    return pa.Table.from_batches(whole_batches(running.read_bytes() if running.exists() else b""), CLIENT_SCHEMA)


def parquet(table: pa.Table) -> bytes:
    """The table as a parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]  # pyarrow has no types
