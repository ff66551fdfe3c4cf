"""Commands that tell what there is: methods, models, doctor."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fedclade.cli.screen import Json, Quiet, emit, print_entries, print_table

if TYPE_CHECKING:
    from fedclade.plugins import Plugin


def methods(as_json: Json = False, quiet: Quiet = False) -> None:
    """List the methods with their settings."""
    from fedclade.methods import METHODS

    print_listing({name: known.made for name, known in METHODS.items()}, METHODS.plugin, as_json, quiet)


def models(as_json: Json = False, quiet: Quiet = False) -> None:
    """List the nets that clients can train."""
    from fedclade.nets import NETS

    print_listing(NETS, NETS.plugin, as_json, quiet)


def print_listing(
    known: Mapping[str, type], plugin: "Callable[[str], Plugin | None]", as_json: bool, quiet: bool
) -> None:
    """Names, what each one is, its settings with their defaults, and the package of a plug-in."""
    from fedclade.core.settings import flat_table, settings_table
    from fedclade.core.settings_help import summary_of

    entries, rows = {}, []
    for name, made in known.items():
        summary, settings = summary_of(made), settings_table(made())
        entries[name] = {"summary": summary, "settings": settings, **package_fields(plugin(name))}
        defaults = ", ".join(f"{key} = {value}" for key, value in flat_table(settings).items())
        rows.append((name, summary + package_note(plugin(name)), defaults))
    print_entries(entries, ("name", "what it is", "settings and defaults"), rows, as_json, quiet)


def package_fields(plugin: "Plugin | None") -> dict[str, str]:
    """The package of a plug-in as keys of JSON; none for what is fedclade's own."""
    return {"package": plugin.package, "version": plugin.version} if plugin else {}


def package_note(plugin: "Plugin | None") -> str:
    """The package of a plug-in, behind what a table says of it."""
    return f" ({plugin.owner})" if plugin else ""


def doctor(as_json: Json = False, quiet: Quiet = False) -> None:
    """Tell what this machine has, and what is missing."""
    import multiprocessing
    import os
    import shutil
    from pathlib import Path

    from fedclade.cli.app import app
    from fedclade.cli.plugins import command_states
    from fedclade.data import SOURCES, WORLDS
    from fedclade.methods import METHODS
    from fedclade.nets import NETS
    from fedclade.runs.backend import training_paths
    from fedclade.runs.environment import EXTRAS, environment, installed_version

    machine = environment()
    folder = os.environ.get("FEDCLADE_DATA", "")
    broken = bool(folder) and not Path(folder).is_dir()
    registries = (METHODS, NETS, SOURCES, WORLDS)
    plugins = [*(state for registry in registries for state in registry.states()), *command_states(app)]
    checks = {
        "workers can be forked": "fork" in multiprocessing.get_all_start_methods(),
        "2 GB free here": shutil.disk_usage(".").free > 2e9,
        "FEDCLADE_DATA is a folder, or unset": not broken,
        "plug-ins can be used": all(state == "usable" for _, state in plugins),
    }
    extras = {extra: installed_version(package) for extra, package in EXTRAS.items()}
    here = [name for name, source in SOURCES.usable_entries().items() if not broken and source.is_available()]
    kernel, state, paths = training_paths()
    found = {
        **{name: machine[name] for name in ("python", "packages", "platform", "cores", "memory_bytes")},
        "extras": extras,
        "sources": here,
        "plugins": [
            {"kind": plugin.kind, "name": plugin.name, **package_fields(plugin), "state": state}
            for plugin, state in plugins
        ],
        "engine": {"name": "simulated", "kernel": kernel, "paths": paths, "threads_per_worker": 1},
        "checks": checks,
    }
    if as_json:
        emit(found)
        return
    rows = [(name, "yes" if good else "NO") for name, good in checks.items()]
    if not quiet:
        packages, memory = found["packages"], found["memory_bytes"]
        assert isinstance(packages, dict)
        assert isinstance(memory, int)
        rows = [
            ("python", str(found["python"])),
            *((str(name), str(version)) for name, version in packages.items()),
            *((f"extra {name}", version or "not installed") for name, version in extras.items()),
            ("sources here", ", ".join(here) or "none"),
            *((f"plug-in {plugin.kind} {plugin.name}", f"{state}, {plugin.owner}") for plugin, state in plugins),
            ("cores", str(found["cores"])),
            ("memory", f"{memory / 1e9:.1f} GB"),
            ("engine", "simulated, one thread per worker"),
            ("kernel", state),
            *((f"net {name}", f"{path} path") for name, path in paths.items()),
            *rows,
        ]
    print_table(("what", "here"), rows, left=2)
