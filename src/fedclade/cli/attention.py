"""Commands about ABC's attention networks: attention train, attention show."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit

app = typer.Typer(
    no_args_is_help=True, help="Train a network for ABC, which scores clients by their updates, or show one."
)

Source = Annotated[
    str, typer.Argument(help="The source of its clients' examples: see `fedclade data list`.", show_default=False)
]
Name = Annotated[str, typer.Argument(help="A file *.safetensors, or `attention+`, which is shipped.")]
Score = Annotated[
    str, typer.Option(help="attention: the paper's network. attention+: ours, a temperature for cosines.")
]
Head = Annotated[str, typer.Option(help="What the paper's decoder reads: flatten (one number of clients), or pooled.")]
Mix = Annotated[str, typer.Option(help="The clients' classes: 2C-1, 2C-2 or 5C (world `dominant`).")]
Clients = Annotated[int, typer.Option(min=3, help="How many clients train.")]
Examples = Annotated[int, typer.Option(min=2, help="Examples of each client.")]
Reference = Annotated[int, typer.Option(min=1, help="Examples of the server, which no client has.")]
Rounds = Annotated[int, typer.Option(min=4, help="Rounds that are watched.")]
Steps = Annotated[int, typer.Option(min=1, help="Of a client in a round, each on 10 examples.")]
Net = Annotated[str, typer.Option(help="The clients' net: see `fedclade models`.")]
Project = Annotated[
    int, typer.Option(min=0, help="Numbers to project drifts to; 0: only drifts of over 20,000, to 1,024.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")]
Out = Annotated[Path | None, typer.Option(help="The file to write: .safetensors.", show_default=False)]


@app.command("train")
def train_attention(
    source: Source,
    score: Score = "attention",
    head: Head = "flatten",
    mix: Mix = "2C-1",
    clients: Clients = 10,
    examples: Examples = 500,
    reference: Reference = 1000,
    rounds: Rounds = 300,
    steps: Steps = 5,
    net: Net = "abc_cnn",
    project: Project = 0,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Watch clients train together, learn to attend to them, and write the network to a file."""
    from fedclade.data.registry import source_named
    from fedclade.nets.attention_shelf import ATTENTION
    from fedclade.nets.shelf import SUFFIX, write
    from fedclade.nouns import InputError
    from fedclade.nouns.settings import made_from
    from fedclade.runs.attention import AttentionTraining, trained

    path = out or Path(f"{source}-{score}{SUFFIX}")
    if path.suffix != SUFFIX or not path.parent.is_dir():
        raise InputError("the file cannot be written", where="--out", got=str(path), need=f"FOLDER/NAME{SUFFIX}")
    asked: dict[str, object] = {"kind": score, "head": head, "mix": mix, "clients": clients, "examples": examples}
    asked |= {"reference": reference, "rounds": rounds, "steps": steps, "net": net, "project": project, "seed": seed}
    how = made_from(AttentionTraining, asked, where="attention")
    known = source_named(source).load()
    kept = trained(known, how, lambda line: None if quiet else print(f"{source}: {line}", file=sys.stderr))
    write(path, kept, ATTENTION)
    show(str(path), as_json=as_json, quiet=quiet)


@app.command("show")
def show_attention(name: Name = "attention+", as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what is in a file: what kind of network, how it was made, and how well it does what it was trained for."""
    show(name, as_json=as_json, quiet=quiet)


def show(name: str, *, as_json: bool, quiet: bool) -> None:
    """One network, as its file has it."""
    from fedclade.nets.attention_shelf import attending
    from fedclade.nets.shelf import printable

    kept = attending(name)
    if as_json:
        told = {"file": name, "kind": kept.kind, "weights": len(kept.weights), "sha256": kept.sha256}
        emit(
            {
                **told,
                "recipe": kept.recipe,
                **({"temperature": float(kept.weights[0])} if kept.kind == "attention+" else {}),
            }
        )
    elif quiet:
        print(printable(name))
    else:
        size = f"temperature {kept.weights[0]:.3f}" if kept.kind == "attention+" else f"{len(kept.weights):,} weights"
        print(f"{printable(name)}: {kept.kind}, {size}, checksum {kept.sha256[:12]}")
        for key, value in sorted(kept.recipe.items()):
            print(f"  {key}: {value}")
