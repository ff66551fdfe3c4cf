"""Dates and times as cells of text have them, and back.

A text alone says in which order day and month stand, or not: 31/12/2024 does, 05/06/2024 does not. So a text has two
readings, with the day first and with the month first, of which one may be impossible. Which one is meant is decided
over all texts of a column, at all clients: see `fedclade.preparation.dates`.
"""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fedclade.core.preparation import DateOrder
from fedclade.data.cell_numbers import as_floats

DAY_SECONDS = 86400.0  # seconds
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # of a second
ISO_DATE = r"\d{4}-\d\d-\d\d"
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAY = r"(?:(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?"
NAME = r"(?P<name>(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*)\.?"
YEAR, EITHER_YEAR = r"(?P<year>\d{4})", r"(?P<year>\d{4}|\d\d)"
DAY, MONTH = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})"
FIRST, SECOND = r"(?P<first>\d{1,2})", r"(?P<second>\d{1,2})"  # a day and a month, in an order that is not known
DAY_FORMS = (
    rf"{YEAR}-{MONTH}-{DAY}",
    rf"{YEAR}/{MONTH}/{DAY}",
    rf"{YEAR}\.{MONTH}\.{DAY}",
    r"(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)",
    rf"{DAY}\.{MONTH}\.{YEAR}",
    r"(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d\d)",
    rf"{FIRST}/{SECOND}/{EITHER_YEAR}",
    rf"{FIRST}-{SECOND}-{YEAR}",
    rf"{WEEKDAY}{DAY}(?:[ -]?{NAME}[ -]?|\. ?{NAME.replace('name', 'other')} ){EITHER_YEAR}",
    rf"{WEEKDAY}{NAME} {DAY},? {YEAR}",
)
CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second_part>\d\d(?:\.\d+)?))? ?(?P<half>[AaPp]\.?[Mm]\.?)?"
ZONE = r"(?P<zone>Z| ?[+-]\d\d:?\d\d)?"
FORMS = (*(rf"^{form}(?:(?:,? |T){CLOCK}{ZONE})?$" for form in DAY_FORMS), rf"^{CLOCK}$")
"""How dates can be written: a day, perhaps with a time behind it; or a time alone."""
KNOWN = [re.compile(form) for form in FORMS]


@dataclass(frozen=True, eq=False)
class Readings:
    """Texts as seconds since 1970, NaN where one is no date."""

    day_first: NDArray[np.float64]
    """(texts,)"""
    month_first: NDArray[np.float64]
    """(texts,): other than `day_first` where the text may be another day then."""

    def are_dates(self) -> NDArray[np.bool_]:
        """(texts,): whether each text can be a date."""
        return ~(np.isnan(self.day_first) & np.isnan(self.month_first))

    def values(self, order: DateOrder) -> NDArray[np.float64]:
        """(texts,): each text in this order, or as it must be; without an order NaN where it may be two days."""
        usual, other = self.day_first, self.month_first
        if order == "month":
            usual, other = other, usual
        found = np.where(np.isnan(usual), other, usual)
        unclear = ~np.isnan(usual) & ~np.isnan(other) & (usual != other)
        return found if order else np.where(unclear, np.nan, found)


def is_date(text: str) -> bool:
    """Whether a text is written like a date; the day may not exist."""
    return any(form.match(text) for form in KNOWN)


def read_dates(words: pa.Array) -> Readings:
    """Both readings of every text."""
    day_first, month_first = np.full((2, len(words)), np.nan)
    left = np.arange(len(words))
    for form in FORMS:
        parts = pc.extract_regex(words.take(pa.array(left)), form)
        fits = parts.is_valid().to_numpy(zero_copy_only=False)
        if not fits.any():
            continue
        cells = {field.name: pc.struct_field(parts.filter(pa.array(fits)), field.name) for field in parts.type}
        if "first" in cells:
            first, second = cells.pop("first"), cells.pop("second")
            day_first[left[fits]] = seconds_of({**cells, "day": first, "month": second})
            month_first[left[fits]] = seconds_of({**cells, "day": second, "month": first})
        else:
            day_first[left[fits]] = month_first[left[fits]] = seconds_of(cells)
        left = left[~fits]
        if not len(left):
            break
    return Readings(day_first, month_first)


def seconds_of(cells: dict[str, pa.Array]) -> NDArray[np.float64]:
    """Seconds since 1970 of days and times whose parts are known; NaN where there is no such day or time."""
    count = len(next(iter(cells.values())))

    def number(part: str, default: float) -> NDArray[np.float64]:
        if part not in cells:
            return np.full(count, default)
        texts = cells[part]
        return as_floats(pc.cast(pc.if_else(pc.equal(texts, ""), str(default), texts), pa.float64()))

    year, month, day = number("year", 1970), number("month", 1), number("day", 1)
    for part in ("name", "other"):
        if part in cells:
            texts = pc.utf8_lower(pc.utf8_slice_codeunits(cells[part], 0, 3)).to_pylist()
            named = np.array([MONTHS.index(text) + 1 if text else 0 for text in texts])
            month = np.where(named > 0, named, month)
    if "year" in cells:
        short = pc.equal(pc.utf8_length(cells["year"]), 2).to_numpy(zero_copy_only=False)
        year = year + short * np.where(year < 69, 2000, 1900)
    known = (month >= 1) & (month <= 12) & (day >= 1)
    months = np.where(known, (year - 1970) * 12 + month - 1, 0).astype(np.int64).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + np.where(known, day - 1, 0).astype(np.int64).astype("timedelta64[D]")
    known &= days.astype("datetime64[M]") == months
    hour, minute, second = number("hour", 0), number("minute", 0), number("second_part", 0)
    if "half" in cells:
        half = np.array([text[:1].lower() for text in cells["half"].to_pylist()])
        known &= (half == "") | ((hour >= 1) & (hour <= 12))
        hour = np.where(half == "", hour, hour % 12 + 12 * (half == "p"))
    known &= (hour < 24) & (minute < 60) & (second < 61)
    found = days.astype(np.int64) * DAY_SECONDS + hour * 3600 + minute * 60 + second
    if "zone" in cells:
        found -= np.array([zone_seconds(text) for text in cells["zone"].to_pylist()], np.float64)
    return np.where(known, found, np.nan)


def zone_seconds(text: str) -> float:
    """How far a zone of time is before Greenwich."""
    digits = re.sub(r"\D", "", text)
    size = int(digits[:2]) * 3600.0 + int(digits[2:]) * 60.0 if digits else 0.0
    return -size if "-" in text else size


def seconds(column: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Dates and times as seconds since 1970, in Greenwich; times of day as seconds since midnight; durations."""
    kind = column.type
    if pa.types.is_date(kind):
        return as_floats(column.cast(pa.date32()).cast(pa.int32())) * DAY_SECONDS
    return as_floats(column.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64())) / UNITS[kind.unit]


def date_text(seconds: float) -> str:
    """A date as ISO has it; with the time behind it, unless that is midnight."""
    whole, millionths = divmod(round(seconds * 1e6), 10**6)
    date, clock = str(np.datetime64(whole, "s")).split("T")
    if millionths:
        clock += f".{millionths:06}"
    return date if clock == "00:00:00" else f"{date} {clock}"
