"""The sources and worlds that fedclade knows, by name."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, cast

from fedclade.core.registry import Registry, check_class
from fedclade.data.examples import Source
from fedclade.data.federation import Federation
from fedclade.data.sources import (
    ag_news,
    cifar10,
    cifar100,
    emnist,
    emnist47,
    fashion_mnist,
    femnist,
    mnist,
    mnist_writers,
    tiny_imagenet_10,
)
from fedclade.data.sources.digits import digits
from fedclade.data.sources.source_files import Files
from fedclade.data.worlds.classes import Classes
from fedclade.data.worlds.dirichlet import Dirichlet
from fedclade.data.worlds.iid import IID
from fedclade.data.worlds.label_permutation import LabelPermutation
from fedclade.data.worlds.quantity import Quantity
from fedclade.data.worlds.rotation import Rotation
from fedclade.data.worlds.topics import Topics
from fedclade.data.worlds.writers import Writers

SOURCE_CACHE: ContextVar[dict[Callable[[], Source], Source] | None] = ContextVar("source_cache", default=None)
MAX_CACHED_SOURCES = 2  # sources; one of them has 200 megabytes


@contextmanager
def cache_sources() -> Iterator[None]:
    """Inside, a source is not read again for every federation that is made of it."""
    before = SOURCE_CACHE.set({})
    try:
        yield
    finally:
        SOURCE_CACHE.reset(before)


class World(Protocol):
    """A world spreads examples over clients: frozen settings, and one function."""

    def spread(self, source: Source, seed: int) -> Federation:
        """The federation that these settings and this seed give."""
        ...


@dataclass(frozen=True)
class KnownSource:
    """A source by its name: what it is, how it is read, and where its files are."""

    summary: str
    read: Callable[[], Source]
    files: tuple[Files, ...] = ()
    """None: it comes with an installed package."""

    def load(self) -> Source:
        """Its examples. Inside `cache_sources` they are those that were read before."""
        cached = SOURCE_CACHE.get()
        if cached is None:
            return self.read()
        if self.read not in cached:
            while len(cached) >= MAX_CACHED_SOURCES:
                del cached[next(iter(cached))]
            cached[self.read] = self.read()
        return cached[self.read]

    def is_available(self) -> bool:
        """Whether it can be loaded without a network."""
        return all(files.find() is not None for files in self.files)

    def location(self) -> str:
        """The folders in which its files are, or should be."""
        return ", ".join(files.location() for files in self.files) or "an installed package"

    def fetch(self) -> None:
        """Make sure that its files are here; an error says what to put where if they cannot be fetched."""
        for files in self.files:
            files.find_or_fetch()


def accept_source(found: object) -> KnownSource:
    """The source of a plug-in: as it is, or of a function that reads it."""
    if isinstance(found, KnownSource):
        return found
    if isinstance(found, type) or not callable(found):
        raise TypeError(f"{getattr(found, '__name__', type(found).__name__)} is not a function")
    inspect.signature(found).bind()  # an error if it needs arguments
    return KnownSource((found.__doc__ or "").strip().partition("\n")[0].removesuffix("."), found)


def accept_world(found: object) -> type[World]:
    """The world of a plug-in."""
    check_class(found, "spread")
    return cast("type[World]", found)


BUILTIN_SOURCES = {
    "digits": KnownSource("1,797 hand-written digits, 8 x 8, 10 classes (scikit-learn; nothing is fetched)", digits),
    "mnist": KnownSource("70,000 hand-written digits, 28 x 28, 10 classes", mnist.mnist, (mnist.FILES,)),
    "fashion-mnist": KnownSource(
        "70,000 pieces of clothing, 28 x 28, 10 classes", fashion_mnist.fashion_mnist, (fashion_mnist.FILES,)
    ),
    "emnist": KnownSource(
        "EMNIST balanced: 131,600 letters and digits, 28 x 28, 47 classes", emnist.emnist, (emnist.FILES,)
    ),
    "emnist47": KnownSource(
        "EMNIST-47: 102,545 letters and digits, 28 x 28, 47 classes (not the official split)",
        emnist47.emnist47,
        (emnist47.FILES,),
    ),
    "cifar10": KnownSource("60,000 colour photographs, 32 x 32, 10 classes", cifar10.cifar10, (cifar10.FILES,)),
    "cifar100": KnownSource("60,000 colour photographs, 32 x 32, 100 classes", cifar100.cifar100, (cifar100.FILES,)),
    "femnist": KnownSource(
        "LEAF's FEMNIST: letters and digits by writer, 28 x 28, 62 classes", femnist.femnist, (femnist.FILES,)
    ),
    "mnist-writers": KnownSource(
        "60,000 digits of MNIST by their 539 writers, 28 x 28, 10 classes",
        mnist_writers.mnist_writers,
        (mnist.FILES, mnist_writers.FILES),
    ),
    "ag-news": KnownSource("short news, the first 32 words, 4 topics", ag_news.ag_news, (ag_news.FILES,)),
    "tiny-imagenet-10": KnownSource(
        "5,500 colour photographs of Tiny-ImageNet, 64 x 64, 10 classes",
        tiny_imagenet_10.tiny_imagenet_10,
        (tiny_imagenet_10.FILES,),
    ),
}

BUILTIN_WORLDS: dict[str, type[World]] = {
    "iid": IID,
    "classes": Classes,
    "writers": Writers,
    "label-permutation": LabelPermutation,
    "rotation": Rotation,
    "dirichlet": Dirichlet,
    "quantity": Quantity,
    "topics": Topics,
}

SOURCES: Registry[KnownSource] = Registry(
    "source",
    BUILTIN_SOURCES,
    accept=accept_source,
    need="a function without arguments that returns a Source, or a KnownSource",
    reserved=("own", "sites", "python"),  # files of the user, data at sites, a federation that was given in Python
)
WORLDS: Registry[type[World]] = Registry(
    "world",
    BUILTIN_WORLDS,
    accept=accept_world,
    need="a class of @settings, all with defaults, with spread(source, seed)",
)


def source_named(name: str) -> KnownSource:
    """The source of this name."""
    return SOURCES.find(name, "data.source")
