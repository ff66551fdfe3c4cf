"""A user's tables: which rows and clients are taken from them, and one error for everything that is wrong."""

import gzip
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedclade.data import Federation, Part, from_arrays, from_file, from_frame
from refusals import check_refused

SITES = ["north", "south"] * 6
HEAT = [number + 0.5 for number in range(12)]
FAULTS = ["leak", "none", "worn", "none", "leak", "worn"] * 2
GOOD: dict[str, list[object]] = {"site": [*SITES], "heat": [*HEAT], "fault": [*FAULTS], "on": [True, True, False] * 4}


def read(table: object, **options: Any) -> Federation:
    """The federation of a table, its numbers as they are."""
    return from_frame(table, **{"client": "site", "label": "fault", "name": "mine", "prepare": "none", **options})


def frame(**columns: object) -> Federation:
    """The good table with these columns instead."""
    return read({**GOOD, **columns})


def changed(column: str, row: int, value: object) -> list[object]:
    """A column of the good table with another value in one row, counted from 1."""
    values = list(GOOD[column])
    values[row - 1] = value
    return values


def heats(part: Part) -> list[float]:
    """Which rows of the good table these are: the heat of a row is its own."""
    return sorted(part.inputs[:, 0].tolist())


def contents(federation: Federation) -> dict[str, list[list[object]]]:
    """The examples of every client, as they are trained and tested on."""
    return {
        client: [each.tolist() for part in (held.train, held.test) for each in (part.inputs, part.labels)]
        for client, held in federation.data.items()
    }


def test_columns_become_inputs_in_their_order() -> None:
    federation = frame(count=[7] * 12)
    assert federation.clients == ("north", "south")
    assert federation.class_names == ("leak", "none", "worn")
    assert federation.preparation is not None
    assert federation.preparation.names == ("heat", "on")
    assert federation.notes == ("columns left out: 'count' (the same in every row)",)
    north = federation["north"]
    rows = sorted([*north.train.inputs.tolist(), *north.test.inputs.tolist()])
    assert rows == [[0.5, 1], [2.5, 0], [4.5, 1], [6.5, 1], [8.5, 0], [10.5, 1]]
    for part in (north.train, north.test):
        assert part.inputs.dtype == np.float32
        assert [federation.class_names[label] for label in part.labels] == [
            FAULTS[int(heat)] for heat in part.inputs[:, 0]
        ]


@st.composite
def sites(draw: st.DrawFn) -> dict[str, list[str]]:
    """The labels of some clients' rows, with two classes or more."""
    names = draw(st.lists(st.text("abc019-", min_size=1, max_size=5), min_size=2, max_size=4, unique=True))
    labels = st.lists(st.sampled_from(["1", "01", "10", "9", "x"]), min_size=2, max_size=8)
    return {name: draw(labels) + (["1", "9"] if name == names[0] else []) for name in names}


@given(sites(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_a_table_gives_what_its_arrays_give(labels: dict[str, list[str]], shuffle: Random) -> None:
    """However the rows of different clients are mixed."""
    turns = [client for client, held in labels.items() for _ in held]
    shuffle.shuffle(turns)
    queues = {client: [*held] for client, held in labels.items()}
    table = {
        "y": [queues[client].pop(0) for client in turns],
        "who": turns,
        "a": [row + 0.5 for row in range(len(turns))],
    }
    arrays = {
        client: (np.array([[row + 0.5] for row, turn in enumerate(turns) if turn == client]), held)
        for client, held in labels.items()
    }
    made = read(table, client="who", label="y", test=0.3, seed=5)
    same = from_arrays(arrays, test=0.3, seed=5)
    assert contents(made) == contents(same)
    assert made.class_names == same.class_names


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["01", "1", "1"] * 4, ("01", "1")),
        ([10, -3, 2] * 4, ("-3", "2", "10")),
        ([1.0, 0.0] * 6, ("0", "1")),
        ([1.0, 0.5] * 6, ("0.5", "1")),
        (np.array([0.1, 2] * 6, np.float32), ("0.1", "2")),
        ([Decimal("1.00"), Decimal("2.50")] * 6, ("1", "2.5")),
        ([True, False] * 6, ("false", "true")),
        (["10", "9"] * 6, ("9", "10")),
        (["10", "9", "x"] * 4, ("10", "9", "x")),
        ([1, "1", "x"] * 4, ("1", "x")),
        ([date(2024, 5, 1), date(2023, 5, 1)] * 6, ("2023-05-01", "2024-05-01")),
        (np.array([2, 5] * 6, np.uint8), ("2", "5")),
        (pa.chunked_array([["b", "a"], ["c", "a"] * 5]), ("a", "b", "c")),
        (pa.array(["b", "a"] * 6).dictionary_encode(), ("a", "b")),
        (pa.array([7, 5] * 6).dictionary_encode(), ("5", "7")),
        (pa.DictionaryArray.from_arrays([2, 0] * 6, ["b", "unused", "a"]), ("a", "b")),
        (pa.DictionaryArray.from_arrays([0, 1] * 6, pa.array(["b", "a"], pa.string_view())), ("a", "b")),
    ],
)
def test_labels_are_text_and_numbered_in_sorted_order(labels: object, names: tuple[str, ...]) -> None:
    federation = frame(fault=labels)
    assert (federation.class_names, federation.classes) == (names, len(names))


def test_given_classes_keep_their_order_and_may_be_more() -> None:
    federation = read(GOOD, classes=["worn", "none", "hot", "leak"])
    assert (federation.class_names, federation.classes) == (("worn", "none", "hot", "leak"), 4)
    for part in (federation["south"].train, federation["south"].test):
        assert [federation.class_names[label] for label in part.labels] == [
            FAULTS[int(heat)] for heat in part.inputs[:, 0]
        ]
    wrong = {"hold": ["worn", "none"], "too few": ["worn"], "twice": ["worn", "none", "leak", "leak"]}
    for said, classes in wrong.items():
        check_refused(f"column 'fault' .*{said}.*--classes", read, GOOD, classes=classes)


@pytest.mark.parametrize(
    ("ids", "clients"),
    [
        ([12, 7] * 6, ("12", "7")),
        (np.array([12, 7] * 6, ">i4"), ("12", "7")),
        (pd.Series([1, 2, np.nan] * 4), ("1", "2")),
        (pd.Series([1, 2, None] * 4, dtype="Int64"), ("1", "2")),
        (pd.Series([1, "2", pd.NA, 2.0] * 3, dtype=object), ("1", "2")),
        (pd.Series(["a", "b"] * 6, dtype=pd.CategoricalDtype(["c", "b", "a"])), ("a", "b")),
        ([2**70, 1] * 6, ("1", "1180591620717411303424")),
        (torch.tensor([4, 5] * 6), ("4", "5")),
        (pa.DictionaryArray.from_arrays([0, 1, 2] * 4, ["a", "b", "a"]), ("a", "b")),
    ],
)
def test_clients_are_named_by_text(ids: object, clients: tuple[str, ...]) -> None:
    assert frame(site=ids).clients == clients


def test_rows_without_client_or_label_and_small_clients_are_set_aside_and_counted() -> None:
    """Row 1 has no client, rows 2 and 3 no label; row 4 is alone at west, row 5 at east."""
    sites = [None, "north", "south", "west", "east", *SITES, *SITES]
    faults = ["leak", None, " ", "leak", "none", *FAULTS, *FAULTS]
    table = {"site": sites, "heat": [row + 0.5 for row in range(29)], "fault": faults}
    federation = read(table)
    assert federation.clients == ("north", "south")
    assert sum(len(part) for held in federation.data.values() for part in (held.train, held.test)) == 24
    assert federation.notes == (
        "1 of 29 rows name no client and are set aside",
        "2 of 29 rows have no label and are set aside",
        "2 clients with fewer than 2 rows set aside: east, west",
    )
    small = read({**GOOD, "site": ["a"] * 2 + ["b"] * 5 + ["c"] * 5}, min_rows=3)
    assert (small.clients, small.notes) == (("b", "c"), ("1 client with fewer than 3 rows set aside: a",))


def test_any_kind_of_table_will_do() -> None:
    """The index of a pandas frame is no column."""
    table = pa.table(GOOD)
    rows = [dict(zip(GOOD, row, strict=True)) for row in zip(*GOOD.values(), strict=True)]
    pandas = pd.DataFrame(GOOD, index=pd.Index(range(12), name="number")).astype({"fault": "category"})
    arrays = {"site": np.array(SITES), "heat": torch.tensor(HEAT), "fault": tuple(FAULTS), "on": np.array(GOOD["on"])}
    same = contents(frame())
    for each in (table, table.to_batches()[0], table.to_reader(), MappingProxyType(GOOD), rows, pandas, arrays):
        assert contents(read(each)) == same


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    made = polars.DataFrame(GOOD).with_columns(polars.col("fault").cast(polars.Categorical))
    assert contents(read(made)) == contents(frame())
    check_refused("this is not a table, mine: got LazyFrame", read, made.lazy())


def test_datasets_of_hugging_face() -> None:
    """Numbers that stand for classes become their names; -1 is no label."""
    datasets = pytest.importorskip("datasets")
    assert contents(read(datasets.Dataset.from_dict(GOOD).with_format("torch"))) == contents(frame())
    names = ("cold", "hot")
    features = {"site": datasets.Value("string"), "heat": datasets.Value("float32")}
    features = datasets.Features({**features, "fault": datasets.ClassLabel(names=names)})
    labelled = {"site": SITES, "heat": HEAT, "fault": [0, 1, 1, 0, -1, 0] * 2}
    federation = read(datasets.Dataset.from_dict(labelled, features=features))
    assert (federation.class_names, federation.notes) == (names, ("2 of 12 rows have no label and are set aside",))
    both = datasets.DatasetDict({"train": datasets.Dataset.from_dict(GOOD), "test": datasets.Dataset.from_dict(GOOD)})
    stream = datasets.Dataset.from_dict(GOOD).to_iterable_dataset()
    check_refused("this Dataset is read row by row, mine: got IterableDataset", read, stream)
    check_refused("these are several tables, mine: got train, test, need one table", read, both)


# Which rows are held out


def test_a_column_says_which_rows_are_held_out() -> None:
    """Rows 1 to 6 are learned from, 7 to 10 tested on, 11 and 12 neither; north has the odd ones."""
    federation = read({**GOOD, "part": [*["Train"] * 6, *["test"] * 4, None, ""]}, split="part")
    assert heats(federation["north"].train) == [0.5, 2.5, 4.5]
    assert heats(federation["north"].test) == [6.5, 8.5]
    assert heats(federation["south"].test) == [7.5, 9.5]
    assert federation.notes == ("2 of 12 rows are neither to learn from nor to test on and are set aside",)
    wider = read({**GOOD, "part": [*["train"] * 6, *["test"] * 4, "val", "val"]}, split="part")
    assert "of column 'part' (--split) 'val' is taken for neither train nor test" in wider.notes
    assert contents(wider) == contents(federation)
    one_sided = {
        **GOOD,
        "site": ["a"] * 6 + ["b"] * 3 + ["c"] * 3,
        "part": ["train", "test"] * 3 + ["test"] * 3 + ["train"] * 3,
    }
    check_refused("'site' names 3 clients, 1 of them", read, one_sided, split="part")
    for part, said in (
        (["train", "holdout"] * 6, "holds 'train', 'holdout'"),
        ([1, 0] * 6, "'1', '0'"),
    ):
        check_refused(f"column 'part' .*{said}", read, {**GOOD, "part": part}, split="part")
    check_refused("column 'parts' is not there .--split", read, {**GOOD, "part": ["train", "test"] * 6}, split="parts")


def test_later_rows_are_held_out() -> None:
    federation = read(GOOD, split="later", test=0.35)  # of 6 rows 2.1
    assert heats(federation["north"].train) == [0.5, 2.5, 4.5, 6.5]
    assert heats(federation["north"].test) == [8.5, 10.5]
    assert contents(read(GOOD, split="later", test=0.35, seed=9)) == contents(federation)


def test_a_second_table_has_the_rows_to_test_on() -> None:
    """Its labels may be of another kind: they are text."""
    table = {**GOOD, "fault": [1, 2] * 6}
    rest = pd.DataFrame({"on": [True] * 4, "fault": list("1213"), "heat": [50.5, 51.5, 52.5, 53.5], "site": SITES[:4]})
    federation = read(table, test=rest)
    assert heats(federation["north"].train) == [0.5, 2.5, 4.5, 6.5, 8.5, 10.5]
    assert heats(federation["south"].test) == [51.5, 53.5]
    assert federation.class_names == ("1", "2", "3")
    check_refused("rows to test on have other columns, mine: got 'heat'", read, GOOD, test=rest.drop(columns="heat"))
    check_refused("there are no rows to test on", read, GOOD, test=rest.iloc[:0])
    check_refused("rows to test on are given twice, .*'later'", read, GOOD, test=rest, split="later")


# What is wrong


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"heat": [[1.0]] * 12}, "column 'heat' holds lists, mine; do: leave it out: --without heat"),
        ({"heat": np.ones((12, 2))}, "column 'heat' holds lists"),
        ({"heat": [{"a": 1}] * 12}, "column 'heat' holds tables"),
        ({"heat": [b"a"] * 12}, "column 'heat' holds bytes"),
        ({"heat": changed("heat", 9, float("inf"))}, "column 'heat' is infinite in row 9"),
        ({"heat": 3}, "column 'heat' cannot be read: 'int' object is not iterable"),
        ({"heat": "warm"}, "column 'heat' cannot be read: it is one text"),
        ({"heat": [1.0]}, "the table is not usable, mine: .*length"),
        ({"fault": [None] * 12}, "column 'fault' is empty in every row .--label., mine; do: is this the right column"),
        ({"fault": ["leak"] * 12}, "column 'fault' is 'leak' in every row: a label needs at least 2 classes"),
        ({"fault": [b"a", b"b"] * 6}, "column 'fault' holds bytes .--label., .*do: name a column of text"),
        ({"fault": [[1], [2]] * 6}, "column 'fault' holds lists .--label"),
        ({"fault": ["a\x1b[2J", "b"] * 6}, r"column 'fault' holds 'a\\x1b\[2J', which is no usable name"),
        ({"fault": ["a" * 201, "b"] * 6}, "column 'fault' holds 'aaa"),
        ({"site": [None] * 12}, "column 'site' is empty in every row .--client"),
        ({"site": ["a"] * 12}, "column 'site' names 1 client: a federation needs at least 2, .* the right column"),
        ({"site": list("abcdefghijkl")}, "column 'site' names 12 clients, 0 of them with 2 rows"),
        ({"site": [" a", "b"] * 6}, "column 'site' holds ' a', which is no usable name .--client., .*no space around"),
        ({"site": [{"a": 1}] * 12}, "column 'site' holds tables .--client"),
    ],
)
def test_a_column_that_cannot_be_used_is_named(columns: dict[str, object], said: str) -> None:
    check_refused(said, frame, **columns)


def test_a_label_that_is_no_class_is_explained() -> None:
    """900 rows of 2 clients with 900 different labels are names of rows; 450 twice are classes."""
    sites, heat = ["a", "b"] * 450, [row + 0.5 for row in range(900)]
    for labels in ([row / 7 for row in range(900)], range(900)):
        table = {"site": sites, "fault": labels, "heat": heat}
        said = "has too many classes: 900 different values in 900 rows, .*do: measurements need --task regression"
        check_refused(said, read, table, task="classification")
    names = [f"row {row}" for row in range(900)]
    check_refused("too many classes: 900 .*another label", read, {"site": sites, "fault": names, "heat": heat})
    twice = {"site": sites, "fault": [row // 2 for row in range(900)], "heat": heat}
    assert read(twice, task="classification").classes == 450
    thousands = {"site": [1, 2] * 200_002, "fault": np.arange(400_004) // 4, "heat": np.arange(400_004) / 2}
    check_refused("has too many classes: 100,001 different values", read, thousands, task="classification")


def test_a_column_that_is_not_there_is_looked_for() -> None:
    check_refused(r"column 'sit' is not there .--client., mine; do: did you mean \"site\"\?", read, GOOD, client="sit")
    check_refused(r"column 'Fault' is not there .--label.*\"fault\"\?", read, GOOD, label="Fault")
    many = {f"c{number}": [1, 2] for number in range(99)}
    check_refused("'zzz' is not there .*columns are: c0, .*, c9, ...$", read, many, client="zzz", label="c1")
    check_refused("'site' is both client and label", read, GOOD, label="site")
    said = "^column 'fault' is the column of clients, labels or parts .--without., mine; do: name another column$"
    check_refused(said, read, GOOD, without=["fault", "on"])


@pytest.mark.parametrize(
    ("table", "options", "said"),
    [
        (
            pa.table([["x"] * 4, [[1]] * 4, [1, 2, 3, 4], [1, 2, 3, 4]], ["fault", "l", "h", "h"]),
            {},
            ["'h' is there 2 times", "'site' is not there", "'fault' is 'x' in every row", "'l' holds lists"],
        ),
        (
            {**GOOD, "site": ["a"] * 12, "fault": ["x"] * 12, "l": [[1]] * 12},
            {"split": "part"},
            ["'part' is not there", "'fault' is 'x'", "'site' names 1 client", "'l' holds lists"],
        ),
        (
            {**GOOD, "site": range(12), "note": [f"it was {row} metres high" for row in range(12)], "l": [[1]] * 12},
            {"classes": ["leak", "none"], "without": ["site", "nowhere"]},
            [
                "'site' names 12 clients",
                "'worn', not among",
                "--without",
                "'nowhere'",
                "'note' holds free",
                "'l' holds",
            ],
        ),
    ],
)
def test_one_error_names_everything_that_is_wrong(table: object, options: dict[str, Any], said: list[str]) -> None:
    error = check_refused("columns cannot be used, mine", read, table, **options)
    assert [each for each in said if each not in error.got] == []
    assert error.do


def test_what_is_no_table_is_refused() -> None:
    for value in (None, [[1, 2]], [{"site": 1}, 3], "sites.csv", np.ones((3, 3))):
        check_refused("this is not a table", read, value)
    check_refused("there is no column of features, mine: got 'site', 'fault'", read, {"site": SITES, "fault": FAULTS})
    nothing: list[object] = [[], {}]
    for empty in (*nothing, pd.DataFrame(), {name: pa.array([], pa.int64()) for name in GOOD}):
        check_refused("there are no examples", read, empty)


def test_wide_tables_are_read() -> None:
    """Also with columns that have no name: these are left out, however many they are."""
    columns = [SITES, FAULTS, *([HEAT] * 3000), HEAT, HEAT]
    names = ["site", "fault", *(f"c{number}" for number in range(3000)), "", ""]
    federation = read(pa.table(columns, names), only=["c7"])
    assert federation.shape == (1,)


# Files


def write(path: Path, text: str | bytes) -> Path:
    """A file with this content, packed if its name says so."""
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def csv_of(table: dict[str, list[object]]) -> str:
    rows = zip(*table.values(), strict=True)
    return "\n".join([",".join(table), *(",".join(str(value) for value in row) for row in rows)]) + "\n"


def test_files_give_what_the_table_gives(tmp_path: Path) -> None:
    pq.write_table(pa.table(GOOD), tmp_path / "sites.parquet")
    pq.write_table(pa.table(GOOD), tmp_path / "small.PARQUET", row_group_size=3)
    text = csv_of(GOOD)
    write(tmp_path / "sites.csv", text)
    write(tmp_path / "packed.csv.gz", text)
    write(tmp_path / "windows.csv", "\ufeff" + text.replace("\n", "\r\n"))
    write(tmp_path / "german.csv", text.replace(",", ";").replace(".", ","))
    write(tmp_path / "tabs.tsv", text.replace(",", "\t"))
    write(tmp_path / "excel.csv", text.replace("\n", ",,\n"))  # two columns without a name, and empty
    write(
        tmp_path / "index.csv", "".join(f"{row - 1 if row else ''},{line}\n" for row, line in enumerate(text.split()))
    )
    for path in sorted(tmp_path.iterdir()):
        made = from_file(path, client="site", label="fault", prepare="none")
        assert contents(made) == contents(frame())
        assert (made.class_names, made.name) == (("leak", "none", "worn"), str(path))


def test_the_cells_of_a_file_are_text_until_they_are_read(tmp_path: Path) -> None:
    rows = [
        f'{site},{heat},"a ""{fault}"", or b"' for site, heat, fault in zip(["01", "1"] * 6, HEAT, FAULTS, strict=True)
    ]
    path = write(tmp_path / "a.csv", "\n".join(["site,heat,fault", *rows]))
    federation = from_file(path, client="site", label="fault")
    assert federation.clients == ("01", "1")
    assert federation.class_names == ('a "leak", or b', 'a "none", or b', 'a "worn", or b')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("\n\n\n", "the file is empty"),
        ("site,x,label\n", "there are no examples, .*got 0 rows, 3 columns"),
        ("site,x,label\na,1,b\na,2\na,1,b\n", "a line is broken, .*line 3: got 2 values, 'a,2'"),
        (
            "name;x;label\na;1;b\n",
            "2 columns cannot be used, .*'site' is not there .--client.; 'label' is 'b' in every",
        ),
        ("site,x,x,label\na,1,2,b\nb,1,2,b\n", "3 columns cannot be used, .*'x' is there 2 times; 'label' is 'b'"),
        (b"site,x,label\na,1,b\na,1,caf\xe9\n", "the file is not UTF-8 text, .*line 3"),
        (b"PK\x03\x04", "the file is not CSV, .*a zip archive"),
        ("<html>\n<body>a, b</body>\n", "a line is broken"),
    ],
)
def test_bad_csv_says_what_is_wrong(tmp_path: Path, text: str | bytes, said: str) -> None:
    path = write(tmp_path / "a.csv", text)
    error = check_refused(said, from_file, path, client="site")
    assert error.where.startswith(str(path))


def test_files_that_are_no_tables_are_explained(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a.xlsx", "a", "a.json"):
        write(tmp_path / name, "x")
        check_refused(
            r"the ending is not known, .*need .csv, .csv.gz, .tsv, .*.parquet, .npz",
            from_file,
            tmp_path / name,
            client="site",
        )
    check_refused("a folder has no client column", from_file, tmp_path / "folder", client="site")
    check_refused("there is no such file or folder", from_file, tmp_path / "nothing.csv", client="site")
    path = write(tmp_path / "a.csv", csv_of(GOOD))
    check_refused("only images can be resized", from_file, path, client="site", label="fault", resize=(3, 3))


def test_arrays_with_clients_in_one_file(tmp_path: Path) -> None:
    """Flat ones are a table; others stay arrays, and have no columns."""
    flat = np.array([[row + 0.5, row * row / 4] for row in range(12)])
    path = tmp_path / "a.npz"
    np.savez(path, x=flat, who=SITES, kind=FAULTS)
    federation = from_file(path, client="who", label="kind", prepare="none")
    assert federation.class_names == ("leak", "none", "worn")
    assert (
        sorted(federation["north"].train.inputs.tolist() + federation["north"].test.inputs.tolist())
        == flat[::2].tolist()
    )
    said = "there is no array 'site', 'label', .*got 'x', 'who', 'kind', need arrays 'x', 'site', 'label'"
    check_refused(said, from_file, path, client="site")
    np.savez(path, inputs=flat.reshape(12, 1, 2, 1), who=SITES, kind=FAULTS)
    federation = from_file(path, client="who", label="kind", classes=["worn", "none", "leak", "more"])
    assert (federation.shape, federation.class_names) == ((1, 2, 1), ("worn", "none", "leak", "more"))
    check_refused(
        "labels that are no class, .*got 'leak'", from_file, path, client="who", label="kind", classes=["none", "worn"]
    )
    wrong: dict[str, Any] = {"without": ["x"], "split": "later"}
    check_refused("images and arrays have no columns", from_file, path, client="who", label="kind", **wrong)


def test_names_with_commas_between_are_several_unless_a_column_is_called_so() -> None:
    numbers = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    columns: dict[str, list[Any]] = {"site": ["north", "south"] * 5, "fault": ["yes", "yes", "no", "no", "yes"] * 2}
    columns |= dict.fromkeys(("a", "b", "c", "c, d"), numbers)
    found = from_frame(columns, client="site", label="fault", without=["a, b", "c, d"])
    assert found.preparation is not None
    assert found.preparation.names == ("c",)
