"""ABC's attention networks: one for each data set and number of clients, trained under the mix 2C-1."""

from itertools import count
from pathlib import Path

from fedclade.data.registry import SOURCES
from fedclade.nets.attention_files import ATTENTION
from fedclade.nets.weight_files import write
from fedclade.runs.loop import ProgressCallback, RunProgress
from fedclade_papers.attention_training.train import AttentionTraining, train_network
from fedclade_papers.item import NetworkRecipe


def train_attention(recipe: NetworkRecipe, path: Path, watch: ProgressCallback) -> None:
    """Train a network, and write it to this file."""
    rounds = recipe.rounds + recipe.epochs  # those that it watches, and those of fitting
    step = count(1)

    def report_round(_: object) -> None:
        watch(RunProgress(next(step), rounds, None))

    write(path, train_network(SOURCES[recipe.source].load(), training_of(recipe), report_round), ATTENTION)


def training_of(recipe: NetworkRecipe) -> AttentionTraining:
    """What it watches, and how long it learns."""
    return AttentionTraining(
        clients=recipe.clients,
        examples=recipe.examples,
        steps=recipe.steps,
        lr=recipe.lr,
        momentum=0.0,
        rounds=recipe.rounds,
        epochs=recipe.epochs,
        seed=recipe.seed,
    )
