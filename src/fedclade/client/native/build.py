"""Builds the kernel beside its sources; needs Python and a C compiler only.

    python src/fedclade/client/native/build.py

It happens when the package is installed. Without a compiler nothing is built, and clients train on the batched path.
"""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = HERE / "kernel.so"
TWICE = ("dense", "layer", "pooling")  # compiled plainly, and for newer processors
# No -ffast-math, which changes the process that loads the library, and no -march=native, which is for one machine only.
# Nobody asks for floating-point traps or errno: without them comparisons become vectors.
FLAGS = ("-O3", "-fno-trapping-math", "-fno-math-errno", "-fPIC", "-std=gnu11", "-Wno-psabi")
FAST = ("-mavx2", "-mfma")


def fingerprint() -> str:
    """Of all sources: a library that was built from others is not used."""
    whole = hashlib.sha256()
    for source in sorted([*HERE.glob("*.c"), *HERE.glob("*.h"), Path(__file__)]):
        whole.update(source.name.encode() + b"\n" + source.read_bytes())
    return whole.hexdigest()[:16]


def compiler() -> list[str]:
    """The C compiler: what CC says, or the one that is here."""
    asked = shlex.split(os.environ.get("CC", ""))
    return asked or next(([found] for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), [])


def build() -> str:
    """Build the library; what was in the way, or empty."""
    LIBRARY.unlink(missing_ok=True)
    command = compiler()
    if not command:
        return "there is no C compiler"
    fast = platform.machine().lower() in ("x86_64", "amd64")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            objects: list[str] = []
            jobs = [(name, "plain", ()) for name in TWICE] + [(name, "fast", FAST) for name in TWICE if fast]
            for name, kind, extra in jobs:
                objects.append(f"{scratch}/{name}_{kind}.o")
                compile_one(command, name, objects[-1], [*extra, f"-DNAMED(name)=name##_{kind}"])
            objects.append(f"{scratch}/fast.o")
            compile_one(
                command, "fast", objects[-1], [f'-DSOURCES="{fingerprint()}"', *(["-DWITH_FAST"] if fast else [])]
            )
            made = f"{scratch}/kernel.so"
            subprocess.run([*command, "-shared", "-o", made, *objects, "-lm"], check=True, capture_output=True)
            aside = LIBRARY.with_suffix(f".{os.getpid()}")
            shutil.copyfile(made, aside)
            aside.replace(LIBRARY)  # whoever has the old one loaded keeps it
    except subprocess.CalledProcessError as error:
        return f"the compiler failed: {error.stderr.decode(errors='replace').strip()[-500:]}"
    except OSError as error:
        return str(error)
    return ""


def compile_one(command: list[str], name: str, to: str, extra: list[str]) -> None:
    """Compile one source."""
    subprocess.run([*command, *FLAGS, *extra, "-c", str(HERE / f"{name}.c"), "-o", to], check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(build() or 0)
