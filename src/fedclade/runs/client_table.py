"""The clients' table of a run: a log of record batches while it goes on, one parquet file when it is finished."""

from pathlib import Path

import pyarrow as pa

CLIENTS = pa.schema(
    [
        ("round", pa.int32()),
        ("client", pa.string()),
        ("accuracy", pa.float64()),
        ("loss", pa.float64()),
        ("group", pa.int32()),
        ("bytes", pa.int64()),
        ("took_part", pa.bool_()),
    ]
)


def whole_batches(log: Path | bytes) -> list[pa.RecordBatch]:
    """The batches of a clients' log up to where it ends or cannot be read: the end may be being written right now."""
    content = log if isinstance(log, bytes) else log.read_bytes() if log.exists() else b""
    batches: list[pa.RecordBatch] = []
    try:
        with pa.ipc.open_stream(content) as stream:
            for batch in stream:
                batch.validate(full=True)
                batches.append(batch)
    except (pa.ArrowException, OSError):
        pass
    return batches
