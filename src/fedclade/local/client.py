"""One client's side of every verb. The simulated fleet and a real one put the same questions to it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fedclade.data import ClientData
from fedclade.fleet.protocol import Ask, Reply
from fedclade.local.evaluate import losses_of, score
from fedclade.local.moments import moments, token_of
from fedclade.local.sketch import sketch
from fedclade.local.train import train
from fedclade.local.workbench import Workbench
from fedclade.nets import Net


class Client:
    """Answers for any client whose data it is given; keeps one module and fills it with each model in turn."""

    def __init__(self, net: Net) -> None:
        self._bench = Workbench(net)

    def answer(self, ask: Ask, data: ClientData) -> Reply:
        """What the client replies. An exception here is a bug, or a client that fails: the engine decides which."""
        verbs = {"train": self._train, "losses": self._losses, "evaluate": self._evaluate, "sketch": self._sketch}
        verbs |= {"moments": self._moments, "changed": self._changed}
        return verbs[ask.verb](ask, data)

    def _train(self, ask: Ask, data: ClientData) -> Reply:
        row, loss = train(self._bench, ask.rows[0], data.train, ask.now, ask.client)
        return Reply(
            "train", ask.client, ask.now.number, len(data.train), {"row": row, "loss": np.array(loss, np.float64)}
        )

    def _losses(self, ask: Ask, data: ClientData) -> Reply:
        found = losses_of(self._bench, ask.rows, data.train)
        return Reply("losses", ask.client, ask.now.number, len(data.train), {"losses": found})

    def _evaluate(self, ask: Ask, data: ClientData) -> Reply:
        correct, loss = score(self._bench, ask.rows[0], data.test)
        arrays = {"correct": np.array(correct, np.int64), "loss": np.array(loss, np.float64)}
        return Reply("evaluate", ask.client, ask.now.number, len(data.test), arrays)

    def _sketch(self, ask: Ask, data: ClientData) -> Reply:
        points, counts = sketch(data.train, ask.encoder, ask.points, ask.now, ask.client)
        return Reply("sketch", ask.client, ask.now.number, len(data.train), {"points": points, "counts": counts})

    def _moments(self, ask: Ask, data: ClientData) -> Reply:
        counts, means, variances = moments(data.train, ask.encoder, ask.classes, ask.fewest)
        token = np.array(token_of(data.train, ask.now, ask.client), np.int64)
        arrays: dict[str, NDArray[np.generic]] = {"counts": counts, "means": means, "variances": variances}
        return Reply("moments", ask.client, ask.now.number, len(data.train), {**arrays, "token": token})

    def _changed(self, ask: Ask, data: ClientData) -> Reply:
        changed = np.array(token_of(data.train, ask.now, ask.client) != ask.token)
        return Reply("changed", ask.client, ask.now.number, len(data.train), {"changed": changed})


Answer = Callable[[Ask], Reply]
"""What a fleet needs of its clients."""
