"""The real data: counts and shapes as published."""

import numpy as np
import pytest

from data.sources.making import load
from fedclade.data import Pool

pytestmark = pytest.mark.usefixtures("real")


def counts(pool: Pool) -> list[int]:
    return [int(count) for count in np.bincount(pool.labels)]


def test_mnist() -> None:
    source, test = load("mnist")
    assert source.train.inputs.shape == (60_000, 1, 28, 28)
    assert counts(source.train) == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert counts(test) == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert source.train.inputs.mean() / 255 == pytest.approx(0.1307, abs=5e-5)


def test_fashion_mnist() -> None:
    source, test = load("fashion-mnist")
    assert counts(source.train) == [6000] * 10
    assert counts(test) == [1000] * 10
    assert source.train.inputs.mean() / 255 == pytest.approx(0.2860, abs=5e-5)


def test_emnist47() -> None:
    source, test = load("emnist47")
    assert source.train.inputs.shape == (95_495, 1, 28, 28)
    assert (min(counts(source.train)), max(counts(source.train))) == (767, 2400)
    assert counts(test) == [150] * 47
    assert "".join(source.class_names) == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt"
    # Upright: a T has its bar above; a 7 ends further to the left than it begins.
    letter, seven = (
        source.train.inputs[source.train.labels == source.class_names.index(name), 0].mean(0) for name in ("T", "7")
    )
    assert letter[:14].sum() > 1.2 * letter[14:].sum()  # a transposed T has as much above as below
    begins, ends = (float(part.sum(0) @ np.arange(28) / part.sum()) for part in (seven[:14], seven[19:]))
    assert ends < begins - 1


@pytest.mark.slow
def test_cifar10() -> None:
    source, test = load("cifar10")
    assert source.train.inputs.shape == (50_000, 3, 32, 32)
    assert counts(source.train) == [5000] * 10
    assert counts(test) == [1000] * 10
    means = [source.train.inputs[:, channel].mean() / 255 for channel in range(3)]
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


def test_mnist_writers() -> None:
    source, test = load("mnist-writers")
    assert source.train.owners is not None
    assert test.owners is not None
    assert len(np.unique(source.train.owners)) == 539
    assert np.array_equal(np.unique(source.train.owners), np.unique(test.owners))
    assert len(source.train.labels) + len(test.labels) == 60_000
    sizes = np.bincount(np.concatenate((source.train.owners, test.owners)))
    assert (sizes[sizes > 0].min(), sizes.max()) == (19, 131)


def test_ag_news() -> None:
    source, test = load("ag-news")
    assert source.train.inputs.shape[1] == 32
    assert source.train.inputs.max() == 10_001
    assert counts(test) == [1900] * 4
    subset = source.name == "AG-News subset"
    assert counts(source.train) == ([6214, 4525, 4517, 6136] if subset else [30_000] * 4)


def test_tiny_imagenet_10() -> None:
    source, test = load("tiny-imagenet-10")
    assert source.train.inputs.shape == (5000, 3, 64, 64)
    assert counts(source.train) == [500] * 10
    assert counts(test) == [50] * 10
