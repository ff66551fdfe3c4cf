"""What leaves the server: Flower's bundle of the app, made by Flower itself and looked into."""

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

RANGE = (1, 41)  # of Flower: the release that this was built and tried with
SECRET = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
PATIENCE = 120  # seconds for `flwr build`
INSTALL = 'pip install "fedclade[flower]"'


def check_flower() -> Iterator[Finding]:
    """Flower is installed, in a release that fedclade knows."""
    try:
        found = version("flwr")
    except PackageNotFoundError:
        yield missing("flwr", "it is not installed", INSTALL)
        return
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) == RANGE:
        yield ok("flwr", f"{found} is installed")
    else:
        yield wrong("flwr", f"{found} is installed, which fedclade does not know", INSTALL)


def check_bundle(folder: Path) -> Iterator[Finding]:
    """No key is in what Flower sends to every site, and nothing else that was not meant to be."""
    command = Path(sys.executable).with_name("flwr")
    if not command.is_file():
        yield missing("bundle", "the flwr command is not here, so nobody knows what would be bundled", INSTALL)
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
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            yield wrong("bundle", f"flwr build took more than {PATIENCE} s", "look for large folders in the app")
            return
        bundles = list(Path(aside).glob("*.fab"))
        if built.returncode or not bundles:
            yield wrong("bundle", f"flwr build failed: {unboxed(built.stderr)}", "mend pyproject.toml")
            return
        with zipfile.ZipFile(bundles[0]) as bundle:
            yield from looked_through(bundle)


def unboxed(text: str) -> str:
    """An error of flwr without the box that it draws around it."""
    return " ".join(line.strip("│ ") for line in text.splitlines() if line.startswith("│"))


def looked_through(bundle: zipfile.ZipFile) -> Iterator[Finding]:
    """What is in a bundle, and what should not be."""
    names = sorted(name for name in bundle.namelist() if not name.startswith(".info/"))
    secret = [name for name in names if SECRET.search(bundle.read(name)) or name.startswith("keys/")]
    for name in secret:
        yield wrong("bundle", f"{name} would go to every site, and it is a key", "take it out of fab-include")
    for name in names:
        code = name.endswith(".py") or name in ("pyproject.toml", "experiment.toml")
        if name not in secret and not code:
            yield warning("bundle", f"{name} would go to every site", "take it out of fab-include, or be sure")
    if not secret:
        yield ok("bundle", f"no key is among its {len(names)} files")
