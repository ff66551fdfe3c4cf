"""What clients tell of their data, whichever it is: class moments or points; and where newcomers belong by it."""

from collections.abc import Sequence

from fedclade.nouns import ClientId, Moments, Points
from fedclade.relate.places import Atlas, atlas
from fedclade.relate.point_places import PointAtlas, point_atlas

Told = Moments | Points
Places = Atlas | PointAtlas


def places_of(kind: str, told: Told, groups: Sequence[Sequence[ClientId]]) -> Places:
    """Where each of these groups is, whose members told this."""
    return point_atlas(told, groups) if isinstance(told, Points) else atlas(kind, told, groups)


def nearest_groups(places: Places, told: Told) -> dict[ClientId, int | None]:
    """The nearest group of each client, as its number; None: unlike anybody."""
    if isinstance(places, PointAtlas):
        assert isinstance(told, Points)
        return places.nearest(told)
    assert isinstance(told, Moments)
    return places.nearest(told)


def with_group(places: Places, told: Told) -> Places:
    """One group more, of this client alone."""
    if isinstance(places, PointAtlas):
        assert isinstance(told, Points)
        return places.joined(told)
    assert isinstance(told, Moments)
    return places.joined(told)


def settled(places: Places, told: Told, *, strangers_begin_groups: bool) -> tuple[Places, dict[ClientId, int | None]]:
    """The nearest group of each client, one after the other: a stranger may begin one, for others to join."""
    found: dict[ClientId, int | None] = {}
    while told.clients:
        near = nearest_groups(places, told)
        strangers = [number for number, client in enumerate(told.clients) if near[client] is None]
        stop = strangers[0] if strangers and strangers_begin_groups else len(told.clients)
        found |= {client: near[client] for client in told.clients[:stop]}
        for client in told.clients[stop : stop + 1]:
            found[client] = groups_in(places)
            places = with_group(places, told.of([client]))
        told = told.of(told.clients[stop + 1 :])
    return places, found


def groups_in(places: Places) -> int:
    """How many groups there are."""
    return places.groups if isinstance(places, PointAtlas) else len(places.reach)
