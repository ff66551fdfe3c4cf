"""Commands about data: data list, data show, data fetch, worlds, worlds show."""

from pathlib import Path
from typing import Annotated

import typer

from fedclade.cli.screen import Json, Quiet, emit, print_entries, print_table

app = typer.Typer(no_args_is_help=True, help="List the sources of examples, show one, or fetch its files.")
worlds_app = typer.Typer(help="List the worlds: how examples are spread over clients; or show one.")

NameArgument = Annotated[str, typer.Argument(help="Its name.", show_default=False)]
PictureOption = Annotated[
    Path | None, typer.Option(help="The picture to write: .png, .svg or .pdf.", show_default=False)
]


@app.command("list")
def list_sources(as_json: Json = False, quiet: Quiet = False) -> None:
    """List the sources, and whether their files are here."""
    from fedclade.cli.info import package_fields, package_note
    from fedclade.data import SOURCES

    found = {
        name: {"summary": source.summary, "here": source.is_available(), **package_fields(SOURCES.plugin(name))}
        for name, source in SOURCES.items()
    }
    rows = [
        (name, "yes" if one["here"] else "no", str(one["summary"]) + package_note(SOURCES.plugin(name)))
        for name, one in found.items()
    ]
    print_entries(found, ("name", "here", "what it is"), rows, as_json, quiet)


@app.command("show")
def show_source(name: NameArgument, out: PictureOption = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Count a source's examples by class (and by owner), and draw some of them."""
    import numpy as np

    from fedclade.data.registry import source_named
    from fedclade.report.data_plots import draw_examples

    source = source_named(name).load()
    pools = {"train": source.train, **({"test": source.test} if source.test is not None else {})}
    counts = {use: np.bincount(pool.labels, minlength=source.classes).tolist() for use, pool in pools.items()}
    owners = {
        use: sorted(np.unique(pool.owners, return_counts=True)[1].tolist())
        for use, pool in pools.items()
        if pool.owners is not None
    }
    picture = draw_examples(source, out or Path(f"{name}.png")) if len(source.shape) == 3 else None
    summary = {"name": source.name, "shape": list(source.shape), "classes": list(source.class_names), "counts": counts}
    if as_json:
        emit({**summary, "owners": owners, "picture": str(picture) if picture else None})
        return
    totals = ", ".join(f"{sum(each):,} {use}" for use, each in counts.items())
    print(f"{source.name}: {totals}, inputs {' x '.join(map(str, source.shape))}")
    for use, sizes in owners.items():
        middle = sizes[len(sizes) // 2]
        print(f"{use}: {len(sizes)} owners, {sizes[0]} to {sizes[-1]} examples each, {middle} in the middle")
    if not quiet:
        names = source.class_names or tuple(str(label) for label in range(source.classes))
        shown = [[f"{count:,}" for count in each] for each in counts.values()]
        rows = [(str(label), *cells) for label, cells in enumerate(zip(names, *shown, strict=True))]
        print_table(("class", "name", *counts), rows, left=2)
    if picture:
        print(f"Picture: {picture}")


@app.command("fetch")
def fetch_source(name: NameArgument, as_json: Json = False, quiet: Quiet = False) -> None:
    """Fetch a source's official files into the cache, checked; nothing is done for files that are here."""
    from fedclade.data.registry import source_named

    source = source_named(name)
    source.fetch()
    if as_json:
        emit({"name": name, "here": source.is_available()})
    elif not quiet:
        print(f"{name} is here")


@worlds_app.callback(invoke_without_command=True)
def worlds(context: typer.Context, as_json: Json = False, quiet: Quiet = False) -> None:
    """List the worlds: how examples are spread over clients; or show one."""
    if context.invoked_subcommand is None:
        from fedclade.cli.info import print_listing
        from fedclade.data import WORLDS

        print_listing(WORLDS, WORLDS.plugin, as_json, quiet)


@worlds_app.command("show")
def show_world(
    name: NameArgument,
    source: Annotated[str, typer.Option(help="Where the examples come from.")] = "digits",
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the world; repeatable.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    out: PictureOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Build a world, count what its clients have, and draw clients against classes."""
    from fedclade.data.recipe import read_recipe
    from fedclade.report.data_plots import class_counts, draw_world, order_by_group
    from fedclade.runs.experiment import apply_change

    tables: dict[str, object] = {"data": {"source": source, "world": name}}
    for change in changes or ():
        apply_change(tables, f"data.{change}")
    asked = tables["data"]
    assert isinstance(asked, dict)
    federation = read_recipe(asked).federation(seed)
    clients, groups = order_by_group(federation)
    sizes = class_counts(federation, clients).sum(axis=1)
    tests = [len(federation[client].test) for client in clients]
    picture = draw_world(federation, out or Path(f"{name}.png"))
    summary = {
        "name": federation.name,
        "clients": len(clients),
        "groups": [list(members) for members in federation.truth.members] if federation.truth is not None else None,
        "examples": int(sizes.sum()),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "changes": {str(later.round): sorted(later.data) for later in federation.changes},
        "joins": dict(federation.joins),
        "picture": str(picture),
    }
    if as_json:
        emit(summary)
        return
    print(f"{federation.name}: {len(clients):,} clients, {int(sizes.sum()):,} training examples")
    print(f"training examples of a client: {sizes.min()} to {sizes.max()}; test examples: {min(tests)} to {max(tests)}")
    if not quiet and federation.truth is not None:
        rows = []
        for number, members in enumerate(federation.truth.members):
            classes = sorted({int(label) for client in members for label in federation[client].train.labels})
            mine = [int(size) for size, group in zip(sizes, groups, strict=True) if group == number]
            rows.append((f"group {number}", class_ranges(classes), str(len(members)), f"{min(mine)}", f"{max(mine)}"))
        print_table(("group", "classes", "clients", "smallest", "largest"), rows, left=2)
    for later in federation.changes:
        print(f"round {later.round}: other data for {len(later.data)} clients")
    for number in sorted(set(federation.joins.values())):
        print(f"round {number}: {sum(joined == number for joined in federation.joins.values())} clients join")
    print(f"Picture: {picture}")


def class_ranges(classes: list[int]) -> str:
    """A list of classes, runs of them as first-last."""
    runs: list[list[int]] = []
    for label in classes:
        if runs and runs[-1][-1] == label - 1:
            runs[-1].append(label)
        else:
            runs.append([label])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
