"""Everybody draws from the same distribution: there is one group, and nothing to find."""

from typing import Annotated

from pydantic import Field

from fedclade.data.federation import Federation, Source
from fedclade.data.shares import dealt_to, named
from fedclade.nouns import Groups, settings


@settings
class IID:
    """Examples dealt at random; one group."""

    clients: Annotated[int, Field(ge=1)] = 20
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of its own examples that a client is tested on."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Every example goes to one client; sizes differ by one at the most."""
        ids = named(self.clients)
        data = dealt_to(ids, source.train, self.test, (seed, "iid"))
        return Federation(f"{source.name}, iid", data, source.classes, truth=Groups((ids,)))
