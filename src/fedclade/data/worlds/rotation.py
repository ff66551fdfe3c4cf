"""The same images, turned by another quarter in each group: IFCA's rotated MNIST."""

from typing import Annotated

from pydantic import Field

from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.worlds.mixed import Skew, dealt_in_groups
from fedclade.data.worlds.spread import GroupedClients, View, assembled
from fedclade.nouns import InputError, settings


@settings
class Rotation(GroupedClients):
    """Each group sees the images turned by another quarter (IFCA)."""

    groups: Annotated[int, Field(ge=1, le=4)] = 4
    """Each is turned by another number of quarters."""
    skew: Skew = 0.0

    def spread(self, source: Source, seed: int) -> Federation:
        """Examples dealt at random; each group's images turned, train and test alike."""
        if len(source.shape) < 2 or source.shape[-1] != source.shape[-2]:
            raise InputError(
                "only square images can be turned", where="data.world", got=f"inputs {source.shape}", need="(..., n, n)"
            )
        shares, home = dealt_in_groups("rotation", self, self.skew, source, seed)
        views = [View(quarter_turns=group) for group in range(self.groups)]
        return assembled("rotation", self, source, seed, shares, home, views)
