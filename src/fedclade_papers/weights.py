"""Weights that runs need, encoders and attention networks: each recipe is trained once, and has a file of its own."""

from pathlib import Path
from tempfile import TemporaryDirectory

from fedclade.nets.weight_files import SUFFIX
from fedclade.runs.loop import ProgressCallback
from fedclade.runs.run import ignore_progress
from fedclade.store.durable_files import write_file
from fedclade_papers.attention import train_attention
from fedclade_papers.encoders import train_encoder
from fedclade_papers.item import EncoderRecipe, Terms, WeightRecipe, file_stem
from fedclade_papers.run_plans import recipe_at_scale


def file_of(recipe: WeightRecipe, terms: Terms) -> Path:
    """The file of these weights, whether it is there or not; another recipe has another file."""
    return terms.folder / terms.name / "encoders" / f"{file_stem(recipe_at_scale(recipe, terms))}{SUFFIX}"


def make_weights(recipe: WeightRecipe, terms: Terms, watch: ProgressCallback = ignore_progress) -> Path:
    """Train these weights unless their file is there. An interrupt leaves no part of a file behind."""
    path, asked = file_of(recipe, terms), recipe_at_scale(recipe, terms)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory() as folder:
            aside = Path(folder) / path.name
            if isinstance(asked, EncoderRecipe):
                train_encoder(asked, aside, watch)
            else:
                train_attention(asked, aside, watch)
            write_file(path, aside.read_bytes())
    return path
