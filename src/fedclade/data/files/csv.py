"""CSV: text with a header line, separated by commas, in UTF-8."""

import codecs
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv

from fedclade.data.files.opening import kind_of, not_a, opened
from fedclade.nouns import InputError

LONGEST_LINE = 16 * 2**20  # bytes
MOST_COLUMNS = 100_000
BLOCK = 2**20  # bytes


def read_csv(path: Path, *, text: str = "") -> pa.Table:
    """The table of a CSV file; the column `text` stays text where it looks like numbers, so 01 is not 1."""
    broken: list[pacsv.InvalidRow] = []

    def stop(row: pacsv.InvalidRow) -> str:
        broken.append(row)
        return "error"

    with opened(path) as (file, _):
        check_text(file, path)
        file.seek(0)
        try:
            return pacsv.read_csv(
                pa.PythonFile(file, "r"),
                # One thread: with more, a broken row has no number.
                read_options=pacsv.ReadOptions(use_threads=False, block_size=LONGEST_LINE),
                parse_options=pacsv.ParseOptions(invalid_row_handler=stop),
                convert_options=pacsv.ConvertOptions(column_types={text: pa.string()} if text else {}),
            )
        except pa.ArrowException as wrong:
            if not broken:
                raise not_a("CSV", path, str(wrong)) from None
    row = broken[0]
    raise InputError(
        "a line is broken",
        where=f"{path}, line {line_of(path, row.text, row.number)}",
        got=f"{row.actual_columns} values, {row.text[:60]!r}",
        need=f"{row.expected_columns}, as in the header",
    )


def check_text(file: BinaryIO, path: Path) -> None:
    """An error unless this is UTF-8 text in lines of a sensible length, the first one with so many columns."""
    head = file.read(BLOCK)
    if kind_of(head) or b"\0" in head:
        raise not_a("CSV", path, kind_of(head) or "bytes that are no text")
    file.seek(0)
    columns = file.readline(LONGEST_LINE).count(b",") + 1
    if columns > MOST_COLUMNS:
        raise InputError(
            "there are too many columns", where=str(path), got=str(columns), need=f"at most {MOST_COLUMNS}"
        )
    file.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, unended = 1, 0  # the line that a block begins in, and the bytes that it has so far
    block = head
    while block:
        block = file.read(BLOCK)
        try:
            decoder.decode(block, final=not block)  # the last character may be cut short
        except UnicodeDecodeError as wrong:
            raise InputError(
                "the file is not UTF-8 text",
                where=f"{path}, line {line + wrong.object[: wrong.start].count(10)}",
                got=repr(wrong.object[wrong.start : wrong.end]),
                need="UTF-8",
                do="save it as UTF-8",
            ) from None
        first, last = block.find(b"\n"), block.rfind(b"\n")
        if unended + (first if first >= 0 else len(block)) > LONGEST_LINE:
            raise InputError(
                "a line is too long", where=f"{path}, line {line}", need=f"at most {LONGEST_LINE} bytes in a line"
            )
        unended = unended + len(block) if first < 0 else len(block) - last - 1
        line += block.count(b"\n")


def line_of(path: Path, text: str, row: int) -> int:
    """The line, from 1, that has this text. Arrow counts rows: it leaves out empty lines."""
    wanted = text.partition("\n")[0].rstrip("\r").encode()
    with opened(path) as (file, _):
        for number, line in enumerate(file, 1):
            if number >= row and line.rstrip(b"\r\n") == wanted:
                return number
    return row
