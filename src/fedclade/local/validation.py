"""A client's validation share: training examples that it does not train on, the same ones in every round of a run."""

from dataclasses import replace

from fedclade.data import Part
from fedclade.data.shares import split
from fedclade.nouns import ClientId, Round


def learned(part: Part, now: Round, client: ClientId) -> Part:
    """What is trained on: all, where no share is asked for."""
    return halves(part, now, client)[0]


def judged(part: Part, now: Round, client: ClientId) -> Part:
    """What losses are taken on: the share that is held out; all, where none is asked for."""
    return halves(part, now, client)[1]


def halves(part: Part, now: Round, client: ClientId) -> tuple[Part, Part]:
    """To train on and to take losses on. Who has one example only uses it for both."""
    if not now.validation or len(part) < 2:
        return part, part
    kept, held_out = split(part.index, part.pool.labels, now.validation, (now.seed, "validation", client))
    return replace(part, index=kept), replace(part, index=held_out)
