"""Write a Flower app that a user can edit: code, experiment, scripts, proxy, certificates and keys, and its README."""

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from fedclade.core import InputError
from fedclade.deploy.plan import CONNECTION, PACKAGE, VALIDITY, AppPlan, require_cryptography

OPEN_CONTROL = (
    "Flower's control port has no authentication: whoever reaches it can enrol sites and run code on the server and "
    "at every site. Keep the SuperLink on 127.0.0.1, and let sites reach the proxy only."
)
TEST_CA = "The CA in keys/ is a test CA, made here without ceremony: use your own before real data is at stake."
PRIVATE, PUBLIC, SCRIPT = 0o600, 0o644, 0o755
MAX_EXAMPLE_CLIENTS = 40  # clients that the example data are spread over, at most


@dataclass(frozen=True)
class File:
    """A file of the app."""

    content: bytes
    mode: int = PUBLIC


def write_app(plan: AppPlan) -> list[Path]:
    """Write the whole app, or nothing of it; returns its files."""
    require_cryptography()
    files = {**text_files(plan), **key_files(plan, datetime.now(UTC))}
    try:
        plan.folder.parent.mkdir(parents=True, exist_ok=True)
        # Beside its place and then moved, so that half an app is never there.
        aside = Path(tempfile.mkdtemp(prefix=f".{plan.folder.name}-", dir=plan.folder.parent))
        try:
            for name, file in files.items():
                write(aside, name, file)
            aside.chmod(0o755)
            move(aside, plan.folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        need = "a new folder that can be written"
        raise InputError("the app cannot be written", where=str(plan.folder), got=str(error), need=need) from None
    return [plan.folder / name for name in files]


def write(folder: Path, name: str, file: File) -> None:
    """Write a file with its mode from its first byte on; only their owner can open the folders keys and .flwr."""
    path = folder / name
    path.parent.mkdir(mode=0o700 if name.startswith(("keys/", ".flwr/")) else 0o755, parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode), "wb") as opened:
        os.fchmod(opened.fileno(), file.mode)  # whatever the umask
        opened.write(file.content)


def move(aside: Path, folder: Path) -> None:
    """Put the app in its place. A folder that is there and empty may be the current one of a shell, and is kept."""
    if folder.is_dir():
        for path in sorted(aside.iterdir()):
            if (folder / path.name).exists():
                raise FileExistsError(f"{folder / path.name} has just appeared")
            path.rename(folder / path.name)
    else:
        aside.rename(folder)


def text_files(plan: AppPlan) -> dict[str, File]:
    """Every file that people read, from its template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    pages = Environment(
        loader=PackageLoader("fedclade.deploy"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # TOML, shell and Python: what goes in was checked, or is quoted by `toml` and `shell`
    )
    # A string of JSON is a basic string of TOML, for text that is printable.
    pages.filters |= {"toml": partial(json.dumps, ensure_ascii=False), "shell": shlex.quote}
    known = template_values(plan)
    found = {}
    for name in pages.list_templates():
        content = pages.get_template(name).render(known).encode()
        found[name.removesuffix(".j2").replace("dot-", ".")] = File(content, SCRIPT if ".sh" in name else PUBLIC)
    return found


def template_values(plan: AppPlan) -> Mapping[str, object]:
    """The values that the templates may use."""
    return {
        "name": plan.folder.name,
        "folder": str(plan.folder),
        "package": PACKAGE,
        "connection": CONNECTION,
        "sites": plan.sites,
        "hosts": plan.hosts,
        "names": plan.server_names,
        "address": plan.address,
        "port": plan.port,
        "listens": plan.listen_addresses,
        "superlink_port": plan.superlink_port,
        "example_clients": max(4, min(len(plan.sites), MAX_EXAMPLE_CLIENTS)),
        "registrations": registrations(plan),
        "open_control": OPEN_CONTROL,
        "test_ca": TEST_CA,
        "days": VALIDITY.days,
    }


def key_files(plan: AppPlan, now: datetime) -> dict[str, File]:
    """The test CA, the server's certificate and every site's key."""
    from fedclade.deploy.keys import new_authority, server_certificate, site_key

    authority = new_authority(now)
    server = server_certificate(authority, plan.server_names, now)
    files = {
        "keys/ca.crt": File(authority.certificate_pem),
        "keys/ca.key": File(authority.key_pem, PRIVATE),
        "keys/server.pem": File(server.certificate_pem),
        "keys/server.key": File(server.key_pem, PRIVATE),
    }
    for site in plan.sites:
        private, public = site_key(site)
        files[f"keys/sites/{site}"] = File(private, PRIVATE)
        files[f"keys/sites/{site}.pub"] = File(public)
    return files


def registrations(plan: AppPlan) -> list[str]:
    """The commands that make the sites known to the SuperLink. The name is the one that the site says of itself."""
    return [f"flwr supernode register keys/sites/{site}.pub {CONNECTION} --name {site}" for site in plan.sites]
