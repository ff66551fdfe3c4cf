"""A user's tables: the same federation as from arrays, and everything wrong is said with its column and row."""

from datetime import date
from pathlib import Path
from random import Random
from types import MappingProxyType

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclade.core import InputError
from fedclade.data import Federation, from_arrays, from_file, from_frame
from refusals import check_refused

SITES = ["north", "south"] * 5
FAULTS = ["leak", "none", "worn", "none", "leak"] * 2
GOOD: dict[str, list[object]] = {
    "site": [*SITES],
    "heat": [float(number) for number in range(10)],
    "fault": [*FAULTS],
    "on": [True, False] * 5,
    "count": [7] * 10,
}


def frame(**columns: object) -> Federation:
    """The good table with these columns instead."""
    return from_frame({**GOOD, **columns}, client="site", label="fault", name="mine")


def changed(column: str, row: int, value: object) -> list[object]:
    """A column of the good table with another value in one row, counted from 1."""
    values = list(GOOD[column])
    values[row - 1] = value
    return values


def test_columns_become_features_in_their_order_and_are_not_rescaled() -> None:
    federation = frame()
    assert federation.clients == ("north", "south")
    assert federation.shape == (3,), "heat, on, count"
    assert federation.class_names == ("leak", "none", "worn")
    north = federation["north"]  # rows 0, 2, 4, 6, 8: all on
    rows = sorted([*north.train.inputs.tolist(), *north.test.inputs.tolist()])
    assert rows == [[heat, 1.0, 7.0] for heat in (0.0, 2.0, 4.0, 6.0, 8.0)]
    for part in (north.train, north.test):
        assert part.inputs.dtype == np.float32
        names = [federation.class_names[label] for label in part.labels]
        assert names == [FAULTS[int(heat)] for heat in part.inputs[:, 0]]


@st.composite
def sites(draw: st.DrawFn) -> dict[str, tuple[list[list[float]], list[int]]]:
    """Some clients with examples of three features, every one of C classes somewhere."""
    names = draw(st.lists(st.text("abc019-", min_size=1, max_size=5), min_size=1, max_size=4, unique=True))
    classes = draw(st.integers(2, 12))
    numbers = st.floats(-(2**20), 2**20, width=32)
    found = {}
    for name in names:
        labels = draw(st.lists(st.integers(0, classes - 1), min_size=2, max_size=8))
        labels += range(classes) if name == names[0] else ()
        inputs = draw(st.lists(st.lists(numbers, min_size=3, max_size=3), min_size=len(labels), max_size=len(labels)))
        found[name] = (inputs, labels)
    return found


@given(sites(), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_table_gives_what_its_arrays_give(
    data: dict[str, tuple[list[list[float]], list[int]]], shuffle: Random, as_text: bool
) -> None:
    """However the rows of different clients are mixed, and whether labels are written as numbers or as text."""
    queues = {client: list(zip(*held, strict=True)) for client, held in data.items()}
    turns = [client for client, held in queues.items() for _ in held]
    shuffle.shuffle(turns)
    rows = [(client, *queues[client].pop(0)) for client in turns]
    table = {
        "a": [inputs[0] for _, inputs, _ in rows],
        "who": [client for client, _, _ in rows],
        "b": [inputs[1] for _, inputs, _ in rows],
        "y": [str(label) if as_text else label for _, _, label in rows],
        "c": [inputs[2] for _, inputs, _ in rows],
    }
    made = from_frame(table, client="who", label="y", test=0.3, seed=5)
    assert made.fingerprint == from_arrays(data, test=0.3, seed=5).fingerprint
    assert made.class_names == tuple(str(number) for number in range(made.classes))


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([10, -3, 2, 10, -3, 2, 10, -3, 2, 2], ("-3", "2", "10")),
        ([1.0, 0.0] * 5, ("0", "1")),
        ([True, False] * 5, ("false", "true")),
        (["10", "9"] * 5, ("9", "10")),
        (["10", "9", "x", "x", "x"] * 2, ("10", "9", "x")),
        (np.array([2, 5] * 5, np.uint8), ("2", "5")),
        (pa.chunked_array([["b", "a"], ["c", "a", "a", "b", "b", "c"], ["a", "a"]]), ("a", "b", "c")),
        (pa.array(["b", "a"] * 5).dictionary_encode(), ("a", "b")),
        (pa.DictionaryArray.from_arrays([2, 0] * 5, ["b", "unused", "a"]), ("a", "b")),
    ],
)
def test_labels_are_numbered_in_sorted_order(labels: object, names: tuple[str, ...]) -> None:
    federation = frame(fault=labels)
    assert (federation.class_names, federation.classes) == (names, len(names))
    table = pa.table({"fault": labels})
    spoken = [str(value).removesuffix(".0") for value in table.column("fault").to_pylist()]
    for part in (federation["south"].train, federation["south"].test):
        assert [names[label] for label in part.labels] == [spoken[int(heat)].lower() for heat in part.inputs[:, 0]]


def test_any_kind_of_table_and_of_clients_will_do() -> None:
    """Pandas and polars speak these protocols; the index of a pandas frame is no column."""
    table = pa.table(GOOD)

    class Streams:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    for each in (table, table.to_batches()[0], Streams(), MappingProxyType(GOOD)):
        assert from_frame(each, client="site", label="fault").fingerprint == frame().fingerprint
    assert frame(site=[12, 7] * 5).clients == ("12", "7")
    assert frame(site=pa.array(SITES).dictionary_encode()).fingerprint == frame().fingerprint
    made = pd.DataFrame(GOOD, index=[f"row {number}" for number in range(10)])
    made["fault"] = made["fault"].astype("category")
    assert from_frame(made, client="site", label="fault").fingerprint == frame().fingerprint


@pytest.mark.parametrize(
    ("columns", "what", "where", "got"),
    [
        ({"heat": changed("heat", 4, None)}, "cells are empty or NaN", "column 'heat', first in row 4 of 10", "1 of"),
        ({"heat": np.array([np.nan] * 3 + [1.0] * 7)}, "cells are empty or NaN", "first in row 1 of 10", "3 of"),
        ({"heat": [None] * 10}, "cells are empty or NaN", "column 'heat', first in row 1", "10 of"),
        ({"heat": changed("heat", 9, float("inf"))}, "numbers are not finite", "'heat', first in row 9", "1 of"),
        ({"heat": changed("heat", 2, 1e39)}, "numbers are too large", "'heat', first in row 2", "1 of"),
        ({"heat": ["1", "2.5", "warm", *"3456789"]}, "a feature is not a number", "'heat'", "'warm' in row 3"),
        ({"heat": ["1"] * 10}, "a feature is not a number", "'heat'", "string, first '1'"),
        ({"heat": ["x" * 500] * 10}, "a feature is not a number", "'heat'", "x..."),
        ({"heat": [date(2020, 1, 1)] * 10}, "a feature is not a number", "'heat'", "2020, 1, 1"),
        ({"heat": [[1.0]] * 10}, "a feature is not a number", "'heat'", "[1.0] in row 1"),
        ({"fault": changed("fault", 3, None)}, "cells are empty or NaN", "'fault', first in row 3", "1 of"),
        ({"fault": changed("fault", 3, "")}, "cells are empty or NaN", "'fault', first in row 3", "1 of"),
        ({"fault": [0.5, 1.0] * 5}, "a value is not a whole number", "'fault'", "0.5"),
        ({"fault": [1e19, 1.0] * 5}, "a value is not a whole number", "'fault'", "1e+19"),
        ({"fault": [float("inf"), 1.0] * 5}, "a value is not a whole number", "'fault'", "inf"),
        ({"fault": [b"a", b"b"] * 5}, "values are neither text nor whole numbers", "'fault'", "binary"),
        ({"fault": [[1], [2]] * 5}, "values are neither text nor whole numbers", "'fault'", "list"),
        ({"fault": [date(2020, 1, 1)] * 10}, "values are neither text nor", "'fault'", "date32"),
        ({"fault": ["a\x1b[2J", "b"] * 5}, "a label is not a usable name", "'fault'", "'a\\x1b[2J'"),
        ({"fault": ["a" * 201, "b"] * 5}, "a label is not a usable name", "'fault'", "aaa"),
        ({"fault": ["leak"] * 10}, "there is only one class", "mine", "'leak' everywhere"),
        ({"site": changed("site", 6, None)}, "cells are empty or NaN", "'site', first in row 6", "1 of"),
        ({"site": changed("site", 6, "")}, "cells are empty or NaN", "'site', first in row 6", "1 of"),
        ({"site": changed("site", 6, "west")}, "too few examples", 'client "west"', "1"),
        ({"site": changed("site", 6, " west")}, "a client's id is not a usable name", "mine", "' west'"),
        ({"site": [1.5, 2.0] * 5}, "a value is not a whole number", "'site'", "1.5"),
        ({"heat": [1.0]}, "the table is not usable", "mine", "length"),
        ({"heat": [1.0] * 9 + ["x"]}, "the table is not usable", "mine", "x"),
    ],
)
def test_bad_columns_say_what_where_and_got(columns: dict[str, object], what: str, where: str, got: str) -> None:
    error = check_refused(what, frame, **columns)
    assert where in error.where
    assert got in error.got


def test_missing_columns_and_what_is_no_table_are_refused() -> None:
    with pytest.raises(InputError, match=r'there is no column "sit", mine: got 5 .*; do: did you mean "site"\?'):
        from_frame(GOOD, client="sit", label="fault", name="mine")
    with pytest.raises(InputError, match=r'there is no column "Fault", .*; do: did you mean "fault"\?'):
        from_frame(GOOD, client="site", label="Fault")
    check_refused("client and label are one column", from_frame, GOOD, client="site", label="site")
    check_refused(r"'c9', \.\.\.", from_frame, {f"c{number}": [1] for number in range(99)}, client="site", label="c1")
    for value in (None, [[1, 2]], "sites.csv", np.ones((3, 3))):
        check_refused("this is not a table", from_frame, value, client="site", label="fault")
    check_refused("there are no features", from_frame, {"site": SITES, "fault": FAULTS}, client="site", label="fault")
    with pytest.raises(InputError, match="there are no examples"):
        from_frame({name: pa.array([], pa.int64()) for name in GOOD}, client="site", label="fault")
    twice = pa.table([[1, 2], [0, 1], [1, 2], [3, 4]], names=["site", "fault", "heat", "heat"])
    check_refused("column 'heat' is there 2 times", from_frame, twice, client="site", label="fault")
    thousands = {"site": [1] * 100_001, "fault": np.arange(100_001), "heat": np.ones(100_001)}
    check_refused("there are too many classes", from_frame, thousands, client="site", label="fault")


def written(path: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def csv_of(table: dict[str, list[object]]) -> str:
    rows = zip(*table.values(), strict=True)
    return "\n".join([",".join(table), *(",".join(str(value) for value in row) for row in rows)]) + "\n"


def test_files_give_what_the_table_gives(tmp_path: Path) -> None:
    pq.write_table(pa.table(GOOD), tmp_path / "sites.parquet")
    pq.write_table(pa.table(GOOD), tmp_path / "small.PARQUET", row_group_size=3)
    written(tmp_path / "sites.csv", csv_of(GOOD))
    written(tmp_path / "windows.csv", "\ufeff" + csv_of(GOOD).replace("\n", "\r\n"))
    for path in sorted(tmp_path.iterdir()):
        made = from_file(path, client="site", label="fault")
        assert made.fingerprint == frame().fingerprint
        assert (made.class_names, made.name) == (("leak", "none", "worn"), str(path))
    # 01 is not 1, and NA is a place.
    path = written(tmp_path / "a.csv", "site,x,label\n01,1,a\n1,2,b\nNA,5,a\n01,3,b\n1,4,b\nNA,6,a\n")
    assert from_file(str(path), client="site").clients == ("01", "1", "NA")


@pytest.mark.parametrize(
    ("text", "what", "where", "got"),
    [
        ("", "the file is empty", "a.csv", "0 bytes"),
        ("\n\n\n", "the file is not CSV", "a.csv", "Empty CSV"),
        ("site,x,label\n", "there are no examples", "a.csv", "0 rows"),
        ("site,x,label\na,1,b\na,2\na,1,b\n", "a line is broken", "a.csv, line 3", "2 values, 'a,2'"),
        ("site,x,label\n\n\na,1,b\n\na,1,2,b\n", "a line is broken", "a.csv, line 6", "4 values, 'a,1,2,b'"),
        ("site,x,label\r\na,1,b\r\na\r\n", "a line is broken", "a.csv, line 3", "1 values"),
        ('site,x,label\na,1,"b\nc"\na,2\n', "a line is broken", "a.csv, line 4", "2 values"),
        ("site;x;label\na;1;b\n", 'there is no column "site"', "a.csv", "'site;x;label'"),
        ("site,x,label\na,1,b\na,?,c\n", "a feature is not a number", "a.csv, column 'x'", "'?' in row 2"),
        ("site,x,label\na,1,b\na,,c\n", "cells are empty or NaN", "column 'x', first in row 2 of 2", "1 of"),
        ("site,x,label\na,1,b\na,nan,c\n", "cells are empty or NaN", "column 'x', first in row 2 of 2", "1 of"),
        ("site,x,label\na,1,b\na,-inf,c\n", "numbers are not finite", "column 'x', first in row 2 of 2", "1 of"),
        ("site,x,label\na,1,b\n,2,c\n", "cells are empty or NaN", "column 'site', first in row 2 of 2", "1 of"),
        ("site,x,x,label\na,1,2,b\n", "column 'x' is there 2 times", "a.csv", ""),
        (b"site,x,label\na,1,b\na,1,caf\xe9\n", "the file is not UTF-8 text", "a.csv, line 3", "b'\\xe9'"),
        (b"site,x,label\na,1,b\na,1\xc3", "the file is not UTF-8 text", "a.csv, line 3", "b'\\xc3'"),
        (b"sit\xe9,x,label\na,1,b\n", "the file is not UTF-8 text", "a.csv, line 1", "b'\\xe9'"),
        (b"site,x,label\na,1,\0\n", "the file is not CSV", "a.csv", "no text"),
        ("c," * 100_001 + "\n", "there are too many columns", "a.csv", "100002"),
    ],
)
def test_bad_csv_says_what_where_and_got(tmp_path: Path, text: str | bytes, what: str, where: str, got: str) -> None:
    error = check_refused(what, from_file, written(tmp_path / "a.csv", text), client="site")
    assert where in error.where
    assert got in error.got


def test_files_that_are_no_tables_are_explained(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="do: separate the columns with commas"):
        from_file(written(tmp_path / "a.csv", "site;x;label\na;1;b\n"), client="site")
    # Lines of 8 bytes: 2^17 of them fill a block of 2^20.
    lines = [b"a,12345\n"] * 300_000
    lines[200_000] = b"a,1234\xff\n"
    check_refused("line 200001", from_file, written(tmp_path / "a.csv", b"".join(lines)), client="a")
    (tmp_path / "folder.csv").mkdir()
    for name, what in (
        ("folder.csv", "the file cannot be read.*directory"),
        ("nothing.csv", "there is no such file"),
        ("a.xlsx", "the ending is not known"),
        ("a.csv.gz", "the ending is not known"),
        ("a", "the ending is not known"),
    ):
        check_refused(what, from_file, tmp_path / name, client="site")
