"""CSV: text with a header line, separated by commas, in UTF-8."""

import codecs
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv

from fedclade.core import InputError
from fedclade.data.files.open_file import check_column_count, kind_of, open_checked, wrong_format_error

MAX_LINE_BYTES = 16 * 2**20  # bytes
BLOCK = 2**20  # bytes


def read_csv(path: Path, *, text: str = "") -> pa.Table:
    """The table of a CSV file; the column `text` stays text where it looks like numbers, so 01 is not 1."""
    broken: list[pacsv.InvalidRow] = []

    def stop(row: pacsv.InvalidRow) -> str:
        broken.append(row)
        return "error"

    with open_checked(path) as (file, _):
        check_text(file, path)
        file.seek(0)
        try:
            return pacsv.read_csv(
                pa.PythonFile(file, "r"),
                # One thread: with more, a broken row has no number.
                read_options=pacsv.ReadOptions(use_threads=False, block_size=MAX_LINE_BYTES),
                parse_options=pacsv.ParseOptions(invalid_row_handler=stop),
                convert_options=pacsv.ConvertOptions(column_types={text: pa.string()} if text else {}),
            )
        except pa.ArrowException as error:
            if not broken:
                raise wrong_format_error("CSV", path, str(error)) from None
    row = broken[0]
    got = f"{row.actual_columns} values, {row.text[:60]!r}"
    where = f"{path}, line {line_number(path, row.text, row.number)}"
    raise InputError("a line is broken", where=where, got=got, need=f"{row.expected_columns}, as in the header")


def check_text(file: BinaryIO, path: Path) -> None:
    """An error unless this is UTF-8 text in lines of at most 16 MiB, with no more columns than a table can have."""
    head = file.read(BLOCK)
    if kind_of(head) or b"\0" in head:
        raise wrong_format_error("CSV", path, kind_of(head) or "bytes that are no text")
    file.seek(0)
    check_column_count(path, file.readline(MAX_LINE_BYTES).count(b",") + 1)
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, unended = 1, 0  # the line that a block begins in, and the bytes that it has so far
    block = head
    while block:
        block = file.read(BLOCK)
        try:
            decoder.decode(block, final=not block)  # the last character may be cut short
        except UnicodeDecodeError as error:
            got = repr(error.object[error.start : error.end])
            where = f"{path}, line {line + error.object[: error.start].count(10)}"
            do = "save it as UTF-8"
            raise InputError("the file is not UTF-8 text", where=where, got=got, need="UTF-8", do=do) from None
        first, last = block.find(b"\n"), block.rfind(b"\n")
        if unended + (first if first >= 0 else len(block)) > MAX_LINE_BYTES:
            need = f"at most {MAX_LINE_BYTES} bytes in a line"
            raise InputError("a line is too long", where=f"{path}, line {line}", need=need)
        unended = unended + len(block) if first < 0 else len(block) - last - 1
        line += block.count(b"\n")


def line_number(path: Path, text: str, row: int) -> int:
    """The line, from 1, that has this text. Arrow counts rows: it leaves out empty lines."""
    wanted = text.partition("\n")[0].rstrip("\r").encode()
    with open_checked(path) as (file, _):
        for number, line in enumerate(file, 1):
            if number >= row and line.rstrip(b"\r\n") == wanted:
                return number
    return row
