"""AG-News: short news of four topics, as numbers of words (Zhang, Zhao, LeCun, 2015).

A word is a run of letters a to z, in lower case. The 10,000 commonest words of the training texts have the numbers 2 to
10,001, the commonest first; 0 fills up short texts and 1 is any other word. A text is its first 32 words.
"""

import csv
import io
import re
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fedclade.core import InputError
from fedclade.data.examples import Pool, Source
from fedclade.data.sources.bounded_reading import read_text
from fedclade.data.sources.source_files import Files

KNOWN_WORDS = 10_000
LENGTH = 32
PADDING, UNKNOWN, FIRST = 0, 1, 2
"""Every word's number is below this."""

PARTIAL, CLASSES = "train_partial.csv.gz", "classes.txt"
MAX_BYTES = 64 << 20  # bytes; the official training file has 29e6
WORD = re.compile("[a-z]+")

FILES = Files(
    source="ag-news",
    layouts=(
        ("train.csv", "test.csv", CLASSES),
        ("train.csv.gz", "test.csv.gz", CLASSES),
        (PARTIAL, "test.csv.gz", CLASSES),
    ),
    folders=("ag_news", "ag-news", "ag_news_csv"),
    origin="ag_news_csv.tar.gz of Zhang, Zhao and LeCun's text classification data",
)

Texts = list[tuple[list[str], int]]
"""Each text's words, and its topic from 0."""


def ag_news() -> Source:
    """Texts of 32 words (int32) of four topics; named a subset if only a part of the training texts is here."""
    paths = FILES.find_or_fetch()
    learned_path, tested_path, classes_path = paths.values()
    names = tuple(name.strip() for name in read_text(classes_path, 1 << 16).splitlines() if name.strip())
    learned, tested = (texts(path, len(names)) for path in (learned_path, tested_path))
    vocabulary = word_numbers(learned)
    train, test = (make_pool(part, vocabulary) for part in (learned, tested))
    called = "AG-News subset" if PARTIAL in paths else "ag-news"
    return Source(called, train, classes=len(names), test=test, class_names=names)


def texts(path: Path, topics: int) -> Texts:
    """The words and the topic of each row: the topic from 1, then title and text, or both in one."""
    found = []
    allowed = {str(topic) for topic in range(1, topics + 1)}
    try:
        rows = csv.reader(io.StringIO(read_text(path, MAX_BYTES), newline=""), strict=True)
        for number, row in enumerate(rows, start=1):
            if len(row) not in (2, 3) or row[0] not in allowed:
                got, need = repr(",".join(row)[:40]), f"a topic 1 to {topics}, then one or two texts"
                raise InputError("a row is not of AG-News", where=f"{path}, row {number}", got=got, need=need)
            found.append((WORD.findall(" ".join(row[1:]).lower()), int(row[0]) - 1))
    except csv.Error as error:
        raise InputError("the file is not csv", where=str(path), got=str(error)) from None
    if not found:
        raise InputError("the file is empty", where=str(path), need="a text a row")
    return found


def word_numbers(learned: Texts) -> dict[str, int]:
    """The number of each of the commonest words; of equally common ones the first in the alphabet goes first."""
    counts = Counter(word for words, _ in learned for word in words)
    common = sorted(counts, key=lambda word: (-counts[word], word))[:KNOWN_WORDS]
    return {word: number for number, word in enumerate(common, start=FIRST)}


def make_pool(part: Texts, vocabulary: dict[str, int]) -> Pool:
    """Texts as rows of numbers."""
    inputs: NDArray[np.int32] = np.full((len(part), LENGTH), PADDING, np.int32)
    for row, (words, _) in zip(inputs, part, strict=True):
        kept = [vocabulary.get(word, UNKNOWN) for word in words[:LENGTH]]
        row[: len(kept)] = kept
    return Pool(inputs, np.array([topic for _, topic in part], np.int64))
