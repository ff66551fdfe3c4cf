"""Every client is a person with a hand of its own: FLT's scenario 3. No groups are planted.

Needs a source that knows the owner of each example: LEAF's FEMNIST, or MNIST by writer. Test examples are those of the
same person that the source holds out.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from fedclade.core import InputError, generator, settings
from fedclade.data.examples import Part, Source
from fedclade.data.federation import ClientData, Federation


@settings
class Writers:
    """Every client is one writer (FLT, scenario 3); natural, no planted groups."""

    clients: Annotated[int, Field(ge=1, le=10**6)] = 200
    """How many of the source's writers are drawn."""

    def spread(self, source: Source, seed: int) -> Federation:
        """So many writers, drawn from those with training and test examples; each keeps all that it wrote."""
        if source.train.owners is None or source.test is None or source.test.owners is None:
            got = f"source {source.name}"
            need = "mnist-writers or femnist"
            raise InputError("the source does not know its writers", where="data.world", got=got, need=need)
        writers = np.intersect1d(source.train.owners, source.test.owners)
        if self.clients > len(writers):
            need = f"at most {len(writers)}"
            raise InputError("more clients than writers", where="data.clients", got=str(self.clients), need=need)
        picked = np.sort(generator(seed, "writers", "pick").choice(writers, size=self.clients, replace=False))
        digits = len(str(writers.max()))
        data = {
            f"writer-{writer:0{digits}d}": ClientData(
                Part(source.train, np.flatnonzero(source.train.owners == writer)),
                Part(source.test, np.flatnonzero(source.test.owners == writer)),
            )
            for writer in picked
        }
        return Federation(f"{source.name}, writers", data, source.classes, class_names=source.class_names)
