"""CSV: text with a header line, in UTF-8, as it is or packed by gzip; the separator is found.

A file is read as a stream, first to check it and then by arrow, and no more than its table is held in memory. Every
cell stays text, so that 01 is not 1 until the type of a column is chosen.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from fedclade.core import InputError
from fedclade.data.files.decimal_commas import write_decimal_points
from fedclade.data.files.open_file import check_column_count, check_unpacked, kind_of, open_checked, wrong_format_error

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CSV_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
MAX_LINE_BYTES = 16 * 2**20  # bytes, also of a row with quoted newlines
BLOCK = 2**20  # bytes
SEPARATORS = ("\t", ";", "|", ",")  # the comma last: it is also in numbers and in names
SEPARATOR_LINE = re.compile(rb'\A"?sep=([\t;|,])"?[ \t]*(?:\r\n|\r|\n)', re.IGNORECASE)
COMPARED_LINES = 50  # behind the header, to find the separator
MISSING = pa.array(pacsv.ConvertOptions().null_values)

QUOTED = r'"[^"]*+(?:""[^"]*+)*+"'


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How the cells of a file are written."""

    separator: str
    quotes: bool
    """Whether there is any quote: then a cell may hold a separator or a newline."""
    padded_quotes: bool
    """Whether blanks may stand at the ends of a quoted cell, within its quotes or outside of them."""

    @property
    def blanks(self) -> str:
        """The characters that are no part of a cell at its ends, unless they are quoted."""
        return blanks_beside(self.separator)


def read_csv(path: Path) -> pa.Table:
    """The table of a CSV file: every column is text, and a missing cell is null.

    Missing is a cell that is empty, or an unquoted mark such as NA. Names are as in the file, also empty or equal ones.
    """
    dialect = check_text(path)
    names = read_names(path, dialect)
    columns = parse_rows(path, dialect, len(names)).columns
    if not dialect.padded_quotes:
        columns = [strip_cells(column, dialect.blanks) for column in columns]
    columns = write_decimal_points([drop_empty(column) for column in columns], dialect.separator)
    return pa.table(columns, names=names)


def check_text(path: Path) -> Dialect:
    """How a file is written; an error unless it is UTF-8 text in lines of at most 16 MiB."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    separator, empty, quotes = "", True, False
    line, unended = 1, 0  # the line that a block begins in, and the bytes that it has so far
    with open_blocks(path) as blocks:
        for block in blocks:
            if not separator:
                check_kind(block, path)
                separator = find_separator(block)
            check_utf8(decoder, block, path, line)
            first_newline, last_newline = block.find(b"\n"), block.rfind(b"\n")
            if unended + (first_newline if first_newline >= 0 else len(block)) > MAX_LINE_BYTES:
                need = f"at most {MAX_LINE_BYTES} bytes in a line"
                raise InputError("a line is too long", where=f"{path}, line {line}", need=need)
            unended = unended + len(block) if first_newline < 0 else len(block) - last_newline - 1
            line += block.count(b"\n")
            empty = empty and not block.strip()
            quotes = quotes or b'"' in block
    check_utf8(decoder, b"", path, line)
    if empty:
        raise InputError("the file is empty", where=str(path), got="only blank lines", need="data")
    padded = quotes and has_padded_quotes(path, separator)
    return Dialect(separator=separator, quotes=quotes, padded_quotes=padded)


def check_kind(head: bytes, path: Path) -> None:
    """An error if a file's first bytes are no text, or text in two bytes a character."""
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if wide or {0} in (set(head[:200:2]), set(head[1:200:2])):
        raise encoding_error(path, 1, "UTF-16")
    if kind_of(head) or b"\0" in head:
        raise wrong_format_error(format_of(path), path, kind_of(head) or "bytes that are no text")


def check_utf8(decoder: codecs.IncrementalDecoder, block: bytes, path: Path, line: int) -> None:
    """An error unless this is UTF-8. An empty block is the last: before that, a character may be cut short."""
    try:
        decoder.decode(block, final=not block)
    except UnicodeDecodeError as error:
        line += error.object[: error.start].count(10)
        raise encoding_error(path, line, repr(error.object[error.start : error.end])) from None


def encoding_error(path: Path, line: int, got: str) -> InputError:
    """The error for a file that is not UTF-8."""
    do = "save it as UTF-8"
    return InputError("the file is not UTF-8 text", where=f"{path}, line {line}", got=got, need="UTF-8", do=do)


def has_padded_quotes(path: Path, separator: str) -> bool:
    """Whether blanks may stand at the ends of a quoted cell, on either side of a quote.

    Such a file is rare, and slow to read: blanks within the quotes belong to the cell, and those outside do not.
    """
    blank, end = f"[{blanks_beside(separator)}]", rf"[{separator}\r\n]"
    opens = rf'(?<={end}"){blank}|(?<={end}{blank}")|(?<={blank}{blank}")'
    closes = rf'(?<={blank}")(?={end})|(?={blank}++{end})'
    pattern = re.compile(f'"(?:{opens}|{closes})'.encode())
    open_line = b"\n"  # with the newline before it
    with open_blocks(path) as blocks:
        for block in chain(blocks, [b"\n"]):
            lines, newline, open_line = (open_line + block).rpartition(b"\n")
            if pattern.search(lines + newline):
                return True
            open_line = newline + open_line
    return False


def blanks_beside(separator: str) -> str:
    """The blanks that can stand beside this separator."""
    return " " if separator == "\t" else " \t"


def format_of(path: Path) -> str:
    """The format that a file's name promises."""
    return "TSV" if path.name.lower().endswith((".tsv", ".tsv.gz")) else "CSV"


def find_separator(head: bytes) -> str:
    """The separator that divides the header, and most of the lines behind it into as many cells.

    It may be said in the first line, as Excel does: `sep=;`.
    """
    if said := SEPARATOR_LINE.match(head):
        return said[1].decode()
    marks = "".join(SEPARATORS)
    quoted = rf'(?<![^{marks}\r\n]) *+"[^"]*+(?:""[^"]*+)*+(?:"|\Z)'
    lines = [line for line in re.sub(quoted.encode(), b"", head).splitlines() if line.strip(b" ")]
    if len(head) >= BLOCK - len(codecs.BOM_UTF8):
        lines = lines[:-1] or lines  # the last one may be cut short
    best = (0.0, 0, ",")
    for separator in SEPARATORS:
        in_header, *counts = (line.count(separator.encode()) for line in lines[: COMPARED_LINES + 1] or [b""])
        if in_header and (any(counts) or not counts):
            share = counts.count(in_header) / len(counts) if counts else 1.0
            if (share, in_header) > best[:2]:
                best = (share, in_header, separator)
    return best[2]


def read_names(path: Path, dialect: Dialect) -> list[str]:
    """The cells of the header."""
    with open_blocks(path) as blocks:
        rows = io.BufferedReader(BlockFile(arrange_text(blocks, path, dialect)))
        try:
            reader = csv.reader(io.TextIOWrapper(rows, "utf-8", newline=""), delimiter=dialect.separator)
            names = next(filter(None, reader), [])
        except csv.Error as error:
            raise wrong_format_error(format_of(path), path, str(error)) from None
    check_column_count(path, len(names))
    return names if dialect.padded_quotes else [name.strip(dialect.blanks) for name in names]


def parse_rows(path: Path, dialect: Dialect, width: int) -> pa.Table:
    """The rows behind the header, as text; cells are missing where they are empty or marks, and not quoted."""
    broken: list[pacsv.InvalidRow] = []

    def handle_row(row: pacsv.InvalidRow) -> str:
        if not row.text.strip(" \t\r\n"):
            return "skip"
        broken.append(row)
        return "error"

    columns = [str(number) for number in range(width)]
    with open_blocks(path) as blocks:
        file = io.BufferedReader(BlockFile(arrange_text(blocks, path, dialect)), BLOCK)
        try:
            table = pacsv.read_csv(
                pa.PythonFile(file, "r"),
                # One thread: with more, a broken row has no number. A row may begin in one block and end in the next.
                read_options=pacsv.ReadOptions(
                    use_threads=False, block_size=MAX_LINE_BYTES + 2 * BLOCK, column_names=columns
                ),
                parse_options=pacsv.ParseOptions(
                    delimiter=dialect.separator, newlines_in_values=dialect.quotes, invalid_row_handler=handle_row
                ),
                convert_options=pacsv.ConvertOptions(
                    column_types=dict.fromkeys(columns, pa.string()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
            return table.slice(1)  # the header is read by its own: there NA is a name
        except pa.ArrowException as error:
            if not broken:
                raise wrong_format_error(format_of(path), path, str(error)) from None
    row = broken[0]
    got = f"{row.actual_columns} values, {row.text[:60]!r}"
    where = f"{path}, line {line_number(path, row.text, row.number, dialect.blanks)}"
    raise InputError("a line is broken", where=where, got=got, need=f"{row.expected_columns}, as in the header")


def line_number(path: Path, text: str, row: int, blanks: str) -> int:
    """The line, from 1, that has this text. Arrow counts rows: it leaves out empty lines."""
    ignored = f"{blanks}\r\n".encode()
    wanted = text.lstrip("\r\n").partition("\n")[0].encode().translate(None, ignored)
    with open_blocks(path) as blocks:
        for number, line in enumerate(io.BufferedReader(BlockFile(blocks), BLOCK), 1):
            if number >= row and line.translate(None, ignored) == wanted:
                return number
    return row


def strip_cells(column: pa.ChunkedArray, blanks: str) -> pa.ChunkedArray:
    """The cells without blanks at their ends; one that is a mark without them is missing."""
    stripped = pc.ascii_trim(column, characters=blanks)
    changed = pc.not_equal(pc.binary_length(stripped), pc.binary_length(column))
    if not pc.any(changed).as_py():
        return column
    return pc.if_else(pc.and_(changed, pc.is_in(stripped, MISSING)), pa.scalar(None, pa.string()), stripped)


def drop_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, in which an empty cell is missing, also if it is quoted: many programs quote every cell."""
    empty = pc.equal(column, "")
    return pc.if_else(empty, pa.scalar(None, pa.string()), column) if pc.any(empty).as_py() else column


@contextmanager
def open_blocks(path: Path) -> Iterator[Iterator[bytes]]:
    """The text of a file in blocks of bytes: unpacked, and without a byte order mark."""
    with open_checked(path) as (file, size):
        if not path.name.lower().endswith(".gz"):
            yield drop_order_mark(iter(lambda: file.read(BLOCK), b""))
            return
        kind = kind_of(file.read(8))
        if kind != "a gzip file":
            raise wrong_format_error("gzip", path, kind)
        file.seek(0)
        yield drop_order_mark(unpack(path, file, size))


def unpack(path: Path, file: BinaryIO, size: int) -> Iterator[bytes]:
    """The content of a gzip file of `size` bytes; an error as soon as it is suspiciously much."""
    unpacked, total = gzip.GzipFile(fileobj=file), 0
    while True:
        try:
            block = unpacked.read(BLOCK)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            need, do = "a whole gzip file", "fetch or pack it again"
            raise InputError("the gzip file is damaged", where=str(path), got=str(error), need=need, do=do) from None
        if not block:
            return
        total += len(block)
        check_unpacked(path, total, size)
        yield block


def drop_order_mark(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks without UTF-8's byte order mark."""
    yield next(blocks, b"").removeprefix(codecs.BOM_UTF8)
    yield from blocks


def arrange_text(blocks: Iterator[bytes], path: Path, dialect: Dialect) -> Iterator[bytes]:
    """The text as arrow can read it: from the header on, and with quotes at the very ends of a cell."""
    if dialect.quotes:
        blocks = whole_rows(blocks, path, dialect)
    blocks = skip_blank_lines(blocks)
    if dialect.padded_quotes:
        blank, end = f"[{dialect.blanks}]", rf"[{dialect.separator}\r\n]"
        begin = rf"(?<![^{dialect.separator}\r\n])"
        ends = rf"{begin}{blank}++|(?<!{blank}){blank}++(?={end}|\Z)"
        pattern = re.compile(rf"{begin}{blank}*+({QUOTED})|{ends}".encode())
        blocks = (pattern.sub(rb"\1", block) for block in blocks)
    return blocks


def whole_rows(blocks: Iterator[bytes], path: Path, dialect: Dialect) -> Iterator[bytes]:
    """The same text in blocks that end with a row; an error if a quote is not closed."""
    rest = rf"[^{dialect.separator}\r\n]*+"
    cell = rf'[{dialect.blanks}]*+(?:{QUOTED}{rest}|(?!"){rest})'
    rows = re.compile(rf"(?:{cell}(?:{re.escape(dialect.separator)}{cell})*+[\r\n]++)*+".encode())
    open_row, line = b"", 1  # the row that is not complete, and the line that it begins in

    def check_length(limit: int) -> None:
        if len(open_row) > limit:
            got = repr(open_row[:60].decode(errors="ignore"))
            need = f"an end of each quoted cell, within {MAX_LINE_BYTES} bytes"
            raise InputError("a quote is not closed", where=f"{path}, line {line}", got=got, need=need)

    for block in blocks:
        text = open_row + block
        complete = rows.match(text)
        end = complete.end() if complete else 0
        yield text[:end]
        open_row, line = text[end:], line + text.count(b"\n", 0, end)
        check_length(MAX_LINE_BYTES)
    if rows.fullmatch(open_row + b"\n") is None:
        check_length(0)
    yield open_row


def skip_blank_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same text without the lines before the header: blank ones, and one that says the separator."""
    begin = b""
    for block in blocks:
        begin = SEPARATOR_LINE.sub(b"", block, count=1)
        begin = re.sub(rb"\A(?:[ \t]*+[\r\n])++", b"", begin)
        if begin:
            break
    yield begin
    yield from blocks


class BlockFile(io.RawIOBase):
    """Blocks of bytes as a file to read from."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self.blocks, self.block = filter(None, blocks), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        view = memoryview(buffer)
        self.block = self.block or memoryview(next(self.blocks, b""))
        count = min(len(view), len(self.block))
        view[:count] = self.block[:count]
        self.block = self.block[count:]
        return count
