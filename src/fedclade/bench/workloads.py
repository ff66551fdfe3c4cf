"""The workloads W1 to W5: the papers' nets on clients of the papers' sizes, plain SGD without dropout.

The step rate is measured, so the large nets train fewer clients than a paper's round has; `quick` takes fewer still.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fedclade.bench.nets import WORDS, colour_cnn, word_model
from fedclade.core import LocalTraining, generator
from fedclade.data import SOURCES, ClientData, Federation, Part, Pool
from fedclade.data.shares import client_names
from fedclade.methods import AnyMethod
from fedclade.nets import Module, Net, net_for
from fedclade.runs.experiment import PYTHON, EngineSettings, Experiment
from fedclade.runs.run_settings import RunSettings

TEST_EXAMPLES = 10  # test examples of a client: nothing of W1 to W5 is about them


@dataclass(frozen=True)
class Workload:
    """One round of training: how many examples each client has, and how it trains on them."""

    name: str
    summary: str
    sizes: Callable[[], Sequence[int]]
    """Training examples of each client."""
    quick: tuple[int, int]
    """How many clients the short form has, and how many examples at the most each of them; it lasts one epoch."""
    shape: tuple[int, ...] = (1, 28, 28)
    """Of an example: pixels, or words if it has one dimension."""
    classes: int = 10
    local: LocalTraining = field(default_factory=LocalTraining)
    net: str | Callable[[], Module] = "mlp"
    real_sources: tuple[str, ...] = ()
    """Sources with such examples; the first that is here is taken."""

    def shorten(self) -> "Workload":
        clients, examples = self.quick
        sizes = tuple(min(size, examples) for size in self.sizes()[:clients])
        return replace(self, sizes=lambda: sizes, local=replace(self.local, epochs=1))

    def build_net(self) -> Net:
        settings = {"dropout": 0.0} if self.net == "mlp" else None
        return net_for(self.net, self.shape, self.classes, settings)

    def real_source(self) -> str | None:
        return next((name for name in self.real_sources if SOURCES[name].is_available()), None)

    def federation(self, source: str | None = None) -> Federation:
        """The clients, with random examples or those of a source: drawn, so that it never runs out of them."""
        sizes = self.sizes()
        draw = generator(0, "bench", self.name)
        pool = self.random_pool(sum(sizes), draw) if source is None else SOURCES[source].load().train
        at = np.concatenate([[0], np.cumsum(sizes)])
        order = draw.permutation(max(len(pool.labels), sum(sizes))) % len(pool.labels)
        tested = np.arange(min(TEST_EXAMPLES, len(order)))
        data = {
            client: ClientData(Part(pool, order[start:stop]), Part(pool, tested))
            for client, start, stop in zip(client_names(len(sizes)), at[:-1], at[1:], strict=True)
        }
        return Federation(f"{self.name} {source or 'random'}", data, self.classes)

    def random_pool(self, count: int, draw: np.random.Generator) -> Pool:
        """Random bytes or words, and random labels."""
        size, words = (count, *self.shape), len(self.shape) == 1
        inputs: NDArray[np.uint8] | NDArray[np.int32] = (
            draw.integers(WORDS, size=size, dtype=np.int32) if words else draw.integers(256, size=size, dtype=np.uint8)
        )
        return Pool(inputs, draw.integers(self.classes, size=count))


def perceptron_experiment(
    federation: Federation, method: AnyMethod, local: LocalTraining, run: RunSettings, workers: int
) -> Experiment:
    """A run of the papers' perceptron on this federation."""
    data = {"source": PYTHON, "world": federation.name, "clients": len(federation)}
    net, engine = {"name": "mlp", "hidden": 200, "dropout": 0.5}, EngineSettings(workers=workers)
    return Experiment(data=data, net=net, local=local, method=method, run=run, engine=engine)


def power_law_sizes(clients: int) -> tuple[int, ...]:
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
            quick=(20, 600),
            real_sources=("mnist",),
        ),
        Workload(
            "W2",
            "MLP 784-200-47, 480 clients with 20 to 200 examples",
            lambda: power_law_sizes(480),
            classes=47,
            local=LocalTraining(epochs=5),
            quick=(120, 200),
            real_sources=("emnist", "emnist47"),
        ),
        Workload(
            "W3",
            "LEAF CNN, 4 clients with 226 examples",
            lambda: (226,) * 4,
            classes=62,
            local=LocalTraining(epochs=2),
            quick=(2, 120),
            net="leaf_cnn",
            real_sources=("femnist", "emnist", "emnist47"),
        ),
        Workload(
            "W4",
            "CNN on 3 x 32 x 32, 4 clients with 500 examples",
            lambda: (500,) * 4,
            shape=(3, 32, 32),
            quick=(2, 150),
            net=colour_cnn,
            real_sources=("cifar10",),
        ),
        Workload(
            "W5",
            "two-layer LSTM, next of 10,000 words after 10, 4 clients with 1,000 examples",
            lambda: (1000,) * 4,
            shape=(10,),
            classes=WORDS,
            local=LocalTraining(batch=100, lr=0.1),
            quick=(2, 400),
            net=word_model,
        ),
    )
}
