"""A description of this machine, to stand beside every measurement."""

import os

from fedclade.runs.environment import environment

ENVIRONMENT_KEYS = ("python", "packages", "platform", "processor", "cores", "memory_bytes", "git_commit")


def machine() -> dict[str, object]:
    """Versions, cores, and their load now."""
    known = environment()
    return {**{name: known[name] for name in ENVIRONMENT_KEYS}, "load": list(os.getloadavg())}
