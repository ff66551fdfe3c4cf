"""The examples that a client trains on in a round, and those that it takes losses on.

A run may hold a share out, of which its method knows nothing; a method may ask for a validation share of the others.
Neither is trained on: the same examples in every round of a run. With steps instead of epochs, a round's
examples are drawn anew, as many as its steps need; or a round takes the next batches of an epoch that several rounds go
through.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Round, generator
from fedclade.data import ClientData, Part
from fedclade.data.shares import split
from fedclade.wire.verbs import VALIDATE


def training_part(part: Part, now: Round, client: ClientId) -> Part:
    """The examples to train on: all, where no validation share is asked for."""
    return training_and_validation(part, now, client)[0]


def validation_part(part: Part, now: Round, client: ClientId) -> Part:
    """The examples to take losses on: the share that is held out; all, where none is asked for."""
    return training_and_validation(part, now, client)[1]


def data_for(verb: str, data: ClientData, now: Round, client: ClientId) -> ClientData:
    """What a request of this verb is answered from: where a share is held out, `validate` alone is tested on it."""
    kept, held_out = split_held_out(data.train, now, client)
    if verb == VALIDATE.name:
        return replace(data, test=held_out)
    return data if kept is data.train else replace(data, train=kept)


def split_held_out(part: Part, now: Round, client: ClientId) -> tuple[Part, Part]:
    """The training examples that are left where a share is held out, and that share; one example only is both."""
    if not now.held_out or len(part) < 2:
        return part, part
    kept, held_out = split(part.index, part.pool.labels, now.held_out, (now.seed, "held out", client))
    return replace(part, index=kept), replace(part, index=held_out)


def trained_examples(part: Part, now: Round, client: ClientId) -> Part:
    """The training examples that are trained on in a run: less those held out, and those its method validates on."""
    return training_part(split_held_out(part, now, client)[0], now, client)


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
