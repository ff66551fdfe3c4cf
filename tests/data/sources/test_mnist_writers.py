"""MNIST by writer: the held-out images of each writer are the test pool."""

from pathlib import Path

import numpy as np
import pytest

from data.sources.making import MNIST_NAMES, load, put_idx
from fedclade.data.registry import SOURCES
from refusals import check_refused


def put_writers(folder: Path, writers: list[int], held_out: list[bool]) -> None:
    (folder / "mnist_by_writer").mkdir(exist_ok=True)
    path = folder / "mnist_by_writer" / "mnist_writers.npz"
    np.savez(path, writer_train=np.array(writers, np.int16), heldout_train=np.array(held_out))


def test_pools_by_writer(folder: Path) -> None:
    images, *_ = put_idx(folder / "mnist", MNIST_NAMES)
    put_writers(folder, [7, 3, 7, 3, 3, 7], [False, False, True, True, False, False])
    assert SOURCES["mnist-writers"].is_available()
    source, test = load("mnist-writers")
    assert source.train.owners is not None
    assert test.owners is not None
    assert source.train.owners.tolist() == [7, 3, 3, 7]
    assert test.owners.tolist() == [7, 3]
    assert source.train.labels.tolist() == [0, 1, 4, 5]  # the images of `put_idx` are numbered
    assert np.array_equal(test.inputs[:, 0], images[2:4])


@pytest.mark.parametrize(
    ("writers", "held_out", "said"),
    [
        ([1] * 5, [True] * 6, "do not fit MNIST, .*: got 5 of writer_train, need 6"),
        ([1] * 6, [True] * 7, "do not fit MNIST, .*: got 7 of heldout_train, need 6"),
        ([1] * 6, [True] * 6, "one part is empty"),
        ([1] * 6, [False] * 6, "one part is empty"),
    ],
)
def test_writers_must_fit(folder: Path, writers: list[int], held_out: list[bool], said: str) -> None:
    put_idx(folder / "mnist", MNIST_NAMES)
    put_writers(folder, writers, held_out)
    check_refused(said, SOURCES["mnist-writers"].load)


def test_writers_without_mnist(folder: Path) -> None:
    put_writers(folder, [1], [True])
    assert not SOURCES["mnist-writers"].is_available()
    check_refused("source mnist:", SOURCES["mnist-writers"].load)
