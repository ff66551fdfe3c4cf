"""Which clients belong together, from their class moments: the one-shot step, with the number of groups found too.

Joint and conditional distances each propose a cut; the one whose groups stand further apart is taken, and if even that
is below the gate the answer is one group. Joint distances see which labels clients have, conditional ones see through
different shares of labels: each is blind where the other sees.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.nouns import ClientId, Groups, InputError, Moments, Points, generator
from fedclade.nouns.html import html_table, some
from fedclade.relate.cut import MOST, NOISE, Cut, best_cut
from fedclade.relate.moments import Apart, conditional, joint
from fedclade.relate.places import atlas

GATE = 0.55  # what passes; 0.65 is a stricter choice
LANDMARKS = 10_000  # clients that are compared with each other; memory and time grow with their square
FAR = 4.0  # a stray is so many times as far from the others as two of them usually are


@dataclass(frozen=True, eq=False)
class Found:
    """The groups that were found, and the figures behind them."""

    partition: Groups
    """Everybody; an outlier is a group of its own."""
    kind: str
    """The distance that separates best."""
    gates: dict[str, float]
    """For each distance, how well its best cut separates: -1 to 1."""
    passed: bool
    """Whether that was enough to say that there are groups."""
    silhouettes: dict[int, float]
    """The mean silhouette for each number of groups, outliers counted."""
    clients: tuple[ClientId, ...]
    """Whose rows and columns the distances are of."""
    squared: NDArray[np.float32]
    """(clients, clients): unbiased squared distances; about 0 for clients that are alike, and sometimes below."""
    tree: NDArray[np.float64]
    """scipy's linkage of these clients."""
    order: tuple[ClientId, ...]
    """The clients in the order of the tree's leaves."""
    sketches: Points | None = None
    """The points behind the distances, where they were embedded or as they were sent; None for class moments."""

    @property
    def groups(self) -> tuple[tuple[ClientId, ...], ...]:
        """The groups, outliers left out; a single client is a group if there is no other."""
        large = tuple(members for members in self.partition.members if len(members) > 1)
        return large or self.partition.members

    @property
    def outliers(self) -> tuple[ClientId, ...]:
        """Clients that are like nobody."""
        inside = {client for members in self.groups for client in members}
        return tuple(client for client in self.partition.clients if client not in inside)

    @property
    def count(self) -> int:
        """How many groups there are, outliers left out."""
        return len(self.groups)

    @property
    def confidence(self) -> float:
        """From 0 to 1: the gate's value if groups were found, else how far it is from 1.

        0 where nothing could be judged: fewer than three clients, none that can be compared, or one group asked for.
        """
        if not self.silhouettes:
            return 0.0
        best = min(max(self.gates.values(), default=0.0), 1.0)
        return best if self.passed else 1 - max(best, 0.0)

    def _repr_html_(self) -> str:
        rows = [(str(number), str(len(group)), some(group)) for number, group in enumerate(self.groups)]
        rows += [("alone", str(len(self.outliers)), some(self.outliers))] if self.outliers else []
        return html_table(f"{self.count} groups, confidence {self.confidence:.2f}", ("group", "clients", "who"), rows)

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(members)) for members in self.groups)
        return f"Found({self.count} groups of {sizes} clients, {len(self.outliers)} outliers, {self.confidence:.2f})"


def discover(
    moments: Moments, *, gate: float = GATE, most: int = MOST, groups: int = 0, landmarks: int = LANDMARKS
) -> Found:
    """The groups of these clients; so many of them, if `groups` says how many there are.

    Of more clients than `landmarks`, so many are compared, and the rest is placed.
    """
    if not moments.clients:
        raise InputError("there is nobody to compare", need="the moments of at least one client")
    if len(moments.clients) > landmarks:
        return by_landmarks(moments, gate, most, landmarks, groups)
    ordered = moments.of(sorted(moments.clients))
    apart = [joint(ordered), conditional(ordered)]
    cuts = [best_cut(each, most, groups) for each in apart]
    best = max(range(len(cuts)), key=lambda number: cuts[number].gate)
    passed = cuts[best].gate >= gate or groups > 1
    partition = cuts[best].groups if passed or groups else without_strays(apart[best])
    return found(partition, apart[best], cuts[best], {cut.kind: cut.gate for cut in cuts}, passed)


def by_landmarks(moments: Moments, gate: float, most: int, landmarks: int, groups: int = 0) -> Found:
    """The groups of some clients, drawn by their number alone, and everybody else with the nearest of them.

    Who is unlike all groups is an outlier. The figures are those of the clients that were compared.
    """
    ordered = sorted(moments.clients)
    drawn = generator(len(ordered), "landmarks").choice(len(ordered), landmarks, replace=False)
    chosen = [ordered[number] for number in np.sort(drawn)]
    among = discover(moments.of(chosen), gate=gate, most=most, groups=groups, landmarks=landmarks)
    members = among.partition.members
    places = atlas(among.kind, moments.of(chosen), members)
    if groups:  # as many as were asked for: nobody begins one more
        places = replace(places, reach=np.full(len(members), np.inf))
    labels = dict(among.partition.labels)
    rest = sorted(set(ordered) - set(chosen))
    for client, near in places.nearest(moments.of(rest)).items():
        labels[client] = len(members) + len(labels) if near is None else near
    return replace(among, partition=Groups.from_labels(labels))


def found(partition: Groups, apart: Apart, cut: Cut, gates: dict[str, float], passed: bool) -> Found:
    """What was found, with the figures of one distance."""
    return Found(
        partition, apart.kind, gates, passed, cut.silhouettes, apart.clients, apart.squared, cut.tree, cut.order
    )


def without_strays(apart: Apart) -> Groups:
    """One group, and everybody who is far from most of the others as a group of its own."""
    if len(apart.clients) < 4:
        return Groups((apart.clients,))
    usual = np.full(len(apart.clients), np.inf)  # somebody who can be compared with nobody is far
    for row, squared in enumerate(apart.squared):
        others = np.arange(len(usual)) != row
        if apart.known is not None:
            others &= apart.known[row]
        if others.any():
            floor = NOISE * (apart.noise[row] + apart.noise[others])
            usual[row] = np.median(np.maximum(squared[others], floor))
    far = usual > FAR**2 * np.median(usual)
    labels = {client: number + 1 if far[number] else 0 for number, client in enumerate(apart.clients)}
    return Groups.from_labels(labels)
