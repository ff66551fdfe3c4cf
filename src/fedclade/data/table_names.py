"""Columns of a table by their names: those of clients and labels as text, and what is wrong with any."""

import difflib
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from fedclade.core.column_names import MAX_TEXT
from fedclade.core.problems import Problem
from fedclade.data.labels import MAX_NAME_LENGTH
from fedclade.data.raw_table import RawColumn, read_column, text_column

MAX_SHOWN = 10  # names that a message shows


@dataclass
class Found:
    """What is found out about a table on the way, for one error and for the notes."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, column: str, why: str, do: str = "") -> None:
        self.problems.append(Problem(column, why, do))


def with_own_names(table: pa.Table, found: Found) -> pa.Table:
    """The table with one column of each name: more are a problem, unless they have no name."""
    names = table.column_names
    for name, count in Counter(names).items():
        if len(name) > MAX_TEXT:
            found.add(name[:MAX_SHOWN], f"has a name of {len(name):,} characters", "give it a shorter one")
        if count > 1 and name.strip():
            found.add(name, f"is there {count} times", "give each column a name of its own")
    first = {name: place for place, name in reversed([*enumerate(names)])}
    return table.select(sorted(place for name, place in first.items() if len(name) <= MAX_TEXT))


def read_names(table: pa.Table, column: str, use: str, found: Found) -> RawColumn:
    """The column of clients, or of labels, as text; without any text, and a problem, if there is none that can be."""
    nothing = RawColumn("text", np.full(table.num_rows, np.nan))
    if column not in table.column_names:
        there = table.column_names
        near = [name for name in there if name.lower() == column.lower()] or (
            difflib.get_close_matches(column, there, n=1, cutoff=0.5)
        )
        shown = ", ".join(there[:MAX_SHOWN]) + (", ..." if len(there) > MAX_SHOWN else "")
        do = f'did you mean "{near[0]}"?' if near else f"name it: --{use} COLUMN; columns are: {shown}"
        found.add(column, f"is not there (--{use})", do)
        return nothing
    names = text_column(read_column(table.column(column), text=True))
    if names.kind == "unusable":
        found.add(column, f"{names.fault} (--{use})", "name a column of text or whole numbers")
        return nothing
    if not names.texts:
        found.add(column, f"is empty in every row (--{use})", "is this the right column?")
        return nothing
    for text in names.texts:
        if len(text) > MAX_NAME_LENGTH or not text.isprintable() or (use == "client" and text != text.strip()):
            do = f"a name has 1 to {MAX_NAME_LENGTH} printable characters, and no space around it"
            found.add(column, f"holds {text[:40]!r}, which is no usable name (--{use})", do)
            return nothing
    return names
