"""Scores that are known already: clients of a group may be tested on the very same examples, with the same model."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedclade.data import Part
from fedclade.nouns import Row

MOST = 32  # scores
MOST_BYTES = 50_000_000  # of models
LOOKED_AT = 16  # numbers of a model by which it is found again; all are compared before it is believed
Score = tuple[int, float]


@dataclass(frozen=True, eq=False)
class Known:
    """One score, and what it is of."""

    row: Row
    part: Part
    """Kept, so that nothing else can be in its place in memory."""
    score: Score


class Remembered:
    """The latest scores. Parts are the same if they are views of the same arrays."""

    def __init__(self, score: Callable[[Row, Part], Score]) -> None:
        self._score = score
        self._known: OrderedDict[tuple[object, ...], Known] = OrderedDict()

    def __call__(self, row: Row, part: Part) -> Score:
        """How many examples the model gets right, and its mean loss."""
        glance = row[:: max(1, len(row) // LOOKED_AT)].tobytes()
        key = (id(part.pool), id(part.index), id(part.relabel), part.quarter_turns, glance)
        known = self._known.get(key)
        if known is None or not np.array_equal(known.row, row):
            known = Known(row.copy(), part, self._score(row, part))
            self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > max(1, min(MOST, MOST_BYTES // max(row.nbytes, 1))):
            self._known.popitem(last=False)
        return known.score
