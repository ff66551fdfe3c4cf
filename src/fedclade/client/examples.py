"""The examples that a client trains on in a round, and those that it takes losses on.

A validation share is not trained on: the same examples in every round of a run. With steps instead of epochs, a round's
examples are drawn anew, as many as its steps need; or a round takes the next batches of an epoch that several rounds go
through.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Round, generator
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

    Steps from epochs are as asked too: `orders` finds their place.

    No example comes twice before all came once: a client with few examples goes through them several times.
    """
    if not now.local.steps or now.local.steps_from == "epochs" or not len(part):
        return part, now
    width = min(now.local.batch, len(part))
    wanted = now.local.steps * width
    rng = now.generator("steps", client)
    passes = [rng.permutation(len(part)) for _ in range(-(-wanted // len(part)))]
    once = replace(now, local=replace(now.local, steps=0, batch=width))
    return replace(part, index=part.index[np.concatenate(passes)[:wanted]]), once


def orders(count: int, now: Round, client: ClientId) -> Iterator[NDArray[np.int64]]:
    """The places of `count` examples in the order of training, one array after another; each is cut into batches.

    An array is an epoch; with steps from epochs, as much of one as belongs to this round. That is a function of the
    round's number: a client that does not take part in a round does not make up for its batches.
    """
    how = now.local
    if how.steps_from == "draws":
        rng = now.generator("batches", client)
        yield from (rng.permutation(count) for _ in range(how.epochs))
        return
    in_epoch = -(-count // how.batch)  # batches
    first = max(now.number - 1, 0) * how.steps
    last = first + how.steps
    while first < last:
        epoch, begin = divmod(first, in_epoch)
        end = min(begin + last - first, in_epoch)
        yield generator(now.seed, epoch, "epoch", client).permutation(count)[begin * how.batch : end * how.batch]
        first += end - begin
