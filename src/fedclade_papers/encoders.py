"""The encoders of FLT's paper: Enc1 covers the clients' classes, Enc2 does not.

Enc1 for digits learns on EMNIST, Enc2 is the one that is shipped (Fashion-MNIST). For CIFAR-10 the paper takes CIFAR-10
with ten classes of CIFAR-100, and twenty other classes of CIFAR-100; where CIFAR-100 is not here, Tiny-ImageNet's ten
classes stand in for it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedclade.core import InputError, generator
from fedclade.data import Part
from fedclade.data.registry import SOURCES
from fedclade.nets.encoders import has_colour, resize_images
from fedclade.nets.pretraining import pretrain_encoder
from fedclade.nets.weight_files import write
from fedclade.runs.loop import ProgressCallback, RunProgress
from fedclade_papers.item import EncoderRecipe

COLOUR_SIDE = 32  # pixels: images of several sources must be of one size


def first_available(*names: str) -> str:
    """The first of these sources whose files are on this machine; if none is, the first that can be fetched."""
    here = (name for name in names if SOURCES[name].is_available())
    fetchable = (name for name in names if all(files.official for files in SOURCES[name].files))
    return next(here, next(fetchable, names[0]))


def train_encoder(recipe: EncoderRecipe, path: Path, watch: ProgressCallback) -> None:
    """Train an encoder, and write it to this file."""

    def report_epoch(epoch: int, _: float) -> None:
        watch(RunProgress(epoch, recipe.epochs, None))

    inputs = np.concatenate([images_of(source, recipe.classes.get(source, ())) for source in recipe.sources])
    if recipe.images:
        drawn = generator(0, "encoder", recipe.name).permutation(len(inputs))[: recipe.images]
        inputs = inputs[np.sort(drawn)]
    source = " + ".join(recipe.sources)
    write(path, pretrain_encoder(inputs, source=source, epochs=recipe.epochs, seed=0, progress=report_epoch))


def images_of(source: str, classes: Sequence[int] = ()) -> np.ndarray:
    """The training images of a source, of these classes or of all; colour ones of one size."""
    pool = SOURCES[source].load().train
    wanted = np.flatnonzero(np.isin(pool.labels, classes)) if classes else np.arange(len(pool.labels))
    if not len(wanted):
        got = ", ".join(map(str, classes))
        raise InputError("there are no images of these classes", where=f"source {source}", got=got, need="its classes")
    images = Part(pool, wanted).inputs.astype(np.float32)
    if not has_colour(images.shape[1:]):
        return images
    flat = resize_images(images.reshape(-1, *images.shape[-2:]), COLOUR_SIDE)
    return flat.reshape(len(images), 3, COLOUR_SIDE, COLOUR_SIDE)
