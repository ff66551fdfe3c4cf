"""A user's own data as a federation."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from fedclade.data.federation import ClientData, Federation, Pool
from fedclade.data.shares import held_out
from fedclade.nouns import ClientId, InputError, checked_ids


def from_arrays(
    arrays: Mapping[ClientId, tuple[ArrayLike, ArrayLike]], *, test: float = 0.2, seed: int = 0, name: str = "own data"
) -> Federation:
    """A federation from each client's (inputs, labels); a share of each is held out for testing.

    Inputs are (examples, ...) numbers of one shape everywhere; labels are whole numbers from 0.
    """
    if not 0 < test < 1:
        raise InputError("the test share is not usable", where=name, got=str(test), need="over 0 and under 1")
    data: dict[ClientId, ClientData] = {}
    classes = 0
    for client in checked_ids(arrays, where=name):
        where = f'{name}, client "{client}"'
        inputs, labels = (np.asarray(part) for part in arrays[client])
        if inputs.dtype.kind not in "fiub" or inputs.ndim < 2:
            raise InputError(
                "inputs are not numbers in rows",
                where=where,
                got=f"{inputs.dtype} {inputs.shape}",
                need="numbers (examples, ...)",
            )
        if labels.dtype.kind not in "iu" or labels.shape != inputs.shape[:1]:
            raise InputError(
                "labels do not fit the inputs",
                where=where,
                got=f"{labels.dtype} {labels.shape}",
                need=f"whole numbers ({len(inputs)},)",
            )
        if len(inputs) < 2:
            raise InputError(
                "too few examples",
                where=where,
                got=str(len(inputs)),
                need="at least 2: one to learn from, one to test with",
                do="give it examples or leave it out",
            )
        kept = inputs if inputs.dtype == np.uint8 else inputs.astype(np.float32)
        try:
            pool = Pool(kept.copy(), labels.astype(np.int64))
        except InputError as wrong:
            raise InputError(
                wrong.what, where=f"{where}, {wrong.where}", got=wrong.got, need=wrong.need, do=wrong.do
            ) from None
        classes = max(classes, int(pool.labels.max()) + 1)
        data[client] = held_out(pool, np.arange(len(inputs)), test, (seed, "own", client))
    return Federation(name, data, max(classes, 2))
