"""CSV files as programs write them: the text of every cell, or an error that names the line."""

import csv
import gzip
import io
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.memory import memory_below
from fedclade.core import InputError
from fedclade.data.files import csv as csv_files
from fedclade.data.files.csv import CSV_ENDINGS, read_csv
from fedclade.data.files.open_file import check_ending
from refusals import check_refused

Columns = dict[str, list[str | None]]

# pyarrow's marks, copied from its documentation.
MARKS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
)


def write(path: Path, content: str | bytes) -> Path:
    """A file with this content, packed if its name says so."""
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def columns_of(table: pa.Table) -> Columns:
    """The columns of a table, all of them text."""
    assert all(field.type == pa.string() for field in table.schema)
    columns: Columns = table.to_pydict()
    return columns


def rows_of(table: pa.Table) -> list[tuple[str | None, ...]]:
    """The rows of a table, whatever its columns' names."""
    assert all(column.type == pa.string() for column in table.columns)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.fixture(params=["a.csv", "a.csv.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file that is to be written, packed or not."""
    name: str = request.param
    return tmp_path / name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A CSV file that is to be written."""
    return tmp_path / "a.csv"


# What a cell is


def test_every_column_is_text(path: Path) -> None:
    table = read_csv(write(path, "site,x,on,day\n01,1.50,true,2024-01-31\n1,2,false,2024-02-01\n"))
    assert columns_of(table) == {
        "site": ["01", "1"],
        "x": ["1.50", "2"],
        "on": ["true", "false"],
        "day": ["2024-01-31", "2024-02-01"],
    }


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_separators_and_newlines(path: Path, separator: str, newline: str, last: bool) -> None:
    lines = ["site,x,label", "a,1,b", 'c,2,"d,""e"""']
    text = newline.join(line.replace(",", separator) for line in lines) + (newline if last else "")
    assert columns_of(read_csv(write(path, text))) == {
        "site": ["a", "c"],
        "x": ["1", "2"],
        "label": ["b", f'd{separator}"e"'],
    }


def test_what_the_name_says_does_not_bind_the_separator(tmp_path: Path) -> None:
    for ending in (*CSV_ENDINGS, ".CSV", ".Tsv"):
        for separator in ",\t":
            path = write(tmp_path / f"a{ending}", f"a{separator}b\n1{separator}2\n")
            assert columns_of(read_csv(path)) == {"a": ["1"], "b": ["2"]}
    (tmp_path / "A.CSV.GZ").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert columns_of(read_csv(tmp_path / "A.CSV.GZ")) == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a;b\n1,5;2,5\n", ["a", "b"]),  # decimal commas: none in the header
        ("a;b,c\n1;2\n3;4,5\n", ["a", "b,c"]),  # one comma in the header, but not in most lines
        ("a,b;c\n1,2\n3,4\n", ["a", "b;c"]),
        ("a\tb c\n1\tx, y\n2\tz\n", ["a", "b c"]),
        ('a,"b;c;d;e"\n1,"x;y;z;w"\n', ["a", "b;c;d;e"]),  # quoted: no separators
        ('a;"b, c, d"\n1;"x, y, z"\n', ["a", "b, c, d"]),
        ('a;b\n1;"x\n,\n,\n,"\n', ["a", "b"]),
        ("a|b|c;d\n1|2|x\n", ["a", "b", "c;d"]),
        ("only\n1\n2\n", ["only"]),
        ("only\n1,5\n2\n", None),  # a comma, and nothing in the header: as it is with a comma
        ("income|EUR\n1\n2\n", ["income|EUR"]),
        ("a;b;c\n", ["a", "b", "c"]),  # a header alone
        ("a,b;c,d\n", ["a", "b;c", "d"]),
        ("a,b;c\n", ["a,b", "c"]),  # either would do: a comma is also in names
    ],
)
def test_the_separator_is_found(file: Path, text: str, names: list[str] | None) -> None:
    if names is None:
        check_refused("a line is broken, .*line 2: got 2 values", read_csv, write(file, text))
    else:
        assert read_csv(write(file, text)).column_names == names


def test_the_separator_divides_most_lines_not_all(file: Path) -> None:
    """Of 50 lines behind the header 49 have three cells: the other one is broken, and not the separator."""
    lines = ["a;b;c", *["1;2;3"] * 30, "1;2", *["1;2;3"] * 19]
    check_refused("a line is broken, .*line 32: got 2 values, '1;2', need 3", read_csv, write(file, "\n".join(lines)))
    # Behind those 50, commas are cells' own.
    text = "a;b,c\n" + "1;2\n" * 50 + "1;2,3\n" * 500
    assert read_csv(write(file, text)).column_names == ["a", "b,c"]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_are_missing_unless_they_are_quoted(file: Path, mark: str) -> None:
    table = read_csv(write(file, f'a,b,c\n{mark},"{mark}", {mark}\t\nx,y,z\n'))
    assert columns_of(table) == {"a": [None, "x"], "b": [mark or None, "y"], "c": [None, "z"]}


def test_other_marks_are_text(file: Path) -> None:
    table = read_csv(write(file, "a,b,c,d,e\n.,?,-,None,Na\n"))
    assert rows_of(table) == [(".", "?", "-", "None", "Na")]


def test_an_empty_cell_is_missing_also_if_it_is_quoted(file: Path) -> None:
    """A program that quotes every cell has no other way to write it."""
    assert columns_of(read_csv(write(file, '"a","b"\n"1",""\n"",""\n'))) == {"a": ["1", None], "b": [None, None]}


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_blanks_around_a_cell_are_dropped_unless_they_are_quoted(path: Path, separator: str) -> None:
    text = ' a ,\tb,"c "\n1 , x y\t,z\n 2,"\t w"," "\n\t"3" , "v, ""u""", t \n'
    table = read_csv(write(path, text.replace(",", separator)))
    assert columns_of(table) == {
        "a": ["1", "2", "3"],
        "b": ["x y", "\t w", f'v{separator} "u"'],
        "c ": ["z", " ", "t"],
    }


def test_blanks_without_quotes(path: Path) -> None:
    table = read_csv(write(path, " a , b\t, c\n  1,2  , 3 \n\t4\t,, 5 6\n"))
    assert columns_of(table) == {"a": ["1", "4"], "b": ["2", None], "c": ["3", "5 6"]}
    # Quotes elsewhere change nothing.
    table = read_csv(write(path, 'a, b\n "x",1 \n"y" ,  \n'))
    assert columns_of(table) == {"a": ["x", "y"], "b": ["1", None]}
    table = read_csv(write(path, 'a, b\n"x, y",1 \n"he said ""no"" twice",  \n'))
    assert columns_of(table) == {"a": ["x, y", 'he said "no" twice'], "b": ["1", None]}


def test_tabs_between_cells_are_no_blanks(path: Path) -> None:
    table = read_csv(write(path, '\ta\t b \n0\t\t1\n1\t " c"\t"\t"\n2\tx \t\n'))
    assert columns_of(table) == {"": ["0", "1", "2"], "a": [None, " c", "x"], "b": ["1", "\t", None]}


def test_other_spaces_belong_to_a_cell(file: Path) -> None:
    table = read_csv(write(file, "a,b\n\u00a0x,y\u3000\n"))
    assert rows_of(table) == [("\u00a0x", "y\u3000")]


def test_a_quote_within_a_cell_is_text(file: Path) -> None:
    table = read_csv(write(file, 'size,b\n5",x\n"5"" wide",y"\n"p"q,""\n'))
    assert columns_of(table) == {"size": ['5"', '5" wide', "pq"], "b": ["x", 'y"', None]}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_quoted_cell_may_hold_newlines(path: Path, newline: str) -> None:
    text = 'a,"b\nc"\n1,"x\ny\n\nz"\n"2\n","w"\n'.replace("\n", newline)
    table = read_csv(write(path, text))
    assert table.column_names == ["a", f"b{newline}c"]
    assert rows_of(table) == [("1", f"x{newline}y{newline * 2}z"), (f"2{newline}", "w")]


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_the_first_line_may_say_the_separator(file: Path, line: str) -> None:
    table = read_csv(write(file, line + "a,b;c\n1,5;x\n2,5;y,z\n"))
    assert columns_of(table) == {"a,b": ["1.5", "2.5"], "c": ["x", "y,z"]}


# Decimal commas


@pytest.mark.parametrize(
    ("cells", "converted"),
    [
        (["1,5", "2,25"], ["1.5", "2.25"]),
        (["-1,5", "+2,5", ",5", "3"], ["-1.5", "+2.5", ".5", "3"]),
        (["1.234,5", "1.234.567,8", "12"], ["1234.5", "1234567.8", "12"]),
        (["1.234", "0,5"], ["1234", "0.5"]),  # a point is one of thousands, where a comma is one of decimals
        (["1,5E3", "1,5e-07", "2e+1"], ["1.5E3", "1.5e-07", "2e+1"]),
        (["1,5", "NA", "", "2"], ["1.5", None, None, "2"]),
        (["1,234", "5,678"], ["1.234", "5.678"]),  # the separator is another: a comma is no mark of thousands
        (["1,5", "2.5"], None),  # not three digits
        (["1,5", "1.2345"], None),
        (["1.23,4", "1,5"], None),
        (["1234.567,8", "1,5"], None),
        (["1,5", "x"], None),
        (["1,5", "1,2,3"], None),
        (["1,234,567"], None),
        (["1,5", "5,"], None),
        (["1,5 kg"], None),
        (["1,5", "--2"], None),
        (["1.234", "5.678"], None),  # no comma
        (["1", "2"], None),
        (["1,5\n"], None),
        (["\u0663,\u0665"], None),  # 3,5 in Arabic digits
    ],
)
def test_decimal_commas_become_points(file: Path, cells: list[str], converted: list[str | None] | None) -> None:
    for separator in ";\t|":
        quoted = [f'"{cell}"' if "\n" in cell else cell for cell in cells]
        text = "\n".join([f"k{separator}v", *(f"a{separator}{cell}" for cell in quoted)])
        expected = [*cells] if converted is None else converted
        assert columns_of(read_csv(write(file, text)))["v"] == expected


def test_decimal_commas_between_commas_are_quoted(file: Path) -> None:
    def read(*cells: str) -> list[str | None]:
        return columns_of(read_csv(write(file, "k,v\n" + "".join(f'a,"{cell}"\n' for cell in cells))))["v"]

    assert read("3,5", "1.234,25") == ["3.5", "1234.25"]
    assert read("3,50", "1,234") == ["3.50", "1.234"], "3,50 is no number of thousands"
    # These may be thousands, with a comma between three digits: they stay as they are.
    assert read("1,234", "56,789") == ["1,234", "56,789"]
    assert read("1,234", "987") == ["1,234", "987"]
    assert read("-1,234", "1,234,567") == ["-1,234", "1,234,567"]
    assert read("1,234", "5000") == ["1.234", "5000"], "no thousands: 5000 has four digits on end"


@pytest.mark.parametrize(
    ("other", "cells", "expected"),
    [
        (["0.5", "1.25"], ["12,345", "998"], ["12,345", "998"]),
        (["0.5", "1.25"], ["12,345", "1,998"], ["12,345", "1,998"]),
        (["0,5", "1,25"], ["12,345", "998"], ["12.345", "998"]),
        (["1.234", "5.678"], ["12,345", "1,998"], ["12.345", "1.998"]),  # points between thousands, as likely
        (["a", "b"], ["12,345", "998"], ["12,345", "998"]),  # 998.000 would have its decimals
        (["a", "b"], ["12,345", "0,998"], ["12.345", "0.998"]),
    ],
)
def test_whether_a_comma_is_one_of_thousands_shows_in_other_columns(
    file: Path, other: list[str], cells: list[str], expected: list[str]
) -> None:
    rows = "".join(f"{left};{cell}\n" for left, cell in zip(other, cells, strict=True))
    assert columns_of(read_csv(write(file, f"o;v\n{rows}")))["v"] == expected


def test_each_column_is_looked_at_by_itself(file: Path) -> None:
    table = read_csv(write(file, "n;s;d\n1,5;1,5 m;2.5\n2,5;2,5 m;3.5\n"))
    assert columns_of(table) == {"n": ["1.5", "2.5"], "s": ["1,5 m", "2,5 m"], "d": ["2.5", "3.5"]}


# Headers and rows


def test_names_are_as_in_the_file(path: Path) -> None:
    table = read_csv(write(path, "x,x,,NA,1,null,\n1,2,3,4,5,6,7\n"))
    assert table.column_names == ["x", "x", "", "NA", "1", "null", ""]
    assert rows_of(table) == [("1", "2", "3", "4", "5", "6", "7")]


@pytest.mark.parametrize("text", ["a,b", "a,b\n", "\ufeffa,b\r\n", "\n\na,b\n\n\n", '"a","b"'])
def test_a_header_alone_is_a_table_without_rows(path: Path, text: str) -> None:
    assert columns_of(read_csv(write(path, text))) == {"a": [], "b": []}


def test_blank_lines_are_no_rows(path: Path) -> None:
    table = read_csv(write(path, "\n  \n\t\na,b\n\n1,2\n   \n3,4\n\n"))
    assert columns_of(table) == {"a": ["1", "3"], "b": ["2", "4"]}
    table = read_csv(write(path, "  \na\n1\n\n2\n"))
    assert columns_of(table) == {"a": ["1", "2"]}


@pytest.mark.parametrize("begin", ["", '"', " ", ' "'])
def test_a_byte_order_mark_is_dropped(path: Path, begin: str) -> None:
    text = f"\ufeff{begin}a{begin[-1:].strip()},b\n1,2\n"
    assert columns_of(read_csv(write(path, text))) == {"a": ["1"], "b": ["2"]}


def test_a_row_of_empty_cells_is_a_row(path: Path) -> None:
    for separator in ",\t":
        table = read_csv(write(path, "a,b,c\n1,2,3\n,,\n".replace(",", separator)))
        assert rows_of(table) == [("1", "2", "3"), (None, None, None)]


def test_letters_of_all_kinds(path: Path) -> None:
    assert columns_of(read_csv(write(path, "größe,名前\nñ,😀\n"))) == {"größe": ["ñ"], "名前": ["😀"]}


# Errors


@pytest.mark.parametrize(
    ("text", "what", "where", "got"),
    [
        ("\n\n\n", "the file is empty", "", "only blank lines"),
        (" \t\r\n  ", "the file is empty", "", "only blank lines"),
        ("\ufeff", "the file is empty", "", "only blank lines"),
        ("site,x,label\na,1,b\na,2\na,1,b\n", "a line is broken", ", line 3", "2 values, 'a,2'"),
        ("site;x;label\na;1;b\na;2\na;1;b\n", "a line is broken", ", line 3", "2 values, 'a;2'"),
        ("site\tx\tlabel\na\t1\tb\na\t2\na\t1\tb\n", "a line is broken", ", line 3", r"2 values, 'a\t2'"),
        ("site,x,label\n\n\na,1,b\n\na,1,2,b\n", "a line is broken", ", line 6", "4 values, 'a,1,2,b'"),
        ("\n \nsite,x\n\na,1\na\n", "a line is broken", ", line 6", "1 values, 'a'"),
        ("\ufeffsite,x,label\r\na,1,b\r\na\r\n", "a line is broken", ", line 3", "1 values"),
        ('site,x,label\na,1,"b\nc"\na,2\n', "a line is broken", ", line 4", "2 values"),
        ('site, x,"label "\n a, 1,"b\nc "\n a, 2\n', "a line is broken", ", line 4", "2 values"),
        ("a;b;c\n1;2\n", "a line is broken", ", line 2", "2 values"),
        (b"site,x,label\na,1,b\na,1,caf\xe9\n", "the file is not UTF-8 text", ", line 3", "b'\\xe9'"),
        (b"site;x;label\na;1;b\na;1\xc3", "the file is not UTF-8 text", ", line 3", "b'\\xc3'"),
        (b"sit\xe9,x,label\na,1,b\n", "the file is not UTF-8 text", ", line 1", "b'\\xe9'"),
        ("a,b\n1,2\n".encode("utf-16"), "the file is not UTF-8 text", ", line 1", "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-be"), "the file is not UTF-8 text", ", line 1", "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "the file is not UTF-8 text", ", line 1", "UTF-16"),
        (b"site,x,label\na,1,\0\n", "the file is not CSV", "", "no text"),
        (b"PK\x03\x04", "the file is not CSV", "", "a zip archive"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "the file is not CSV", "", "a gzip file"),
        ("c," * 100_001 + "\n", "there are too many columns", "", "100002"),
        ("c;" * 100_001 + "\n", "there are too many columns", "", "100002"),
        ('a,b\n1,2\n3,"x\n4,5\n', "a quote is not closed", ", line 3", """'3,"x"""),
        ('a,b\n1,"x\ny"\n\n3,"x\n4,"5\n6,"7\n', "a quote is not closed", ", line 7", """'6,"7"""),
        ('a,"b\n1,2\n', "a quote is not closed", ", line 1", """'a,"b"""),
        ('a, "b\n1,2\n', "a quote is not closed", ", line 1", """'a, "b"""),
        ("x" * 200_000 + ",b\n1,2\n", "the file is not CSV", "", "field limit"),
    ],
)
def test_an_error_says_what_where_and_got(path: Path, text: str | bytes, what: str, where: str, got: str) -> None:
    error = check_refused(what, read_csv, write(path, text))
    assert error.where == f"{path}{where}"
    assert got in error.got
    assert len(str(error)) < 1000


def test_quotes_that_balance_by_accident_join_lines(file: Path) -> None:
    text = 'a,b\n1,"x\n2,"y"\n3,z\n'  # the cell of line 2 ends in line 3, where y" is behind it
    assert rows_of(read_csv(write(file, text))) == [("1", 'x\n2,y"'), ("3", "z")]
    check_refused("a line is broken, .*line 2: got 1 values", read_csv, write(file, 'a,b\n"1,x\n2"\n'))


def test_tsv_is_named_in_its_error(tmp_path: Path) -> None:
    check_refused("the file is not TSV, .*got a parquet file", read_csv, write(tmp_path / "a.tsv", b"PAR1"))


def test_other_files_are_refused(tmp_path: Path) -> None:
    for name in ("a.csv", "a.csv.gz"):
        check_refused("there is no such file", read_csv, tmp_path / f"none{name}")
        (tmp_path / name).write_bytes(b"")
        check_refused("the file is empty, .*got 0 bytes", read_csv, tmp_path / name)
        (tmp_path / f"folder.{name}").mkdir()
        check_refused("the file cannot be read.*directory", read_csv, tmp_path / f"folder.{name}")
    os.mkfifo(tmp_path / "b.csv.gz")
    check_refused("this is not a file", read_csv, tmp_path / "b.csv.gz")


def test_line_numbers_in_large_files(path: Path) -> None:
    lines = [b"a;12345\n"] * 300_000  # of 8 bytes: 2^17 of them fill a block of 2^20
    lines[200_000] = b"a;1234\xff\n"
    check_refused("not UTF-8 text, .*line 200001", read_csv, write(path, b"".join(lines)))
    lines[200_000] = b"a;12;34\n"
    check_refused("broken, .*line 200001: got 3 values, 'a;12;34'", read_csv, write(path, b"".join(lines)))
    lines[200_000] = b'a;"1234\n'
    check_refused("a quote is not closed, .*line 200001", read_csv, write(path, b"".join(lines)))


# Packed files


def test_a_bomb_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    line = b"a," * 2**16 + b"b\n"
    packed = [packer.compress(line * 8) for _ in range(300)]  # 300 MiB
    (tmp_path / "a.csv.gz").write_bytes(b"".join((*packed, packer.flush())))
    assert (tmp_path / "a.csv.gz").stat().st_size < 2**20
    with memory_below(2**24):
        check_refused("the file unpacks to suspiciously much", read_csv, tmp_path / "a.csv.gz")


def test_what_unpacks_to_little_may_be_packed_well(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv.gz", b"a,b\n" + b"1,2\n" * 10**6)
    assert path.stat().st_size < 4 * 10**6 / 100
    assert read_csv(path).num_rows == 10**6


def test_what_is_not_packed_as_it_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    for content, got in ((b"a,b\n1,2\n", "something else"), (b"\x1f", "something else"), (b"PAR1", "a parquet file")):
        path.write_bytes(content)
        error = check_refused("the file is not gzip", read_csv, path)
        assert (error.got, error.need) == (got, "gzip, as its name says")
    check_refused("the file is not CSV, .*got a gzip file", read_csv, write(path, gzip.compress(b"a,b\n1,2\n")))
    check_refused("the file is empty", read_csv, write(path, b""))


def test_a_gzip_file_in_parts_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,") + gzip.compress(b"2\n3,4\n"))
    assert columns_of(read_csv(path)) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_a_gzip_file_that_is_cut_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    whole = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(50)))
    for end in range(2, len(whole)):
        path.write_bytes(whole[:end])
        check_refused("the gzip file is damaged", read_csv, path)
    path.write_bytes(whole + b"more")
    check_refused("the gzip file is damaged", read_csv, path)


def test_a_checksum_that_differs_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    whole = bytearray(gzip.compress(b"a,b\n1,2\n"))
    whole[-8] ^= 1  # the sum is in the last eight bytes, before the size
    path.write_bytes(whole)
    error = check_refused("the gzip file is damaged", read_csv, path)
    assert "CRC" in error.got


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4), st.floats(0.5, 1.5))
def test_a_damaged_gzip_file_is_read_or_refused(changes: list[tuple[float, int]], cut: float) -> None:
    content = bytearray(gzip.compress(b'a;b\n1,5;"x"\n' * 20))
    for place, value in changes:
        content[int(place * (len(content) - 1))] = value
    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "a.csv.gz"
        path.write_bytes(content[: int(cut * len(content))])
        try:
            columns_of(read_csv(path))
        except InputError as error:
            assert len(str(error)) < 1000  # noqa: PT017  # it may also be good


# Blocks


def test_long_lines_and_long_rows(file: Path) -> None:
    long = "x" * (9 * 2**20)
    # A line of 9 MiB, and a row of 15 MiB in many lines: both may cross the ends of arrow's blocks.
    text = "x" * 1023 + "\n"
    rows = f'a,{long}\nb,"{text * 15 * 1024}"\n' * 2
    table = read_csv(write(file, "k,v\n" + rows))
    assert table.column("k").to_pylist() == ["a", "b"] * 2
    assert [len(cell) for cell in table.column("v").to_pylist()] == [len(long), 15 * 2**20] * 2


@pytest.mark.parametrize("before", [b"", b"site,x,label\n", b'"'])
def test_an_endless_line_is_not_held_in_memory(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "a.csv.gz"
    block = os.urandom(2**20).hex().encode()  # 2 MiB, which can hardly be packed
    with gzip.open(path, "wb", 1) as packed:
        packed.write(before)
        for _ in range(16):
            packed.write(block)
    with memory_below(48 * 2**20):
        check_refused(f"a line is too long, .*line {1 + before.count(10)}", read_csv, path)


def test_a_quote_that_is_never_closed_is_not_followed_to_the_end(file: Path) -> None:
    line = b"1," + b"x" * 1021 + b"\n"
    file.write_bytes(b'a,b\n1,2\n1,"' + line * 1024 * 60)
    with memory_below(80 * 2**20):
        check_refused("a quote is not closed, .*line 3: got '1,\"1,xxx", read_csv, file)


@st.composite
def written(draw: st.DrawFn) -> tuple[str, list[list[str]], list[list[str | None]], str]:
    """A separator, rows of cells as they are written, with quotes and blanks, what they mean, and a newline."""
    separator = draw(st.sampled_from(",;|\t"))
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    blank = st.text(" " if separator == "\t" else " \t", max_size=2)
    width = draw(st.integers(2, 4))
    texts: list[list[str]] = []
    cells: list[list[str | None]] = []
    for _ in range(draw(st.integers(1, 8))):
        row_texts: list[str] = []
        row_cells: list[str | None] = []
        for _ in range(width):
            cell = draw(st.one_of(st.text('ab1é ,;|\t"\n\r', max_size=6), st.sampled_from(MARKS)))
            if draw(st.booleans()):
                text, meaning = '"' + cell.replace('"', '""') + '"', cell or None
            else:
                text = cell.translate(dict.fromkeys(map(ord, f'{separator}\r\n"')))
                text = text.strip(" " if separator == "\t" else " \t")
                meaning = None if text in MARKS else text
            row_texts.append(draw(blank) + text + draw(blank))
            row_cells.append(meaning)
        texts.append(row_texts)
        cells.append(row_cells)
    return separator, texts, cells, newline


@given(written(), st.integers(1, 40), st.booleans())
def test_cells_mean_what_was_written_wherever_blocks_end(
    made: tuple[str, list[list[str]], list[list[str | None]], str], block: int, packed: bool
) -> None:
    """A header of plain names finds the separator; blocks of a few bytes end in all places."""
    separator, texts, cells, newline = made
    names = [f"c{number}" for number in range(len(texts[0]))]
    # Rows that are blank as they are written are no rows: these begin with a cell that never is.
    lines = [separator.join(["k", *names]), *(separator.join(["k", *row]) for row in texts)]
    # More lines than are compared, so that none of the drawn cells can look like a separator.
    lines[1:1] = [separator.join("p" for _ in range(len(names) + 1))] * 51
    with tempfile.TemporaryDirectory() as root, pytest.MonkeyPatch.context() as patch:
        path = write(Path(root) / ("a.csv.gz" if packed else "a.csv"), newline.join(lines))
        # The separator is found in the first block, so that one is not small.
        blocks = csv_files.open_blocks

        @contextmanager
        def open_small_blocks(path: Path) -> Iterator[Iterator[bytes]]:
            with blocks(path) as parts:
                text = b"".join(parts)
                head = len(newline.join(lines[:52]))
                places = [0, *range(head, len(text), block), len(text)]
                yield (text[begin:end] for begin, end in pairwise(places))

        patch.setattr(csv_files, "open_blocks", open_small_blocks)
        table = read_csv(path)
    assert table.column_names == ["k", *names]
    assert rows_of(table)[51:] == [("k", *row) for row in cells]


@given(
    st.sampled_from(",;|\t"),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(
        st.tuples(*[st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)] * 3), max_size=9
    ),
)
def test_what_python_writes_is_read(separator: str, quoting: int, newline: str, rows: list[tuple[str, ...]]) -> None:
    all_quoted = quoting != csv.QUOTE_MINIMAL
    if not all_quoted:
        rows = [tuple(cell.strip(" \t") for cell in row) for row in rows]
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=newline)  # type: ignore[arg-type]
    padding = [("p", "p", "p")] * 50
    writer.writerows([("a", "b", "c"), *padding, *rows])
    with tempfile.TemporaryDirectory() as root:
        table = read_csv(write(Path(root) / "a.csv", file.getvalue()))
    assert table.column_names == ["a", "b", "c"]
    missing = ("",) if all_quoted else MARKS
    expected = [tuple(None if cell in missing else cell for cell in row) for row in rows]
    assert rows_of(table)[50:] == expected


@given(st.text('ab"",\n', max_size=30))
def test_quotes_in_all_places_are_read_as_python_reads_them(text: str) -> None:
    """Python closes an open quote at the end of the file: there a last line is not by itself."""
    text = "x,y\n" + "p,p\n" * 51 + text + "\n"
    *rows, last = filter(None, csv.reader(io.StringIO(f"{text}end,end", newline="")))
    with tempfile.TemporaryDirectory() as root:
        path = write(Path(root) / "a.csv", text)
        if last != ["end", "end"]:
            check_refused("a quote is not closed", read_csv, path)
        elif any(len(row) != 2 for row in rows):
            check_refused("a line is broken", read_csv, path)
        else:
            assert rows_of(read_csv(path)) == [tuple(cell or None for cell in row) for row in rows[1:]]


@given(st.one_of(st.binary(max_size=60), st.text('a1 ,;\t"\n\r.\ufeff', max_size=60).map(str.encode)), st.booleans())
def test_any_file_is_read_or_refused(content: bytes, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as root:
        path = write(Path(root) / ("a.csv.gz" if packed else "a.csv"), content)
        try:
            rows_of(read_csv(path))
        except InputError as error:
            assert str(path) in error.where  # noqa: PT017  # it may also be good


# Names of files, and real ones


def test_double_endings_are_known() -> None:
    for name in ("a.csv", "A.CSV", "a.csv.gz", "b.c.Tsv.Gz", "a.tsv"):
        check_ending(Path(name), CSV_ENDINGS)
    for name, got in (("a.gz", '".gz"'), ("a.parquet.gz", '".gz"'), ("a", '""'), ("a.csv.zip", '".zip"')):
        error = check_refused("the ending is not known", check_ending, Path(name), CSV_ENDINGS)
        assert (error.got, error.need) == (got, ".csv, .csv.gz, .tsv, .tsv.gz")


@pytest.mark.skipif(not os.environ.get("FEDCLADE_DATA"), reason="FEDCLADE_DATA is not set: the real data are not here")
def test_real_tables_are_as_python_reads_them() -> None:
    paths = sorted((Path(os.environ["FEDCLADE_DATA"]) / "tables").glob("*.csv.gz"))
    if not paths:
        pytest.skip("FEDCLADE_DATA has no folder with tables")
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            names, *rows = csv.reader(file)
        table = read_csv(path)
        assert table.column_names == names
        assert rows_of(table) == [tuple(None if cell in MARKS else cell for cell in row) for row in rows]
