"""Numbers and truth values as cells of text have them, and back."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

TRUTH = {"true": 1.0, "false": 0.0}
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # the numbers that arrow reads
CODE = r"^[+-]?0[0-9]"  # a code that looks like a number, such as 01
# Numbers with a mark between thousands, always the same one: 12,345 and 1,234,567.89 and 1'234.
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3})+|(?:['\u2019]\d{3})+)(?:\.\d*)?")
GROUPED_OR_PLAIN = r"^[+-]?(?:[1-9]\d{0,2}(?:MARK\d{3})+(?:\.\d*)?|\d{1,3}\.?\d*|\.\d+)$"
CURRENCY = r"(?:US)?[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD"
DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d{1,3}(?:['\u2019\u00a0\u202f]\d{3})+(?:[.,]\d+)?"
UNIT = r"[%‰°]?[^\W\d_]{0,6}\.?(?:[/·][^\W\d_]{1,6})?[²³]?"
MEASURED = re.compile(rf"[+-]?(?:{CURRENCY})? ?[+-]?(?:{DIGITS}|\d+(?:[.,]\d+)?) ?({CURRENCY}|{UNIT})")
MARKS = (",", "['\u2019]")  # between thousands


def texts_as_floats(words: pa.Array | pa.ChunkedArray) -> NDArray[np.float64] | None:
    """Texts as numbers; None unless all are, or if one is a code. Arrow reads `nan` and `inf`, which are none here.

    Thousands may be set apart, by the same mark in all texts.
    """
    try:
        numbers = as_floats(pc.cast(words, pa.float64()))
    except pa.ArrowInvalid:
        plain = without_marks(words)
        return None if plain is None else texts_as_floats(plain)
    if np.isfinite(numbers).sum() < len(words) - words.null_count:
        return None
    return None if pc.any(pc.match_substring_regex(words, CODE)).as_py() else numbers


def without_marks(words: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray | None:
    """Texts without marks between thousands; None unless all are numbers, some with such marks."""
    for mark in MARKS:
        if not pc.any(pc.match_substring_regex(words, mark)).as_py():
            continue
        if pc.all(pc.match_substring_regex(words, GROUPED_OR_PLAIN.replace("MARK", mark))).as_py():
            return pc.replace_substring_regex(words, mark, "")
    return None


def texts_as_truth(words: Sequence[str]) -> NDArray[np.float64] | None:
    """Texts as 1 for true and 0 for false; None unless all are."""
    lower = [word.lower() for word in words]
    return np.array([TRUTH[word] for word in lower]) if set(lower) <= TRUTH.keys() else None


def as_floats(column: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Numbers in double precision, NaN where there is none."""
    values: NDArray[np.float64] = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values.astype(np.float64, copy=False)


def float_or_nan(text: str) -> float:
    """The number that a text is written like; NaN if it is none, or too large. Python alone would read 1_1 as 11."""
    if GROUPED.fullmatch(text):
        text = re.sub(r"[,'\u2019]", "", text)
    number = float(text) if NUMBER.fullmatch(text) else math.nan
    return number if math.isfinite(number) else math.nan


def have_unit(texts: Sequence[str]) -> bool:
    """Whether texts are numbers with the same unit or currency, or with other marks than those that are read."""
    first = MEASURED.fullmatch(texts[0])
    if first is None or not all((found := MEASURED.fullmatch(text)) and found[1] == first[1] for text in texts):
        return False
    return any(math.isnan(float_or_nan(text)) for text in texts)


def number_or_truth(text: str) -> float:
    """The number that a text is written like, 1 for true and 0 for false; NaN if it is none."""
    return TRUTH.get(text.lower(), float_or_nan(text))


def number_text(value: float | np.floating | Decimal) -> str | None:
    """A number as text, without a point if it is whole; None for NaN."""
    if value != value:
        return None
    if isinstance(value, Decimal):
        digits = f"{value:f}"
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    return str(int(value)) if value.is_integer() and -(2.0**63) < value < 2.0**63 else str(value)
