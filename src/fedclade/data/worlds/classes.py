"""Each group has classes of its own: FLT's scenario 1.

The classes, in random order, are cut into runs, one for each group. Within a group every client gets the same number
of examples of each of its classes, without replacement. (The authors' sampler pads short classes with copies of one
image.)
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.data.federation import Federation, Source
from fedclade.data.shares import Index, equal_shares, held_out, named, planted
from fedclade.nouns import ClientId, Groups, InputError, generator, settings


@settings
class Classes:
    """Each group has classes of its own (FLT, scenario 1)."""

    clients: Annotated[int, Field(ge=1)] = 20
    groups: Annotated[int, Field(ge=1)] = 4
    test: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of its own examples that a client is tested on."""

    def spread(self, source: Source, seed: int) -> Federation:
        """Clients of a group share its classes and no example."""
        if self.groups > source.classes:
            raise InputError(
                "more groups than classes",
                where="data.groups",
                got=str(self.groups),
                need=f"at most {source.classes}, the classes of {source.name}",
            )
        ids = named(self.clients)
        home = planted(ids, self.groups, generator(seed, "classes", "groups"))
        runs = np.array_split(generator(seed, "classes", "classes").permutation(source.classes), self.groups)
        held: dict[ClientId, list[Index]] = {client: [] for client in ids}
        for group, classes in enumerate(runs):
            members = [client for client in ids if home[client] == group]
            for label in classes:
                positions = np.flatnonzero(source.train.labels == label)
                shares = equal_shares(positions, len(members), generator(seed, "classes", "deal", int(label)))
                if len(shares[0]) == 0:
                    raise InputError(
                        "more clients in a group than examples of a class",
                        where="data.clients",
                        got=f"{len(members)} clients, {len(positions)} examples of class {label}",
                        need="at least one example of each class for each client",
                        do="ask for fewer clients",
                    )
                for client, share in zip(members, shares, strict=True):
                    held[client].append(share)
        data = {
            client: held_out(source.train, np.concatenate(held[client]), self.test, (seed, "classes", "test", client))
            for client in ids
        }
        return Federation(f"{source.name}, classes", data, source.classes, truth=Groups.from_labels(home))
