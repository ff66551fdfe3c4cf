"""MNIST by writer: its training images with the people who wrote them, as QMNIST found out (Yadav, Bottou, 2019).

A tenth of each writer's digits is held out to test with. MNIST's own test images are of other writers and not used.
"""

import numpy as np
from numpy.typing import NDArray

from fedclade.data.examples import Pool, Source
from fedclade.data.sources import mnist
from fedclade.data.sources.finding import Files
from fedclade.data.sources.npz import npz_numbers
from fedclade.nouns import InputError

WRITERS = "mnist_writers.npz"
MOST = 1 << 20  # bytes of an array; MNIST's 60,000 take 0.5e6 as int64

FILES = Files(
    source="mnist-writers",
    layouts=((WRITERS,),),
    folders=("mnist_by_writer", "mnist-writers", ""),
    origin="QMNIST's labels (https://github.com/facebookresearch/qmnist): the writers of MNIST's training images as"
    " writer_train, a tenth of each writer's marked in heldout_train",
)


def mnist_writers() -> Source:
    """Images (1, 28, 28) of the classes 0 to 9 with owners; both pools have the same 539 writers."""
    path = FILES.fetched()[WRITERS]
    whole = mnist.mnist()
    writers, held_out = npz_numbers(path, ("writer_train", "heldout_train"), MOST)
    for name, array in (("writer_train", writers), ("heldout_train", held_out)):
        if len(array) != len(whole.train.labels):
            got, need = f"{len(array):,} of {name}", f"{len(whole.train.labels):,}, one for each image"
            raise InputError("the writers do not fit MNIST", where=str(path), got=got, need=need)
    if not 0 < np.count_nonzero(held_out) < len(held_out):
        raise InputError("one part is empty", where=str(path), need="images held out, and images to learn from")
    train, test = (of_writers(whole.train, writers, np.flatnonzero(part)) for part in (held_out == 0, held_out))
    return Source("mnist-writers", train, classes=10, test=test, class_names=whole.class_names)


def of_writers(pool: Pool, writers: NDArray[np.int64], index: NDArray[np.int64]) -> Pool:
    """These images of the pool, with their writers."""
    return Pool(pool.inputs[index], pool.labels[index], writers[index])
