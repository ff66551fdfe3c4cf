"""Fine-tuning an encoder on a client's own data: the autoencoder learns to give them back (FLT's Algorithm 2, MODE)."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from fedclade.client.general import RowAndLoss, Training
from fedclade.client.plan import TrainingPath, choose_path
from fedclade.core import ClientId, LocalTraining, Round, Row
from fedclade.core.training import SGD
from fedclade.data import Part, Pool
from fedclade.nets.convae import autoencoder
from fedclade.nets.encoders import prepare_images

# The error is a mean over pixels: its gradients are small.
TUNING = LocalTraining(batch=10, lr=0.3, optimizer=SGD(momentum=0.9))


def tune_encoder(kind: str, weights: Row, part: Part, epochs: int, now: Round, client: ClientId) -> RowAndLoss:
    """All weights of the autoencoder after so many epochs on the client's images, and the error in the last one."""
    images = Part(Pool(prepare_images(part.inputs, kind), np.zeros(len(part), np.int64)), np.arange(len(part)))
    how = replace(now, local=replace(TUNING, epochs=epochs), proximal=0.0)
    return tuning_path(kind).train(Training(weights, images, how, client))


@lru_cache(maxsize=2)
def tuning_path(kind: str) -> TrainingPath:
    """How autoencoders of this kind are trained here."""
    return choose_path(autoencoder(kind))
