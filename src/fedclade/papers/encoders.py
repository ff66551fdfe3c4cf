"""The encoders of FLT's paper, trained here once and kept as files: Enc1 covers the clients' classes, Enc2 does not.

Enc1 for digits learns on EMNIST, Enc2 is the one that is shipped (Fashion-MNIST). For CIFAR-10 the paper takes CIFAR-10
with ten classes of CIFAR-100, and twenty other classes of CIFAR-100; where CIFAR-100 is not here, Tiny-ImageNet's ten
classes stand in for it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedclade.data import Part
from fedclade.data.registry import SOURCES
from fedclade.nets.encoders import coloured, resized
from fedclade.nets.pretraining import pretrained
from fedclade.nets.shelf import SUFFIX, write
from fedclade.nouns import InputError, generator
from fedclade.papers.item import Pretrained, Terms, keyed
from fedclade.papers.keeping import kept
from fedclade.papers.plans import tiny_encoder
from fedclade.runs.loop import Progress, Watch
from fedclade.runs.run import unwatched

COLOUR_SIDE = 32  # pixels: images of several sources must be of one size


def first_here(*names: str) -> str:
    """The first of these sources whose files are on this machine; if none is, the first that anybody can fetch."""
    here = (name for name in names if SOURCES[name].here())
    fetchable = (name for name in names if all(files.official for files in SOURCES[name].files))
    return next(here, next(fetchable, names[0]))


def file_of(encoder: Pretrained, terms: Terms) -> Path:
    """Where an encoder is, or will be; one of another recipe is in another file."""
    return terms.folder / terms.name / "encoders" / f"{keyed(as_made(encoder, terms))}{SUFFIX}"


def as_made(encoder: Pretrained, terms: Terms) -> Pretrained:
    """What is really trained."""
    return tiny_encoder(encoder) if terms.scale == "tiny" else encoder


def make(encoder: Pretrained, terms: Terms, watch: Watch = unwatched) -> Path:
    """Train it, unless it is there."""
    encoder = as_made(encoder, terms)

    def told(epoch: int, _: float) -> None:
        watch(Progress(epoch, encoder.epochs, None))

    def made(path: Path) -> None:
        inputs = np.concatenate([images_of(source, encoder.classes.get(source, ())) for source in encoder.sources])
        if encoder.images:
            drawn = generator(0, "encoder", encoder.name).permutation(len(inputs))[: encoder.images]
            inputs = inputs[np.sort(drawn)]
        write(path, pretrained(inputs, source=" + ".join(encoder.sources), epochs=encoder.epochs, seed=0, watch=told))

    return kept(file_of(encoder, terms), made)


def images_of(source: str, classes: Sequence[int] = ()) -> np.ndarray:
    """The training images of a source, of these classes or of all; colour ones of one size."""
    pool = SOURCES[source].load().train
    wanted = np.flatnonzero(np.isin(pool.labels, classes)) if classes else np.arange(len(pool.labels))
    if not len(wanted):
        got = ", ".join(map(str, classes))
        raise InputError("there are no images of these classes", where=f"source {source}", got=got, need="its classes")
    images = Part(pool, wanted).inputs.astype(np.float32)
    if not coloured(images.shape[1:]):
        return images
    flat = resized(images.reshape(-1, *images.shape[-2:]), COLOUR_SIDE)
    return flat.reshape(len(images), 3, COLOUR_SIDE, COLOUR_SIDE)
