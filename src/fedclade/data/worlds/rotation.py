"""The same images, turned by another quarter in each group: IFCA's rotated MNIST."""

from typing import Annotated

from pydantic import Field

from fedclade.core import settings
from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.worlds.mixed import Skew, deal_in_groups
from fedclade.data.worlds.spread import GroupedWorldSettings, View, check_square, make_federation


@settings
class Rotation(GroupedWorldSettings):
    """Each group sees the images turned by another quarter (IFCA)."""

    groups: Annotated[int, Field(ge=1, le=4)] = 4
    """Each is turned by another number of quarters."""
    skew: Skew = 0.0
    """Label skew inside the groups: a Dirichlet distribution's alpha, small for clients with few classes; 0: none."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Examples dealt at random; each group's images turned, train and test alike."""
        check_square(source.shape, "data.world")
        shares, groups = deal_in_groups("rotation", self, self.skew, source, seed)
        views = [View(quarter_turns=group) for group in range(self.groups)]
        return make_federation("rotation", self, source, seed, shares, groups, views)
