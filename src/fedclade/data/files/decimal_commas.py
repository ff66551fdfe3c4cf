"""Numbers of CSV files with a decimal comma, which become such with a point."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

# Numbers with a decimal comma, perhaps with points between thousands: -1.234,5 and ,5 and 3 and 1,2e-7.
DECIMAL_COMMA = r"^[+-]?(?:(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?|,\d+)(?:[eE][+-]?\d+)?$"
COMMA_THOUSANDS = r"^[+-]?(?:\d{1,3}|[1-9]\d{0,2}(?:,\d{3})+)$"
DECIMAL_POINT = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
POINT_THOUSANDS = r"^[+-]?\d{1,3}(?:\.\d{3})*$"


def write_decimal_points(columns: Sequence[pa.ChunkedArray], separator: str) -> list[pa.ChunkedArray]:
    """The columns, those of numbers with decimal commas with points instead; any other as it is.

    In a column such as 12,345 and 998 a comma may also stand between thousands. It does between commas, and where other
    columns have decimal points; it does not where others have decimal commas. Where nothing shows it, it does if some
    numbers have none.
    """
    commas = [number for number, column in enumerate(columns) if has_mark(column, ",") and fits(column, DECIMAL_COMMA)]
    unclear = [number for number in commas if fits(columns[number], COMMA_THOUSANDS)]
    if separator == ",":
        decimal = set(commas).difference(unclear)
    elif len(unclear) < len(commas):
        decimal = set(commas)
    elif unclear and any(has_decimal_points(column) for column in columns):
        decimal = set()
    else:
        decimal = {number for number in unclear if pc.all(pc.match_substring(columns[number], ",")).as_py()}
    return [with_points(column) if number in decimal else column for number, column in enumerate(columns)]


def has_mark(column: pa.ChunkedArray, mark: str) -> bool:
    """Whether a cell has it."""
    return bool(pc.any(pc.match_substring(column, mark)).as_py())


def fits(column: pa.ChunkedArray, pattern: str) -> bool:
    """Whether all cells are written like this."""
    return bool(pc.all(pc.match_substring_regex(column, pattern)).as_py())


def has_decimal_points(column: pa.ChunkedArray) -> bool:
    """Whether a column has numbers with decimals behind a point."""
    return has_mark(column, ".") and fits(column, DECIMAL_POINT) and not fits(column, POINT_THOUSANDS)


def with_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Points in the place of commas, and none between thousands."""
    return pc.replace_substring(pc.replace_substring(column, ".", ""), ",", ".")
