"""What this machine is, beside any figure that it gave."""

import os
import platform

from fedclade.runs.environment import environment

WANTED = ("python", "packages", "platform", "cores", "memory_bytes", "git_commit")


def machine() -> dict[str, object]:
    """Versions, cores, and how busy they are with others' work now."""
    known = environment()
    return {
        **{name: known[name] for name in WANTED},
        "processor": processor(),
        "load": list(os.getloadavg()),
    }


def processor() -> str:
    """The processor's name, as far as the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as told:
            for line in told:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
