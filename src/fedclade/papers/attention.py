"""ABC's networks, trained here once and kept as files: one for each data set and number of clients, under 2C-1."""

from itertools import count
from pathlib import Path

from fedclade.data.registry import SOURCES
from fedclade.nets.attention_shelf import ATTENTION
from fedclade.nets.shelf import SUFFIX, write
from fedclade.papers.item import Attending, Terms, keyed
from fedclade.papers.keeping import kept
from fedclade.papers.plans import tiny_network
from fedclade.runs.attention import AttentionTraining, trained
from fedclade.runs.loop import Progress, Watch
from fedclade.runs.run import unwatched


def file_of(network: Attending, terms: Terms) -> Path:
    """Where a network is, or will be; one of another recipe is in another file."""
    return terms.folder / terms.name / "encoders" / f"{keyed(as_made(network, terms))}{SUFFIX}"


def as_made(network: Attending, terms: Terms) -> Attending:
    """What is really trained."""
    return tiny_network(network) if terms.scale == "tiny" else network


def make(network: Attending, terms: Terms, watch: Watch = unwatched) -> Path:
    """Train it, unless it is there."""
    network = as_made(network, terms)
    rounds = network.rounds + network.epochs  # that it watches, and of fitting
    step = count(1)

    def made(path: Path) -> None:
        how = training_of(network)
        done = trained(SOURCES[network.source].load(), how, lambda _: watch(Progress(next(step), rounds, None)))
        write(path, done, ATTENTION)

    return kept(file_of(network, terms), made)


def training_of(network: Attending) -> AttentionTraining:
    """What it watches, and how long it learns."""
    return AttentionTraining(
        clients=network.clients,
        examples=network.examples,
        steps=network.steps,
        rounds=network.rounds,
        epochs=network.epochs,
        seed=network.seed,
    )
