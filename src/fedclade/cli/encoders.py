"""Commands about encoders: encoders list, encoders train."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, print_entries

app = typer.Typer(no_args_is_help=True, help="List encoders, which turn examples into a few numbers, or train one.")

EncoderSourceArgument = Annotated[
    str, typer.Argument(help="The source of its examples: see `fedclade data list`.", show_default=False)
]
EncoderFolderArgument = Annotated[Path, typer.Argument(help="Where your own files are.")]
EncoderKindOption = Annotated[
    str,
    typer.Option(help="Of images: convae, convae-colour or resae; by default by their colours.", show_default=False),
]
EpochsOption = Annotated[int, typer.Option(min=1, max=10_000, help="Passes over the images.")]
EncoderSeedOption = Annotated[int, typer.Option(min=0, help="Of its first weights and of the order of images.")]
EncoderFileOption = Annotated[Path | None, typer.Option(help="The file to write: .safetensors.", show_default=False)]


@app.command("list")
def list_encoders(folder: EncoderFolderArgument = Path(), as_json: Json = False, quiet: Quiet = False) -> None:
    """List the encoders that every client has, those that are shipped, and your own files."""
    from fedclade.core import InputError
    from fedclade.nets.encoders import ENCODERS
    from fedclade.nets.weight_files import SHIPPED, SUFFIX, load_encoder, printable, read

    found: dict[str, dict[str, object]] = {
        name: {"kind": name, "weights": 0, "recipe": {}, "sha256": ""} for name in ENCODERS
    }
    files = {str(path): path for path in sorted(folder.glob(f"*{SUFFIX}"))} if folder.is_dir() else {}
    for name in (*SHIPPED, *files):
        try:
            kept = read(files[name]) if name in files else load_encoder(name)
        except InputError:  # some other file
            continue
        recipe, weights = kept.recipe, len(kept.weights)
        found[name] = {"kind": kept.kind, "weights": weights, "recipe": recipe, "sha256": kept.sha256}
    rows = []
    for name, one in found.items():
        origin = describe_recipe(one["recipe"]) if one["weights"] else "nothing: every client has it"
        rows.append((printable(name), str(one["kind"]), origin, str(one["sha256"])[:12], f"{one['weights']:,}"))
    print_entries(found, ("name", "kind", "made from", "checksum", "weights"), rows, as_json, quiet, left=4)


@app.command("train")
def train_encoder(
    source: EncoderSourceArgument,
    kind: EncoderKindOption = "",
    epochs: EpochsOption = 30,
    seed: EncoderSeedOption = 0,
    out: EncoderFileOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train an encoder on a source and write it to a file that FLT's `method.signature.name` can name.

    Images: FLT's autoencoder, plain or residual, by Adam on the mean squared error. Tables: mean and scale of each
    feature. Texts: a vector for each word.
    """
    import numpy as np

    from fedclade.core import InputError
    from fedclade.data import Part
    from fedclade.data.registry import source_named
    from fedclade.nets.pretraining import pretrain_encoder
    from fedclade.nets.weight_files import SUFFIX, write

    path = out or Path(f"{source}{SUFFIX}")
    if path.suffix != SUFFIX or not path.parent.is_dir():
        raise InputError("the file cannot be written", where="--out", got=str(path), need=f"FOLDER/NAME{SUFFIX}")
    pool = source_named(source).load().train

    def report_epoch(epoch: int, error: float) -> None:
        if not quiet:
            print(f"{source}: epoch {epoch}/{epochs}, error on held-out images {error:.5f}", file=sys.stderr)

    inputs = Part(pool, np.arange(len(pool.labels))).inputs
    kept = pretrain_encoder(inputs, source=source, epochs=epochs, seed=seed, progress=report_epoch, kind=kind)
    write(path, kept)
    if as_json:
        emit({"file": str(path), "kind": kept.kind, "recipe": kept.recipe, "sha256": kept.sha256})
    else:
        print(path if quiet else f"{path}: {kept.kind}, {len(kept.weights):,} weights, {describe_recipe(kept.recipe)}")


def describe_recipe(recipe: object) -> str:
    """A recipe in a few words, as far as it has them."""
    if not isinstance(recipe, dict):
        return ""
    words = [str(recipe.get("source", "it does not say"))]
    if "epochs" in recipe:
        words.append(f"{recipe['epochs']} epochs")
    if isinstance(error := recipe.get("held_out_mse"), int | float):
        words.append(f"error {error:.4f}")
    return ", ".join(words)
