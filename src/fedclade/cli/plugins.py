"""Commands that installed packages bring, by entry points `fedclade.commands`.

A package is imported only if its command is called, or if all commands are listed.
"""

from collections.abc import Sequence
from copy import copy
from functools import partial
from inspect import isroutine
from typing import TYPE_CHECKING

import typer

from fedclade.plugins import Clash, Plugin, clashes, load_plugin, plugin_states, plugins, warn

if TYPE_CHECKING:
    from fedclade.core import NameTaken

NEED = "a function that typer can make a command of, or a typer.Typer"


def with_plugins(app: typer.Typer, arguments: Sequence[str]) -> typer.Typer:
    """The command tree with the plug-in that these arguments call, or with all of them where help is asked for."""
    clash = command_clashes(app)
    if not arguments or arguments[0] in ("-h", "--help"):
        for each in clash.values():
            warn(str(clash_error(each)))
        return tree_with(app, [plugin for plugin in plugins("command") if plugin.name not in clash])
    if arguments[0] in clash:
        raise clash_error(clash[arguments[0]])
    return tree_with(app, [plugin for plugin in plugins("command") if plugin.name == arguments[0]])


def tree_with(app: typer.Typer, found: Sequence[Plugin]) -> typer.Typer:
    """The tree with the commands of these plug-ins, where they can be used. The tree itself is not changed."""
    tree = copy(app)
    tree.registered_commands, tree.registered_groups = [*app.registered_commands], [*app.registered_groups]
    for plugin in found:
        if (added := plugin_command(plugin)) is not None:
            tree.registered_commands += added.registered_commands
            tree.registered_groups += added.registered_groups
    return tree


def plugin_command(plugin: Plugin) -> typer.Typer | None:
    """A tree with nothing but this plug-in's command; None, and a warning, if it cannot be used."""
    return load_plugin(plugin, partial(accept, plugin.name), NEED)


def accept(name: str, found: object) -> typer.Typer:
    """A tree with nothing but this command."""
    alone = typer.Typer()
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    elif isroutine(found):
        alone.command(name)(found)
    else:
        raise TypeError(f"{type(found).__name__} is neither a function nor a typer.Typer")
    typer.main.get_group(alone)  # an error for parameters that typer does not know
    return alone


def command_names(app: typer.Typer) -> set[str]:
    """The commands of a tree."""
    commands, groups = app.registered_commands, app.registered_groups
    return {str(command.name) for command in commands} | {str(group.name) for group in groups}


def command_states(app: typer.Typer) -> list[tuple[Plugin, str]]:
    """Every command that a package brings, and whether it can be used."""
    return plugin_states("command", command_clashes(app), plugin_command)


def command_clashes(app: typer.Typer) -> dict[str, Clash]:
    """The commands that have several owners."""
    return clashes("command", dict.fromkeys(command_names(app), "fedclade"))


def clash_error(clash: Clash) -> "NameTaken":
    """The error for a command that has several owners."""
    from fedclade.core.registry import name_taken_error  # it imports numpy, which takes a while

    return name_taken_error(clash)
