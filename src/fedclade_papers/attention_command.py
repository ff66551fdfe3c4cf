"""Commands about ABC's attention networks: attention train, attention show."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit

app = typer.Typer(
    no_args_is_help=True, help="Train a network for ABC, which scores clients by their updates, or show one."
)

AttentionSourceArgument = Annotated[
    str, typer.Argument(help="The source of its clients' examples: see `fedclade data list`.", show_default=False)
]
NetworkArgument = Annotated[
    str, typer.Argument(help="A file *.safetensors, or `attention` or `attention+`, which are shipped.")
]
ScoreOption = Annotated[
    str, typer.Option(help="attention: the paper's network. attention+: ours, a temperature for cosines.")
]
HeadOption = Annotated[
    str, typer.Option(help="What the paper's decoder reads: flatten (one number of clients), or pooled.")
]
MixOption = Annotated[str, typer.Option(help="The clients' classes: 2C-1, 2C-2 or 5C (world `dominant`).")]
ClientsOption = Annotated[int, typer.Option(min=3, help="How many clients train.")]
ExamplesOption = Annotated[int, typer.Option(min=2, help="Examples of each client.")]
ReferenceOption = Annotated[int, typer.Option(min=1, help="Examples of the server, which no client has.")]
RoundsOption = Annotated[int, typer.Option(min=4, help="Rounds that are watched.")]
StepsOption = Annotated[int, typer.Option(min=1, help="Of a client in a round, each on 10 examples.")]
NetOption = Annotated[str, typer.Option(help="The clients' net: see `fedclade models`.")]
ProjectOption = Annotated[
    int, typer.Option(min=0, help="Numbers to project drifts to; 0: only drifts of over 20,000, to 1,024.")
]
AttentionSeedOption = Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")]
NetworkFileOption = Annotated[Path | None, typer.Option(help="The file to write: .safetensors.", show_default=False)]


@app.command("train")
def train_attention(
    source: AttentionSourceArgument,
    score: ScoreOption = "attention",
    head: HeadOption = "flatten",
    mix: MixOption = "2C-1",
    clients: ClientsOption = 10,
    examples: ExamplesOption = 500,
    reference: ReferenceOption = 1000,
    rounds: RoundsOption = 300,
    steps: StepsOption = 5,
    net: NetOption = "abc_cnn",
    project: ProjectOption = 0,
    seed: AttentionSeedOption = 0,
    out: NetworkFileOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Watch clients train together, learn to attend to them, and write the network to a file."""
    from fedclade.core import InputError
    from fedclade.core.settings import build_settings
    from fedclade.data.registry import source_named
    from fedclade.nets.attention_files import ATTENTION
    from fedclade.nets.weight_files import SUFFIX, write
    from fedclade_papers.attention_training.train import AttentionTraining, train_network

    path = out or Path(f"{source}-{score}{SUFFIX}")
    if path.suffix != SUFFIX or not path.parent.is_dir():
        raise InputError("the file cannot be written", where="--out", got=str(path), need=f"FOLDER/NAME{SUFFIX}")
    asked: dict[str, object] = {"kind": score, "head": head, "mix": mix, "clients": clients, "examples": examples}
    asked |= {"reference": reference, "rounds": rounds, "steps": steps, "net": net, "project": project, "seed": seed}
    how = build_settings(AttentionTraining, asked, where="attention")
    known = source_named(source).load()
    kept = train_network(known, how, lambda line: None if quiet else print(f"{source}: {line}", file=sys.stderr))
    write(path, kept, ATTENTION)
    show(str(path), as_json=as_json, quiet=quiet)


@app.command("show")
def show_attention(name: NetworkArgument = "attention+", as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what is in a file: what kind of network, how it was made, and how well it does what it was trained for."""
    show(name, as_json=as_json, quiet=quiet)


def show(name: str, *, as_json: bool, quiet: bool) -> None:
    """One network, as its file has it."""
    from fedclade.nets.attention_files import open_attention
    from fedclade.nets.weight_files import printable

    kept = open_attention(name)
    if as_json:
        summary = {"file": name, "kind": kept.kind, "weights": len(kept.weights), "sha256": kept.sha256}
        emit(
            {
                **summary,
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
