"""The encoders of FLT's paper, trained here once and kept as files: Enc1 covers the clients' classes, Enc2 does not.

Enc1 for digits learns on EMNIST, Enc2 is the one that is shipped (Fashion-MNIST). For CIFAR-10 the paper takes CIFAR-10
with ten classes of CIFAR-100, and twenty other classes of CIFAR-100; where CIFAR-100 is not here, Tiny-ImageNet's ten
classes stand in for it.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fedclade.data import Part
from fedclade.data.registry import SOURCES
from fedclade.nets.encoders import coloured, resized
from fedclade.nets.pretraining import pretrained
from fedclade.nets.shelf import SUFFIX, write
from fedclade.nouns import generator
from fedclade.papers.item import Pretrained, Terms

COLOUR_SIDE = 32  # pixels: images of several sources must be of one size


def first_here(*names: str) -> str:
    """The first of these sources whose files are on this machine; the last one if none is."""
    return next((name for name in names if SOURCES[name].here()), names[-1])


def file_of(encoder: Pretrained, terms: Terms) -> Path:
    """Where an encoder is, or will be."""
    return terms.folder / terms.name / "encoders" / f"{encoder.name}{SUFFIX}"


def make(encoder: Pretrained, terms: Terms, tell: Callable[[str], None]) -> Path:
    """Train it, unless it is there."""
    path = file_of(encoder, terms)
    if path.is_file():
        return path
    inputs = np.concatenate([images_of(source) for source in encoder.sources])
    if encoder.images:
        drawn = generator(0, "encoder", encoder.name).permutation(len(inputs))[: encoder.images]
        inputs = inputs[np.sort(drawn)]

    def watch(epoch: int, error: float) -> None:
        tell(f"encoder {encoder.name}: epoch {epoch}/{encoder.epochs}, error on held-out images {error:.5f}")

    kept = pretrained(inputs, source=" + ".join(encoder.sources), epochs=encoder.epochs, seed=0, watch=watch)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"new-{path.name}")
    write(aside, kept)
    aside.replace(path)
    return path


def images_of(source: str) -> np.ndarray:
    """All training images of a source; colour ones of one size."""
    pool = SOURCES[source].load().train
    images = Part(pool, np.arange(len(pool.labels))).inputs.astype(np.float32)
    if not coloured(images.shape[1:]):
        return images
    flat = resized(images.reshape(-1, *images.shape[-2:]), COLOUR_SIDE)
    return flat.reshape(len(images), 3, COLOUR_SIDE, COLOUR_SIDE)
