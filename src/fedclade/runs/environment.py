"""Where a run was made: what one needs to know to make it again."""

import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "fedclade",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "pydantic",
    "safetensors",
    "pyarrow",
    "plotly",
    "typer",
    "rich",
)
EXTRAS = {"flower": "flwr", "umap": "umap-learn", "privacy": "opacus", "track": "mlflow-skinny"}


def environment() -> dict[str, object]:
    """Versions, machine, threads, and the commit of the folder that the run was started in."""
    return {
        "python": platform.python_version(),
        "packages": {name: found for name in (*PACKAGES, *EXTRAS.values()) if (found := installed(name))},
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "threads_per_worker": 1,
        "git_commit": commit(Path.cwd()),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def installed(package: str) -> str | None:
    """The version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit(folder: Path) -> str | None:
    """The commit that this folder is at; None where there is no git."""
    try:
        asked = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None
