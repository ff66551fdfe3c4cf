"""Fine-tuning an encoder on a client's own data: the autoencoder learns to give them back (FLT's Algorithm 2, MODE)."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from fedclade.data import Part, Pool
from fedclade.local.plan import Path, plan
from fedclade.nets.convae import autoencoder
from fedclade.nets.encoders import fitted
from fedclade.nouns import ClientId, LocalTraining, Round, Row

HOW = LocalTraining(batch=10, lr=0.3, momentum=0.9)  # the error is a mean over pixels: its gradients are small


def tuned(kind: str, weights: Row, part: Part, epochs: int, now: Round, client: ClientId) -> tuple[Row, float]:
    """All weights of the autoencoder after so many epochs on the client's images, and the error in the last one."""
    images = Part(Pool(fitted(part.inputs, kind), np.zeros(len(part), np.int64)), np.arange(len(part)))
    how = replace(now, local=replace(HOW, epochs=epochs), proximal=0.0)
    return path(kind).train(weights, images, how, client)


@lru_cache(maxsize=2)
def path(kind: str) -> Path:
    """How autoencoders of this kind are trained here."""
    return plan(autoencoder(kind))
