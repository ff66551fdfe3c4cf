"""Steps instead of epochs: a round's examples are drawn anew, as many as its steps need."""

from dataclasses import replace

import numpy as np

from fedclade.data import Part
from fedclade.nouns import ClientId, Round


def drawn(part: Part, now: Round, client: ClientId) -> tuple[Part, Round]:
    """What is trained on in a round, and how: as asked, or one pass over the examples of `local.steps` full batches.

    Nobody comes twice before everybody came once: a client with few examples goes through them several times.
    """
    if not now.local.steps or not len(part):
        return part, now
    width = min(now.local.batch, len(part))
    wanted = now.local.steps * width
    chance = now.generator("steps", client)
    passes = [chance.permutation(len(part)) for _ in range(-(-wanted // len(part)))]
    once = replace(now, local=replace(now.local, steps=0, batch=width))
    return replace(part, index=part.index[np.concatenate(passes)[:wanted]]), once
