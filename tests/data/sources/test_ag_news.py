"""AG-News: words and their numbers by hand, the subset by its name, rows that are wrong."""

from pathlib import Path

import numpy as np
import pytest

from data.sources.making import cut, load, put
from fedclade.data.registry import SOURCES
from fedclade.data.sources import ag_news
from refusals import check_refused

TRAIN = b'"3","Oil, oil!","The ""oil\\price"" #39;s"\n"1","Peace","the b2b"\n'
TEST = b'"4","A rocket","' + b"oil " * 40 + b'"\n'


def put_news(folder: Path, train: bytes = TRAIN, test: bytes = TEST, names: tuple[str, str] = ("train", "")) -> Path:
    put(folder / "ag_news" / "classes.txt", b"World\nSports\nBusiness\nSci/Tech")
    put(folder / "ag_news" / f"test.csv{names[1]}", test)
    return put(folder / "ag_news" / f"{names[0]}.csv{names[1]}", train)


@pytest.mark.parametrize(
    ("names", "called"),
    [(("train", ""), "ag-news"), (("train", ".gz"), "ag-news"), (("train_partial", ".gz"), "AG-News subset")],
)
def test_words_become_numbers(folder: Path, names: tuple[str, str], called: str) -> None:
    """Training words: oil 3, b 2, the 2; peace, price, s once. So oil 2, b 3, the 4, peace 5, price 6, s 7."""
    put_news(folder, names=names)
    source, test = load("ag-news")
    assert source.name == called
    assert source.train.inputs.dtype == np.int32
    assert source.train.inputs.shape == (2, 32)
    assert source.train.inputs[0].tolist() == [2, 2, 4, 2, 6, 7] + [0] * 26
    assert source.train.inputs[1].tolist() == [5, 4, 3, 3] + [0] * 28
    assert test.inputs[0].tolist() == [1, 1] + [2] * 30  # a and rocket are unknown; cut after 32
    assert source.train.labels.tolist() == [2, 0]
    assert test.labels.tolist() == [3]
    assert source.class_names == ("World", "Sports", "Business", "Sci/Tech")


def test_one_column_common_words_and_a_cut_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_news(folder, train=b'"2","one two one"\n')
    assert SOURCES["ag-news"].load().train.inputs[0, :4].tolist() == [2, 3, 2, 0]
    monkeypatch.setattr(ag_news, "KNOWN_WORDS", 2)
    put_news(folder)
    assert SOURCES["ag-news"].load().train.inputs[1, :5].tolist() == [1, 1, 3, 3, 0]
    (folder / "ag_news" / "train.csv").unlink()
    cut(put_news(folder, names=("train", ".gz")))
    check_refused(r"cannot be read, .*train\.csv\.gz", SOURCES["ag-news"].load)


@pytest.mark.parametrize(
    ("train", "said"),
    [
        (b'"5","a","b"\n', r"row is not of AG-News, .*train\.csv, row 1"),
        (b'"1","a","b"\n"0","a","b"\n', r"row is not of AG-News, .*train\.csv, row 2"),
        (b'"1"\n', "row is not of AG-News"),
        (b'"1","a","b","c"\n', "row is not of AG-News"),
        (b'Class Index,"Title","Description"\n', "row is not of AG-News"),
        (b'"1","a', "not csv"),
        (b'"1","' + b"a" * 200_000 + b'"\n', "not csv"),
        (b"\xff", "cannot be read"),
        (b"", "is empty"),
    ],
)
def test_wrong_rows(folder: Path, train: bytes, said: str) -> None:
    put_news(folder, train=train)
    check_refused(said, SOURCES["ag-news"].load)
