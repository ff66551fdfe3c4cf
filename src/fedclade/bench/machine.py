"""What this machine is, beside any figure that it gave."""

import os

from fedclade.runs.environment import environment

WANTED = ("python", "packages", "platform", "processor", "cores", "memory_bytes", "git_commit")


def machine() -> dict[str, object]:
    """Versions, cores, and how busy they are with others' work now."""
    known = environment()
    return {**{name: known[name] for name in WANTED}, "load": list(os.getloadavg())}
