"""The signature by class moments: of every label the count, the mean in a public basis, and the variance of that mean.

Squared distances are made of them, and each proposes a cut; the one whose groups stand further apart is taken.

joint        between the means of onehot(label) x [1, features]: which labels clients have, and what these look like
conditional  between the means of the labels that both have: what these look like, whatever their shares
product      where a number is learned, between the means of number x features: what it has to do with each of them

All subtract the variances of the means that they compare, so two samples of one distribution have expected distance 0
whatever their sizes; a single estimate may be negative. Each is blind where another sees.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from fedclade.clustering.cuts import NOISE, PairDistances, best_cut
from fedclade.core import ClientId, InputError, Moments, Round, Row, settings
from fedclade.core.moments import concatenate_moments
from fedclade.fleet import Fleet
from fedclade.methods.flt.found_groups import (
    CLIENTS_AT_ONCE,
    NO_WEIGHTS,
    ClientSummaries,
    FoundGroups,
    GroupSearch,
    SketchedClients,
    describe_groups,
    groups_by_landmarks,
    one_group_and_outliers,
)
from fedclade.methods.needs import Needs

PUBLIC_BASIS = "public"  # which every client has
MIN_SEPARATION = 0.55  # what groups need; 0.65 is a stricter choice
MAX_VARIANCE_FACTOR = 10.0  # of the median variance: a larger claim is a lie, and would hide its client
PRIOR_EXAMPLES = 5.0  # examples that the median of a label counts for, against what a client says of its own
BLOCK_NUMBERS = 2**22  # numbers of a table that are worked on at once
HALF_WAY = 0.25  # of a squared distance: half of the way between the two groups that are nearest to each other
LONE_GROUP_REACH = 4.0  # of a squared distance: where there is no other group, twice as far as its farthest member

Matrix64 = NDArray[np.float64]
"""(clients, clients) or (clients, labels), in double precision."""


@settings
class ClassMoments:
    """Clients tell count, mean and variance of every label. Sees features and labels."""

    kind: Literal["class-moments"] = "class-moments"
    """In TOML it says which signature this is."""
    min_label_examples: Annotated[int, Field(ge=1)] = 1
    """A client tells nothing of labels with fewer examples."""
    noise: Annotated[float, Field(ge=0, le=100)] = 0.0
    """Standard errors of noise that a client adds to what it tells of each label; 0: none."""

    def needs(self) -> Needs:
        return Needs()

    def without_tuning(self) -> "ClassMoments":
        """The same: there is no encoder to tune."""
        return self

    def prepare(self, fleet: Fleet, now: Round, latest: Row | None = None) -> Row:
        """No weights: every client has the public basis."""
        return NO_WEIGHTS

    def ask(self, fleet: Fleet, clients: Sequence[ClientId], now: Round, weights: Row) -> SketchedClients:
        """The moments of those of these clients that answer."""
        answer = fleet.moments(clients, PUBLIC_BASIS, self.min_label_examples, self.noise, now)
        return SketchedClients(answer.moments, answer.tokens)

    def find_groups(self, summaries: ClientSummaries, search: GroupSearch) -> FoundGroups:
        """Algorithm 2, on the server."""
        assert isinstance(summaries, Moments)
        return groups_of_moments(summaries, search)

    def places(self, found: FoundGroups, summaries: ClientSummaries) -> "MomentPlaces":
        """Where these groups are, for newcomers."""
        assert isinstance(summaries, Moments)
        return places_of_found(found, summaries)


def groups_of_moments(moments: Moments, search: GroupSearch | None = None) -> FoundGroups:
    """The groups of these clients; below `min_separation` the answer is one group."""
    search = search or GroupSearch()
    if not moments.clients:
        raise InputError("there is no client to compare", need="the moments of at least one")
    if len(moments.clients) > search.max_compared:
        return groups_by_landmarks(moments, search, groups_of_moments, places_of_found)
    ordered = moments.of(sorted(moments.clients))
    kinds = [kind for kind in PROFILES if kind != "product" or ordered.has_products]
    distances = [moment_distances(kind, ordered) for kind in kinds]
    cuts = [best_cut(each, search.max_groups, search.groups) for each in distances]
    best = max(range(len(cuts)), key=lambda number: cuts[number].separation)
    has_groups = cuts[best].separation >= (search.min_separation or MIN_SEPARATION) or search.groups > 1
    partition = cuts[best].groups if has_groups or search.groups else one_group_and_outliers(distances[best])
    return describe_groups(
        partition, distances[best], cuts[best], {cut.kind: cut.separation for cut in cuts}, has_groups
    )


@dataclass(frozen=True, eq=False)
class MomentProfile:
    """Clients in a form in which all squared distances are three matrix products, whatever their kind.

    With weights a, lengths a q and places a m: the sum of a_i a_j (q_i + q_j - 2 m_i m_j) over the sum of a_i a_j.
    """

    weights: Matrix64
    """(clients, labels), or a column of ones."""
    lengths: Matrix64
    """The same times the squared length of each mean, less its variance."""
    places: Matrix64
    """(clients, labels x features): the same times the mean."""
    noise: NDArray[np.float64]
    """(clients,): as in `PairDistances`."""

    def table(self, rows: slice, columns: slice) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The squared distances of these to those, and whether they can be compared; a few rows at a time."""
        first, count, other = rows.start or 0, len(self.noise[rows]), len(self.noise[columns])
        squared, comparable = np.zeros((count, other), np.float32), np.zeros((count, other), bool)
        for block in row_blocks(count, other):
            there = slice(first + block.start, first + block.stop)
            squared[block], comparable[block] = self.products(there, columns)
        return squared, comparable

    def square(self) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The same of all to all: each pair once, and mirrored."""
        count = len(self.noise)
        squared, comparable = np.zeros((count, count), np.float32), np.zeros((count, count), bool)
        for block in row_blocks(count, count):
            beyond = slice(block.start, None)
            squared[block, beyond], comparable[block, beyond] = self.products(block, beyond)
            squared[beyond, block], comparable[beyond, block] = squared[block, beyond].T, comparable[block, beyond].T
        return squared, comparable

    def products(self, rows: slice, columns: slice) -> tuple[Matrix64, NDArray[np.bool_]]:
        """The squared distances of these to those at once, and whether they can be compared."""
        weights, others = self.weights[rows], self.weights[columns].T
        shared = weights @ others
        found = self.lengths[rows] @ others + weights @ self.lengths[columns].T
        found -= 2 * (self.places[rows] @ self.places[columns].T)
        comparable = shared > 0
        return np.divide(found, shared, out=np.zeros_like(found), where=comparable), comparable


def row_blocks(count: int, width: int) -> Iterator[slice]:
    """The rows of a table in blocks of bounded size."""
    step = max(1, BLOCK_NUMBERS // max(width, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def example_variances(moments: Moments) -> Matrix64:
    """(clients, labels): the variance of one example around its label's mean.

    What clients claim is clipped, and drawn to the label's median the harder the fewer examples it is from.
    """
    counts = moments.counts.astype(np.float64)
    has_variance = counts >= 2
    each = np.where(has_variance, moments.variances * counts, np.nan)
    median = float(np.median(each[has_variance])) if has_variance.any() else 0.0
    each = np.minimum(each, MAX_VARIANCE_FACTOR * median)
    usual = np.array(
        [
            np.median(column[~np.isnan(column)]) if has_variance[:, label].any() else median
            for label, column in enumerate(each.T)
        ]
    )
    degrees = np.maximum(counts - 1, 0)
    drawn: Matrix64 = (degrees * np.nan_to_num(each) + PRIOR_EXAMPLES * usual) / (degrees + PRIOR_EXAMPLES)
    return np.where(counts > 0, drawn, 0.0)


def joint_profile(moments: Moments) -> MomentProfile:
    """The means of onehot(label) x [1, features], and the variances of these means."""
    moments = moments.labels_alone()
    counts = moments.counts.astype(np.float64)
    total = np.maximum(counts.sum(axis=1), 1)
    share = counts / total[:, None]
    means = np.concatenate([np.ones((*counts.shape, 1)), moments.means], axis=2)
    square = (means**2).sum(axis=2)
    second = (share * (square + example_variances(moments) * (1 - 1 / np.maximum(counts, 1)))).sum(axis=1)
    first = (share**2 * square).sum(axis=1)
    noise = np.maximum(second - first, 0) / np.maximum(total - 1, 1)
    places = (share[:, :, None] * means).reshape(len(counts), -1)
    places -= np.median(places, axis=0)  # a common offset costs digits; a liar moves no median
    return MomentProfile(np.ones((len(counts), 1)), ((places**2).sum(axis=1) - noise)[:, None], places, noise)


def conditional_profile(moments: Moments) -> MomentProfile:
    """The means of each label, with weight sqrt(n): sqrt(n_i n_j) for a label that two clients share."""
    moments = moments.labels_alone()
    counts = moments.counts.astype(np.float64)
    weights = np.sqrt(counts)
    means = moments.means.astype(np.float64)
    for label in np.flatnonzero(counts.any(axis=0)):  # as above
        means[:, label] -= np.median(means[counts[:, label] > 0, label], axis=0)
    variance = example_variances(moments) / np.maximum(counts, 1)
    lengths = weights * ((means**2).sum(axis=2) - variance)
    places = (weights[:, :, None] * means).reshape(len(counts), -1)
    noise = (counts * variance).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
    return MomentProfile(weights, lengths, places, noise)


def product_profile(moments: Moments) -> MomentProfile:
    """The means of all examples, each times its number."""
    return conditional_profile(moments.products_alone())


PROFILES: dict[str, Callable[[Moments], MomentProfile]] = {
    "joint": joint_profile,
    "conditional": conditional_profile,
    "product": product_profile,
}


def moment_distances(kind: str, moments: Moments) -> PairDistances:
    """All squared distances of one kind: joint, conditional or product."""
    has_moments = moments.counts.sum(axis=1) > 0
    silent = [client for client, has_some in zip(moments.clients, has_moments, strict=True) if not has_some]
    if silent:
        raise InputError(f'client "{silent[0]}" has no moments', need="at least one label with a count")
    profile = PROFILES[kind](moments)
    squared, comparable = profile.square()
    np.fill_diagonal(squared, 0)
    return PairDistances(kind, moments.clients, squared, profile.noise, None if comparable.all() else comparable)


@dataclass(frozen=True, eq=False)
class MomentPlaces:
    """Groups as points to be near to: their pooled moments, and how far each of them reaches."""

    distance: str
    pooled: Moments
    """One line for each group."""
    reach: NDArray[np.float64]
    """(groups,): the squared distance up to which a client belongs there."""

    @property
    def group_count(self) -> int:
        return len(self.reach)

    def nearest(self, newcomers: ClientSummaries) -> dict[ClientId, int | None]:
        assert isinstance(newcomers, Moments)
        places: dict[ClientId, int | None] = {}
        for some in newcomers.pieces(CLIENTS_AT_ONCE):
            squared, comparable, _ = distances_between(self.distance, some, self.pooled)
            squared = np.where(comparable, squared, np.inf)
            near = squared.argmin(axis=1)
            belongs = squared[np.arange(len(near)), near] <= self.reach[near]
            for client, group, fits in zip(some.clients, near, belongs, strict=True):
                places[client] = int(group) if fits else None
        return places

    def with_group(self, one: ClientSummaries) -> "MomentPlaces":
        """One group more, of this client alone; it reaches as far as the shortest of the others, or half of the way."""
        assert isinstance(one, Moments)
        last = replace(one, clients=(str(len(self.reach)),))
        squared, comparable, _ = distances_between(self.distance, one, self.pooled)
        half = HALF_WAY * float(np.where(comparable & (squared > 0), squared, np.inf).min())
        reach = self.reach[self.reach > 0].min(initial=half)
        return MomentPlaces(self.distance, concatenate_moments((self.pooled, last)), np.append(self.reach, reach))

    def without_limits(self) -> "MomentPlaces":
        return replace(self, reach=np.full(len(self.reach), np.inf))


def moment_places(distance: str, moments: Moments, groups: Sequence[Sequence[ClientId]]) -> MomentPlaces:
    """Where these groups are, from the moments of their members."""
    pooled = moments.pool_groups(groups, [str(number) for number in range(len(groups))])
    group_by_client = {client: number for number, members in enumerate(groups) for client in members}
    spread = np.zeros(len(groups))  # the squared distance of the farthest member, at least the noise in it
    for some in moments.pieces(CLIENTS_AT_ONCE):
        squared, _, noise = distances_between(distance, some, pooled)
        for row, client in enumerate(some.clients):
            if (group := group_by_client.get(client)) is not None:
                spread[group] = max(spread[group], squared[row, group], NOISE * noise[row])
    if len(groups) == 1:
        return MomentPlaces(distance, pooled, LONE_GROUP_REACH * spread)
    among, comparable, _ = distances_between(distance, pooled, pooled)
    nearest = float(np.where(comparable & ~np.eye(len(groups), dtype=bool), among, np.inf).min())
    reach = np.maximum(HALF_WAY * nearest, spread) if np.isfinite(nearest) else LONE_GROUP_REACH * spread
    return MomentPlaces(distance, pooled, reach)


def places_of_found(found: FoundGroups, moments: Moments) -> MomentPlaces:
    """Where the groups are that were found in these moments."""
    return moment_places(found.distance, moments, found.partition.members)


def distances_between(
    distance: str, some: Moments, others: Moments
) -> tuple[Matrix64, NDArray[np.bool_], NDArray[np.float64]]:
    """(some, others): the squared distances, whether two can be compared, and the noise of some."""
    profile = PROFILES[distance](concatenate_moments((some, others)))
    count = len(some.clients)
    squared, comparable = profile.table(slice(0, count), slice(count, None))
    return squared.astype(np.float64), comparable, profile.noise[:count]
