"""MNIST and Fashion-MNIST from four small files each."""

from pathlib import Path

import numpy as np
import pytest

from data.sources.making import MNIST_NAMES, load, put_idx
from fedclade.data.registry import SOURCES
from refusals import check_refused


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_images_and_labels(folder: Path, name: str) -> None:
    images, labels, test_images, test_labels = put_idx(folder / name, MNIST_NAMES)
    assert SOURCES[name].is_available()
    assert SOURCES[name].location() == str(folder / name)
    source, test = load(name)
    assert source.name == name
    assert (source.classes, len(source.class_names), source.shape) == (10, 10, (1, 28, 28))
    for pool, inputs, wanted in ((source.train, images, labels), (test, test_images, test_labels)):
        assert pool.inputs.dtype == np.uint8
        assert np.array_equal(pool.inputs[:, 0], inputs)
        assert pool.labels.tolist() == wanted.tolist()


def test_eleven_classes_are_one_too_many(folder: Path) -> None:
    put_idx(folder / "mnist", MNIST_NAMES, train=11)
    check_refused(r"label is out of range, .*train-images.*: got 0 to 10", SOURCES["mnist"].load)
