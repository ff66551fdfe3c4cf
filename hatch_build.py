"""Builds the kernel when the package is installed, where there is a C compiler; without one there is no kernel."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = "src/fedclade/client/native"


class KernelHook(BuildHookInterface):
    """Compiles beside the sources, so that an editable install finds the kernel too, and puts it into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatch hands it over
        if self.target_name != "wheel":
            return
        builder = module_at(Path(self.root) / NATIVE / "build.py")
        if trouble := builder.build():
            self.app.display_warning(f"fedclade's kernel is not built, clients will train slower: {trouble}")
            return
        build_data["artifacts"].append(f"{NATIVE}/kernel.so")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def module_at(path: Path) -> ModuleType:
    """The module in this file: the package itself cannot be imported yet."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
