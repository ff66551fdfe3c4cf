"""Every client has its own mix of the classes: skewed labels, but no groups to find."""

from typing import Annotated

from pydantic import Field

from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.shares import named, skewed
from fedclade.data.worlds.spread import Clients, assembled, check_enough
from fedclade.nouns import generator, settings


@settings
class Dirichlet(Clients):
    """Each client has its own mix of the classes, by a Dirichlet distribution; no groups."""

    alpha: Annotated[float, Field(gt=0, le=1e6)] = 0.5
    """The smaller, the more one-sided."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; nobody has fewer than two."""
        total = len(source.train.labels)
        check_enough(total, self.clients)
        ids = named(self.clients)
        shares = skewed(source.train.labels, self.clients, self.alpha, generator(seed, "dirichlet", "deal"))
        return assembled("dirichlet", self, source, seed, dict(zip(ids, shares, strict=True)), None)
