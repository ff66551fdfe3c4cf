"""ABC's networks, trained here once and kept as files: one for each data set and number of clients, under 2C-1."""

from collections.abc import Callable
from pathlib import Path

from fedclade.data.registry import SOURCES
from fedclade.nets.attention_shelf import ATTENTION
from fedclade.nets.shelf import SUFFIX, write
from fedclade.papers.item import Attending, Terms, keyed
from fedclade.papers.plans import tiny_network
from fedclade.runs.attention import AttentionTraining, trained


def file_of(network: Attending, terms: Terms) -> Path:
    """Where a network is, or will be; one of another recipe is in another file."""
    return terms.folder / terms.name / "encoders" / f"{keyed(as_made(network, terms))}{SUFFIX}"


def as_made(network: Attending, terms: Terms) -> Attending:
    """What is really trained."""
    return tiny_network(network) if terms.scale == "tiny" else network


def make(network: Attending, terms: Terms, tell: Callable[[str], None]) -> Path:
    """Train it, unless it is there."""
    network = as_made(network, terms)
    path = file_of(network, terms)
    if path.is_file():
        return path
    tell(f"attention network {network.name}: watching {network.rounds} rounds")
    kept = trained(SOURCES[network.source].load(), training_of(network))
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"new-{path.name}")
    write(aside, kept, ATTENTION)
    aside.replace(path)
    return path


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
