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


def groups_in(places: Places) -> int:
    """How many groups there are."""
    return places.groups if isinstance(places, PointAtlas) else len(places.reach)
