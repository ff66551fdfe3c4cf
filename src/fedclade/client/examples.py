"""The examples that a client trains on in a round, and those that it takes losses on.

A validation share is not trained on: the same examples in every round of a run. With steps instead of epochs, a round's
examples are drawn anew, as many as its steps need.
"""

from dataclasses import replace

import numpy as np

from fedclade.core import ClientId, Round
from fedclade.data import Part
from fedclade.data.shares import split


def training_part(part: Part, now: Round, client: ClientId) -> Part:
    """The examples to train on: all, where no validation share is asked for."""
    return training_and_validation(part, now, client)[0]


def validation_part(part: Part, now: Round, client: ClientId) -> Part:
    """The examples to take losses on: the share that is held out; all, where none is asked for."""
    return training_and_validation(part, now, client)[1]


def training_and_validation(part: Part, now: Round, client: ClientId) -> tuple[Part, Part]:
    """Both parts. A client that has one example only uses it for both."""
    if not now.validation or len(part) < 2:
        return part, part
    kept, held_out = split(part.index, part.pool.labels, now.validation, (now.seed, "validation", client))
    return replace(part, index=kept), replace(part, index=held_out)


def draw_steps(part: Part, now: Round, client: ClientId) -> tuple[Part, Round]:
    """The examples of a round, and how they are trained on: as asked, or one pass over `local.steps` full batches.

    No example comes twice before all came once: a client with few examples goes through them several times.
    """
    if not now.local.steps or not len(part):
        return part, now
    width = min(now.local.batch, len(part))
    wanted = now.local.steps * width
    rng = now.generator("steps", client)
    passes = [rng.permutation(len(part)) for _ in range(-(-wanted // len(part)))]
    once = replace(now, local=replace(now.local, steps=0, batch=width))
    return replace(part, index=part.index[np.concatenate(passes)[:wanted]]), once
