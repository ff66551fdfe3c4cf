"""Check what leaves the server: Flower's bundle of the app, built by Flower itself."""

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from fedclade.deploy.findings import Finding, missing, ok, warning, wrong

FLOWER_RELEASE = (1, 41)  # of Flower: the release that this was built and tried with
PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
TIMEOUT = 120  # seconds for `flwr build`
INSTALL = 'pip install "fedclade[flower]"'


def check_flower() -> Iterator[Finding]:
    """Flower is installed, in a release that fedclade knows."""
    try:
        found = version("flwr")
    except PackageNotFoundError:
        yield missing("flwr", "it is not installed", INSTALL)
        return
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) == FLOWER_RELEASE:
        yield ok("flwr", f"{found} is installed")
    else:
        yield wrong("flwr", f"{found} is installed, which fedclade does not know", INSTALL)


def check_bundle(folder: Path) -> Iterator[Finding]:
    """The bundle that Flower sends to every site has no key in it, and no file that was not meant to be."""
    command = Path(sys.executable).with_name("flwr")
    if not command.is_file():
        yield missing("bundle", "the flwr command is not here, so the bundle cannot be checked", INSTALL)
        return
    with tempfile.TemporaryDirectory() as aside:
        quiet = {"FLWR_HOME": aside, "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
        try:
            built = subprocess.run(
                [str(command), "build", "--app", str(folder)],
                cwd=aside,
                env={**os.environ, **quiet, "NO_COLOR": "1", "COLUMNS": "1000"},
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            yield wrong("bundle", f"flwr build took more than {TIMEOUT} s", "look for large folders in the app")
            return
        bundles = list(Path(aside).glob("*.fab"))
        if built.returncode or not bundles:
            boxed = (line.strip("│ ") for line in built.stderr.splitlines() if line.startswith("│"))  # as flwr draws it
            yield wrong("bundle", f"flwr build failed: {' '.join(boxed)}", "correct pyproject.toml")
            return
        with zipfile.ZipFile(bundles[0]) as bundle:
            yield from check_contents(bundle)


def check_contents(bundle: zipfile.ZipFile) -> Iterator[Finding]:
    """A bundle has code and settings, and no key."""
    names = sorted(name for name in bundle.namelist() if not name.startswith(".info/"))
    secret = [name for name in names if PRIVATE_KEY.search(bundle.read(name)) or name.startswith("keys/")]
    for name in secret:
        yield wrong("bundle", f"{name} would go to every site, and it is a key", "take it out of fab-include")
    for name in names:
        code = name.endswith(".py") or name in ("pyproject.toml", "experiment.toml")
        if name not in secret and not code:
            yield warning("bundle", f"{name} would go to every site", "take it out of fab-include, or be sure")
    if not secret:
        yield ok("bundle", f"no key is among its {len(names)} files")
