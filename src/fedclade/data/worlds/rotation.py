"""The same images, turned by another quarter in each group: IFCA's rotated MNIST."""

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from fedclade.data.federation import ClientData, Federation, Source
from fedclade.data.shares import dealt_to, named, planted
from fedclade.nouns import Groups, InputError, generator, settings


@settings
class Rotation:
    """Each group sees the images turned by another quarter (IFCA)."""

    clients: Annotated[int, Field(ge=1)] = 20
    groups: Annotated[int, Field(ge=1, le=4)] = 4
    """Group g is turned by g quarters."""
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of its own examples that a client is tested on."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Examples dealt at random; each group's images turned, train and test alike."""
        if len(source.shape) < 2 or source.shape[-1] != source.shape[-2]:
            raise InputError(
                "only square images can be turned", where="data.world", got=f"inputs {source.shape}", need="(..., n, n)"
            )
        ids = named(self.clients)
        home = planted(ids, self.groups, generator(seed, "rotation", "groups"))
        data = {
            client: ClientData(*(replace(part, quarter_turns=home[client]) for part in (held.train, held.test)))
            for client, held in dealt_to(ids, source.train, self.test, (seed, "rotation")).items()
        }
        return Federation(f"{source.name}, rotation", data, source.classes, truth=Groups.from_labels(home))
