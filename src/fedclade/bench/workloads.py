"""The workloads W1 to W5: the papers' nets on clients of the papers' sizes, plain SGD without dropout.

The step rate is the figure, so the large nets train fewer clients than a paper's round has; `quick` takes fewer still.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.bench.nets import WORDS, WordModel, colour_cnn
from fedclade.data import SOURCES, ClientData, Federation, Part, Pool
from fedclade.data.shares import named
from fedclade.nets import Module, Net, net_for
from fedclade.nouns import LocalTraining, generator

TESTED = 10  # test examples of a client: nothing of W1 to W5 is about them


@dataclass(frozen=True)
class Workload:
    """One round of training: who has how many examples, and what is done with them."""

    name: str
    summary: str
    sizes: Callable[[], Sequence[int]]
    """Training examples of each client."""
    shape: tuple[int, ...]
    classes: int
    local: LocalTraining
    quick: tuple[int, int]
    """How many clients the short form has, and how many examples at the most each of them; it lasts one epoch."""
    net: str | Callable[[], Module] = "mlp"
    words: bool = False
    """Whether inputs are words, and not pixels."""
    real: tuple[str, ...] = ()
    """Sources with such examples; the first that is here is taken."""

    def shortened(self) -> "Workload":
        """The same with fewer clients and examples, in one epoch."""
        clients, examples = self.quick
        sizes = tuple(min(size, examples) for size in self.sizes()[:clients])
        return replace(self, sizes=lambda: sizes, local=replace(self.local, epochs=1))

    def made_net(self) -> Net:
        """The net that clients train."""
        settings = {"dropout": 0.0} if self.net == "mlp" else None
        return net_for(self.net, self.shape, self.classes, settings)

    def real_source(self) -> str | None:
        """The source of real examples that is here, if any."""
        return next((name for name in self.real if SOURCES[name].here()), None)

    def federation(self, source: str | None = None) -> Federation:
        """The clients, with random examples or those of a source: drawn, so that it never runs out of them."""
        sizes = self.sizes()
        draw = generator(0, "bench", self.name)
        pool = self.random_pool(sum(sizes), draw) if source is None else SOURCES[source].load().train
        at = np.concatenate([[0], np.cumsum(sizes)])
        order = draw.permutation(max(len(pool.labels), sum(sizes))) % len(pool.labels)
        tested = np.arange(min(TESTED, len(order)))
        data = {
            client: ClientData(Part(pool, order[start:stop]), Part(pool, tested))
            for client, start, stop in zip(named(len(sizes)), at[:-1], at[1:], strict=True)
        }
        return Federation(f"{self.name} {source or 'random'}", data, self.classes)

    def random_pool(self, count: int, draw: np.random.Generator) -> Pool:
        """Random bytes or words, and random labels."""
        inputs: NDArray[np.uint8] | NDArray[np.int32]
        if self.words:
            inputs = draw.integers(WORDS, size=(count, *self.shape), dtype=np.int32)
        else:
            inputs = draw.integers(256, size=(count, *self.shape), dtype=np.uint8)
        return Pool(inputs, draw.integers(self.classes, size=count))


def ragged(clients: int) -> tuple[int, ...]:
    """20 to 200 examples by a power law, 44 in the mean: the quantiles of n^-2.4, in random order."""
    power = -1.4  # of the distribution function
    low, high = 20.0**power, 200.0**power
    middle = (np.arange(clients) + 0.5) / clients
    sizes = np.rint((low + middle * (high - low)) ** (1 / power)).astype(int)
    return tuple(generator(0, "bench", "ragged").permutation(sizes).tolist())


WORKLOADS: dict[str, Workload] = {
    work.name: work
    for work in (
        Workload(
            "W1",
            "MLP 784-200-10, 20 clients with 600 examples",
            lambda: (600,) * 20,
            (1, 28, 28),
            10,
            LocalTraining(epochs=1, batch=10, lr=0.01),
            quick=(20, 600),
            real=("mnist",),
        ),
        Workload(
            "W2",
            "MLP 784-200-47, 480 clients with 20 to 200 examples",
            lambda: ragged(480),
            (1, 28, 28),
            47,
            LocalTraining(epochs=5, batch=10, lr=0.01),
            quick=(120, 200),
            real=("emnist", "emnist47"),
        ),
        Workload(
            "W3",
            "LEAF CNN, 4 clients with 226 examples",
            lambda: (226,) * 4,
            (1, 28, 28),
            62,
            LocalTraining(epochs=2, batch=10, lr=0.01),
            quick=(2, 120),
            net="leaf_cnn",
            real=("femnist", "emnist", "emnist47"),
        ),
        Workload(
            "W4",
            "CNN on 3 x 32 x 32, 4 clients with 500 examples",
            lambda: (500,) * 4,
            (3, 32, 32),
            10,
            LocalTraining(epochs=1, batch=10, lr=0.01),
            quick=(2, 150),
            net=colour_cnn,
            real=("cifar10",),
        ),
        Workload(
            "W5",
            "two-layer LSTM, next of 10,000 words after 10, 4 clients with 1,000 examples",
            lambda: (1000,) * 4,
            (10,),
            WORDS,
            LocalTraining(epochs=1, batch=100, lr=0.1),
            quick=(2, 400),
            net=WordModel,
            words=True,
        ),
    )
}
