"""Names and their entries: fedclade's own, those that a user adds, and plug-ins of installed packages.

Plug-ins are imported when a registry is first read, never while fedclade itself is imported.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import TypeVar

from fedclade.core.errors import InputError, NameTaken
from fedclade.core.settings import is_settings, unknown_name_error
from fedclade.plugins import Clash, Plugin, clashes, entry_point_group, load_plugin, plugin_states, plugins

Entry = TypeVar("Entry")


class Registry(MutableMapping[str, Entry]):
    """Entries by name. To read it is an error while a name has two owners."""

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, Entry],
        *,
        accept: Callable[[object], Entry],
        need: str,
        reserved: tuple[str, ...] = (),
        module_of: Callable[[Entry], str] = lambda entry: str(entry.__module__),
        identity: Callable[[Entry], object] = lambda entry: entry,
    ) -> None:
        """`accept` makes an entry of a plug-in's object, or raises an error; `need` says in words what it accepts.

        `reserved` are names that mean something else in an experiment; `identity` is what makes two entries the same.
        """
        self.kind, self.registered_entries = kind, dict(entries)
        self._accept, self._need, self._reserved, self._module_of = accept, need, reserved, module_of
        self._identity = identity

    def __getitem__(self, name: str) -> Entry:
        return self._entries()[name]

    def __setitem__(self, name: str, entry: Entry) -> None:
        self.registered_entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self.registered_entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def find(self, name: str, where: str) -> Entry:
        """The entry of this name; an error that says where it was asked for, and what is known, if there is none."""
        known = self._entries()
        if name not in known:
            error = unknown_name_error(f"the {self.kind}", where, name, known)
            do = error.do or "install the package that brings it, if it is a plug-in"
            raise InputError(error.what, where=error.where, got=error.got, need=error.need, do=do)
        return known[name]

    def plugin(self, name: str) -> Plugin | None:
        """The plug-in that brings this name; None: it is not a plug-in's."""
        return next((each for each in plugins(self.kind) if each.name == name and self._load(each) is not None), None)

    def usable_entries(self) -> dict[str, Entry]:
        """All that can be used, with the first owner of a name that has several. Never an error."""
        found = dict(self.registered_entries)
        for plugin in plugins(self.kind):
            free = plugin.name not in found and plugin.name not in self._reserved
            if free and (made := self._load(plugin)) is not None:
                found[plugin.name] = made
        return found

    def clashes(self) -> dict[str, Clash]:
        """The names that have several owners."""
        owners = dict.fromkeys(self._reserved, "fedclade")
        for name, entry in self.registered_entries.items():
            module = self._module_of(entry).partition(".")[0]
            owners[name] = "fedclade" if module == "fedclade" else f"module {module}, by fedclade.register"
        for plugin in plugins(self.kind):
            # A package may register in Python what it also declares.
            if owners.get(plugin.name, "fedclade") != "fedclade":
                made = self._load(plugin)
                if made is not None and self._identity(made) == self._identity(self.registered_entries[plugin.name]):
                    del owners[plugin.name]
        return clashes(self.kind, owners)

    def states(self) -> list[tuple[Plugin, str]]:
        """Every plug-in of this kind, and whether it can be used."""
        return plugin_states(self.kind, self.clashes(), self._load)

    def _load(self, plugin: Plugin) -> Entry | None:
        return load_plugin(plugin, self._accept, self._need)

    def _entries(self) -> dict[str, Entry]:
        for clash in self.clashes().values():
            raise name_taken_error(clash)
        return self.usable_entries()


def name_taken_error(clash: Clash) -> NameTaken:
    kind = clash.plugins[0].kind
    owners = [*([clash.owner] if clash.owner else []), *(plugin.owner for plugin in clash.plugins)]
    what, got = f"the name of a {kind} is taken", f'"{clash.name}" of {" and of ".join(owners)}'
    do = " or ".join(f"pip uninstall {plugin.package}" for plugin in clash.plugins)
    return NameTaken(what, where=entry_point_group(kind), got=got, need="one owner", do=do)


def check_class(found: object, *functions: str) -> None:
    """An error unless this is a class of settings that all have a default, with these functions."""
    if not is_settings(found):
        raise TypeError(f"{getattr(found, '__name__', type(found).__name__)} is not a class of @settings")
    for name in functions:
        if not callable(getattr(found, name, None)):
            raise TypeError(f"{found.__name__} has no function {name}")
    found()
