"""A run as two CSV files: its rounds, and its clients in each of them."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from fedclade.export.history import COLUMNS, round_rows
from fedclade.store.durable_files import write_file
from fedclade.store.run_folder import RunFolder

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_csv(folder: RunFolder, out: Path) -> list[Path]:
    """Write rounds.csv and clients.csv; an unknown value is empty."""
    out.mkdir(parents=True, exist_ok=True)
    rounds = [{**row.metrics, "round": row.event.round, "time": row.event.time} for row in round_rows(folder)]
    table = folder.clients()
    written = {
        out / "rounds.csv": as_csv(list(dict.fromkeys([*COLUMNS, *(name for row in rounds for name in row)])), rounds),
        out / "clients.csv": as_csv(table.column_names, table.to_pylist()),
    }
    for path, content in written.items():
        write_file(path, content)
    return list(written)


def escape_formula(value: object) -> object:
    """Text that a spreadsheet would take for a formula, made text again by a leading apostrophe."""
    if not isinstance(value, str) or not value.startswith(FORMULA_STARTS):
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
    writer.writerows({name: escape_formula(value) for name, value in line.items()} for line in lines)
    return text.getvalue().encode()
