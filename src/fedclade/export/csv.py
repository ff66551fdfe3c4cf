"""A run as two CSV files: its rounds, and its clients in each of them."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedclade.export.history import COLUMNS, rows
from fedclade.runs.durable import write_file
from fedclade.runs.folder import RunFolder

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(folder: RunFolder, out: Path) -> list[Path]:
    """Write rounds.csv and clients.csv; what is not known is empty."""
    out.mkdir(parents=True, exist_ok=True)
    rounds = [{"round": row.round, "time": row.time, **row.figures} for row in rows(folder)]
    table = folder.clients()
    written = {
        out / "rounds.csv": as_csv(COLUMNS, rounds),
        out / "clients.csv": as_csv(table.column_names, table.to_pylist()),
    }
    for path, content in written.items():
        write_file(path, content)
    return list(written)


def harmless(value: object) -> object:
    """Text that a spreadsheet would take for a formula, made text again by a leading apostrophe."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def as_csv(columns: Sequence[str], lines: Sequence[Mapping[str, object]]) -> bytes:
    """The lines below their headings."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: harmless(value) for name, value in line.items()} for line in lines)
    return text.getvalue().encode()
