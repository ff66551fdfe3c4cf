"""Which packages a run's method, net, source and world come from: noted with the run, asked for when it is resumed."""

from collections.abc import Mapping
from pathlib import Path

from fedclade.core import FedcladeError, InputError
from fedclade.data import SOURCES, WORLDS
from fedclade.methods import METHODS
from fedclade.nets import NETS
from fedclade.plugins import Plugin
from fedclade.runs.experiment import Experiment
from fedclade.store.run_folder import RunFolder


def plugins_of(experiment: Experiment) -> dict[str, dict[str, str]]:
    """The plug-ins of an experiment by kind: their name, package and version. Empty: all is fedclade's own."""
    used: dict[str, Plugin | None] = {
        "method": METHODS.plugin(experiment.method_name),
        "net": NETS.plugin(str(experiment.net["name"])),
        "source": SOURCES.plugin(experiment.source),
        "world": WORLDS.plugin(str(experiment.data.get("world", ""))),
    }
    return {
        kind: {"name": plugin.name, "package": plugin.package, "version": plugin.version}
        for kind, plugin in used.items()
        if plugin is not None
    }


def with_package(error: InputError, run: Path) -> InputError:
    """The error of a run that cannot be read; for a name that is not known, with the package that must be installed."""
    kind = next((kind for kind in ("method", "net", "source", "world") if error.what == f"the {kind} is not known"), "")
    if not kind:
        return error
    do = "install the package that brings it"
    if package := recorded_package(run, kind):
        do += f": pip install {package}"
    elif kind == "method":
        do += ", or register your own in Python first: fedclade.register(name, Class)"
    return InputError(error.what, where=error.where, got=error.got, need=error.need, do=do)


def recorded_package(run: Path, kind: str) -> str:
    """The package that a run's plug-in of this kind came from, as pip names a version; empty if it was not noted."""
    try:
        plugins = RunFolder.open(run).environment().get("plugins")
    except FedcladeError:  # the unknown name is the error to report
        return ""
    plugin = plugins.get(kind) if isinstance(plugins, Mapping) else None
    return f"{plugin.get('package')}=={plugin.get('version')}" if isinstance(plugin, Mapping) else ""
