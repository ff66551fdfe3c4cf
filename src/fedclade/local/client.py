"""One client's side of every verb. The simulated fleet and a real one put the same questions to it."""

from collections.abc import Callable

import numpy as np

from fedclade.data import ClientData
from fedclade.fleet.protocol import Ask, Reply
from fedclade.local.general import Asked, PathName
from fedclade.local.plan import plan
from fedclade.local.sketch import sketch
from fedclade.nets import Net


class Client:
    """Answers for any client whose data it is given; keeps one module and fills it with each model in turn."""

    def __init__(self, net: Net, path: Asked = "auto") -> None:
        self._path = plan(net, path)

    @property
    def path(self) -> PathName:
        """How it trains: see `fedclade.local.plan`."""
        return self._path.name

    def answer(self, ask: Ask, data: ClientData) -> Reply:
        """What the client replies. An exception here is a bug, or a client that fails: the engine decides which."""
        return {"train": self._train, "losses": self._losses, "evaluate": self._evaluate, "sketch": self._sketch}[
            ask.verb
        ](ask, data)

    def _train(self, ask: Ask, data: ClientData) -> Reply:
        row, loss = self._path.train(ask.rows[0], data.train, ask.now, ask.client)
        return Reply(
            "train", ask.client, ask.now.number, len(data.train), {"row": row, "loss": np.array(loss, np.float64)}
        )

    def _losses(self, ask: Ask, data: ClientData) -> Reply:
        found = self._path.losses(ask.rows, data.train)
        return Reply("losses", ask.client, ask.now.number, len(data.train), {"losses": found})

    def _evaluate(self, ask: Ask, data: ClientData) -> Reply:
        correct, loss = self._path.score(ask.rows[0], data.test)
        arrays = {"correct": np.array(correct, np.int64), "loss": np.array(loss, np.float64)}
        return Reply("evaluate", ask.client, ask.now.number, len(data.test), arrays)

    def _sketch(self, ask: Ask, data: ClientData) -> Reply:
        points, counts = sketch(data.train, ask.encoder, ask.points, ask.now, ask.client)
        return Reply("sketch", ask.client, ask.now.number, len(data.train), {"points": points, "counts": counts})


Answer = Callable[[Ask], Reply]
"""What a fleet needs of its clients."""
