"""MNIST by writer: its training images with the people who wrote them, as QMNIST found out (Yadav, Bottou, 2019).

A tenth of each writer's digits is held out to test with. MNIST's own test images are of other writers and not used.
"""

import numpy as np

from fedclade.core import InputError
from fedclade.data.examples import Pool, Source
from fedclade.data.sources import mnist
from fedclade.data.sources.npz import npz_numbers
from fedclade.data.sources.source_files import Files

WRITERS = "mnist_writers.npz"
MAX_BYTES = 1 << 20  # bytes of an array; MNIST's 60,000 take 0.5e6 as int64

FILES = Files(
    source="mnist-writers",
    layouts=((WRITERS,),),
    folders=("mnist_by_writer", "mnist-writers", ""),
    origin="QMNIST's labels (https://github.com/facebookresearch/qmnist): the writers of MNIST's training images as"
    " writer_train, a tenth of each writer's marked in heldout_train",
)


def mnist_writers() -> Source:
    """Images (1, 28, 28) of the classes 0 to 9 with owners; both pools have the same 539 writers."""
    path = FILES.find_or_fetch()[WRITERS]
    whole = mnist.mnist()
    writers, held_out = npz_numbers(path, ("writer_train", "heldout_train"), MAX_BYTES)
    for name, array in (("writer_train", writers), ("heldout_train", held_out)):
        if len(array) != len(whole.train.labels):
            got, need = f"{len(array):,} of {name}", f"{len(whole.train.labels):,}, one for each image"
            raise InputError("the writers do not fit MNIST", where=str(path), got=got, need=need)
    if not 0 < np.count_nonzero(held_out) < len(held_out):
        raise InputError("one part is empty", where=str(path), need="images held out, and images to learn from")
    images, labels = whole.train.inputs, whole.train.labels
    train, test = (Pool(images[part], labels[part], writers[part]) for part in (held_out == 0, held_out != 0))
    return Source("mnist-writers", train, classes=10, test=test, class_names=whole.class_names)
