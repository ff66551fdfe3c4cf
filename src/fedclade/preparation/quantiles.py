"""Quantiles of all clients' numbers together, from counts between thresholds alone.

The first thresholds are powers of ten; then the intervals that hold much are cut finer, where it is needed, until each
holds little or is narrow. An interval that stays heavy holds one value many times: its mean is that value. An interval
in which the last few values lie is not cut: of one that is far out, only its power of ten is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedclade.core import ClientId, Round
from fedclade.core.preparation import Numbers
from fedclade.fleet import Fleet

POWERS = 10.0 ** np.arange(-30, 39)
FIRST_THRESHOLDS = np.concatenate([-POWERS[::-1], [0.0], POWERS])
MIN_TAIL = 5  # values: where fewer lie at the end of all, nothing finer is asked
NEW_THRESHOLDS = 128  # of a column in one trip
MAX_TRIPS = 8
MAX_SHARE = 0.004  # of the values: a heavier interval is cut
MIN_WIDTH = 1e-9  # of an interval, against its place: a narrower one is not cut
TINY = 1e-30  # smaller numbers count as one
DIGITS = 12  # that a value is told to


@dataclass(frozen=True, eq=False)
class Sketch:
    """How many values lie in which interval."""

    edges: NDArray[np.float64]
    """(thresholds,) rising."""
    counts: NDArray[np.int64]
    """(thresholds + 1,): up to the first one, between two, above the last one."""
    values: NDArray[np.float64]
    """(thresholds + 1,): the value that stands for an interval; NaN where it holds many."""

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def quantile(self, share: float) -> float:
        """A value that so large a share of all values does not exceed."""
        if not self.total:
            return 0.0
        sums = np.cumsum(self.counts)
        wanted = max(share * self.total, 0.5)
        place = int(np.searchsorted(sums, wanted, side="left"))
        if not np.isnan(self.values[place]):
            return float(self.values[place])
        low, high = self.bounds(place)
        inside = (wanted - (sums[place] - self.counts[place])) / self.counts[place]
        return low + float(inside) * (high - low)

    def edge(self, share: float) -> float:
        """A threshold near a quantile: where one value comes many times, just above it, and never between its rows."""
        if not self.total:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.counts), max(share * self.total, 0.5), side="left"))
        return self.quantile(share) if np.isnan(self.values[place]) else self.bounds(place)[1]

    def ends_of_values(self) -> list[float]:
        """Thresholds between all values, if each is told apart but for those far out; none if it is not."""
        known = (self.counts == 0) | ~np.isnan(self.values) | is_tail(self.counts)
        places = np.flatnonzero((self.counts > 0) & ~np.isnan(self.values))
        if not known.all() or not len(places):
            return []
        return sorted({edge for place in places.tolist() for edge in self.bounds(place)})

    def bounds(self, place: int) -> tuple[float, float]:
        """The ends of an interval; one that is open ends where it begins."""
        low = self.edges[max(place - 1, 0)]
        high = self.edges[min(place, len(self.edges) - 1)]
        return float(low), float(high)

    def tail_share(self, share: float) -> float:
        """So large a share, or a larger one that a few values far out are not all of."""
        return min(max(share, MIN_TAIL / max(self.total, 1)), 0.25)

    def outer(self) -> tuple[float, float]:
        """Between which edges all values lie but a few on each side; twice one value, where there is no other."""
        places = np.flatnonzero(~is_tail(self.counts) & (self.counts > 0))
        if not len(places):
            return 0.0, 0.0
        if len(places) == 1 and not np.isnan(self.values[places[0]]):
            return float(self.values[places[0]]), float(self.values[places[0]])
        return self.bounds(int(places[0]))[0], self.bounds(int(places[-1]))[1]


def sketch_numbers(
    fleet: Fleet, clients: Sequence[ClientId], numbers: Sequence[Numbers], whole: Sequence[bool], now: Round
) -> list[Sketch]:
    """A sketch of each column; of whole numbers an interval holds one at the last."""
    edges = [FIRST_THRESHOLDS + (0.5 if each else 0.0) for each in whole]
    edges = [
        np.unique(np.round(each - 0.5) + 0.5) if is_whole else each for each, is_whole in zip(edges, whole, strict=True)
    ]
    counts = count(fleet, clients, numbers, edges, now)
    for _ in range(MAX_TRIPS):
        finer = [cut(*each) for each in zip(edges, counts, whole, strict=True)]
        open_columns = [place for place, added in enumerate(finer) if len(added)]
        if not open_columns:
            break
        for place in open_columns:
            edges[place] = np.union1d(edges[place], finer[place])
        found = count(
            fleet, clients, [numbers[place] for place in open_columns], [edges[place] for place in open_columns], now
        )
        for place, now_there in zip(open_columns, found, strict=True):
            counts[place] = now_there
        for place in open_columns:
            edges[place], counts[place] = drop_empty(edges[place], counts[place])
    return with_values(fleet, clients, numbers, edges, counts, whole, now)


def count(
    fleet: Fleet,
    clients: Sequence[ClientId],
    numbers: Sequence[Numbers],
    edges: Sequence[NDArray[np.float64]],
    now: Round,
) -> list[NDArray[np.int64]]:
    """(thresholds + 1,) for each column."""
    found = fleet.column_counts(clients, [*zip(numbers, [each.tolist() for each in edges], strict=True)], now)
    return [each[:, 0] for each in found]


def drop_empty(edges: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Without the edges between two empty intervals."""
    kept = (counts[:-1] > 0) | (counts[1:] > 0)
    kept[[0, -1]] = True
    pieces = np.add.reduceat(counts, np.flatnonzero(np.concatenate([[True], kept])))
    return edges[kept], pieces


def is_heavy(edges: NDArray[np.float64], counts: NDArray[np.int64], whole: bool) -> NDArray[np.bool_]:
    """(thresholds + 1,): whether an interval holds much, and is wide enough to be cut; the outer ones have no width."""
    widths = np.diff(edges)
    narrow = np.maximum(np.abs(edges[:-1]), np.abs(edges[1:])) * MIN_WIDTH
    wide = widths > (np.maximum(narrow, 1.0) if whole else np.maximum(narrow, TINY))
    inner: NDArray[np.bool_] = holds_much(counts) & np.concatenate([[False], wide, [False]])
    return inner


def holds_much(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(thresholds + 1,)"""
    heavy: NDArray[np.bool_] = (counts > max(MAX_SHARE * counts.sum(), 1)) & ~is_tail(counts)
    return heavy


def is_tail(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(thresholds + 1,): whether an interval, with all that lies further out on one side, holds only a few values."""
    tail: NDArray[np.bool_] = (np.cumsum(counts) < MIN_TAIL) | (np.cumsum(counts[::-1])[::-1] < MIN_TAIL)
    return tail


def cut(edges: NDArray[np.float64], counts: NDArray[np.int64], whole: bool) -> NDArray[np.float64]:
    """New thresholds inside heavy intervals: the more, the more an interval holds."""
    heavy = np.flatnonzero(is_heavy(edges, counts, whole))
    if not len(heavy):
        return np.zeros(0)
    shares = counts[heavy] / counts[heavy].sum()
    added: list[NDArray[np.float64]] = []
    for place, share in zip(heavy, shares, strict=True):
        inside = np.linspace(edges[place - 1], edges[place], 2 + max(1, int(share * NEW_THRESHOLDS)))[1:-1]
        added.append(np.floor(inside) + 0.5 if whole else inside)
    return np.setdiff1d(np.concatenate(added), edges)


def with_values(
    fleet: Fleet,
    clients: Sequence[ClientId],
    numbers: Sequence[Numbers],
    edges: Sequence[NDArray[np.float64]],
    counts: Sequence[NDArray[np.int64]],
    whole: Sequence[bool],
    now: Round,
) -> list[Sketch]:
    """The sketches, with the value of each interval that is heavy because one value comes many times."""
    values = [np.full(len(each), np.nan) for each in counts]
    asked: list[tuple[int, int]] = []
    for column, (limits, there, is_whole) in enumerate(zip(edges, counts, whole, strict=True)):
        if is_whole:
            single = np.concatenate([[False], np.diff(limits) <= 1, [False]])
            values[column][single] = np.floor(np.append(limits, 0.0))[single]
            continue
        heavy = np.flatnonzero(holds_much(there))
        asked += [(column, int(place)) for place in heavy if 0 < place < len(limits)]
    if asked:
        bounds = [(numbers[column], *edges[column][place - 1 : place + 1].tolist()) for column, place in asked]
        sums = fleet.column_sums(clients, [(each, low, high, low) for each, low, high in bounds], now).sums
        for (column, place), (_, low, high), total in zip(asked, bounds, sums.tolist(), strict=True):
            above = int(counts[column][place + 1 :].sum())
            mean = low + (total - above * (high - low)) / int(counts[column][place])
            values[column][place] = round_value(min(max(mean, low), high), high - low)
    return [Sketch(*each) for each in zip(edges, counts, values, strict=True)]


def round_value(value: float, width: float) -> float:
    """To twelve digits, or to a millionth of its interval: rounding of sums would make it another value."""
    size = max(abs(value), width * 1e-6, TINY)
    digits = DIGITS - 1 - int(np.floor(np.log10(size)))
    return round(value, min(digits, 300)) + 0.0
