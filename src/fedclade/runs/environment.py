"""Where a run was made: versions, machine and commits, to make it again."""

import os
import platform
import subprocess
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    *("fedclade", "torch", "numpy", "scipy", "scikit-learn", "pydantic", "safetensors", "pyarrow"),
    *("plotly", "typer", "rich"),
)
EXTRAS = {"flower": "flwr", "umap": "umap-learn", "privacy": "opacus", "track": "mlflow-skinny"}


def environment() -> dict[str, object]:
    """Versions, machine, threads, and the commits of the folder that the run was started in and of fedclade itself."""
    return {
        "python": platform.python_version(),
        "packages": {name: found for name in (*PACKAGES, *EXTRAS.values()) if (found := installed_version(name))},
        "platform": platform.platform(),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "threads_per_worker": 1,
        "git_commit": git_output(Path.cwd(), "rev-parse", "HEAD"),
        "fedclade_commit": own_commit(),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }


def installed_version(package: str) -> str | None:
    """The version of a package that is installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def processor() -> str:
    """The processor's model: on another one torch may round otherwise."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def own_commit() -> str | None:
    """The commit of the clone that fedclade runs from, and whether its sources were changed since; None elsewhere."""
    sources = Path(__file__).parents[1]
    clone = sources.parents[1]
    if sources.parent.name != "src" or not (clone / ".git").exists():
        return None
    found = git_output(clone, "rev-parse", "HEAD")
    return f"{found}, changed" if found and git_output(clone, "status", "--porcelain", "--", str(sources)) else found


def git_output(folder: Path, *words: str) -> str | None:
    """The output of a git command in this folder; None where there is no git."""
    try:
        asked = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() if asked.returncode == 0 else None
