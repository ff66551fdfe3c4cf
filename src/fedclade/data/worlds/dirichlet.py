"""Every client has its own mix of the classes: skewed labels, but no groups to find."""

from typing import Annotated

from pydantic import Field

from fedclade.core import generator, settings
from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.shares import client_names, dirichlet_shares
from fedclade.data.worlds.spread import WorldSettings, check_enough, make_federation


@settings
class Dirichlet(WorldSettings):
    """Each client has its own mix of the classes, by a Dirichlet distribution; no groups."""

    alpha: Annotated[float, Field(gt=0, le=1e6)] = 0.5
    """The smaller, the more one-sided."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; each has at least two."""
        check_enough(len(source.train.labels), self.clients)
        parts = dirichlet_shares(source.train.labels, self.clients, self.alpha, generator(seed, "dirichlet", "deal"))
        shares = dict(zip(client_names(self.clients), parts, strict=True))
        return make_federation("dirichlet", self, source, seed, shares, None)
