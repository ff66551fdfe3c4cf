"""The plan of an app: the folder, the sites, the addresses; all of it checked before a file is written."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from fedclade.core import InputError
from fedclade.core.ids import checked_ids

CONNECTION = "fleet"  # the SuperLink's name in Flower's config.toml
PACKAGE = "fleet_app"  # the app's Python package
MAX_SITES = 1000
MAX_SITE_LENGTH = 64  # characters: a name is a file's, a certificate's and a command's
VALIDITY = timedelta(days=365)  # of the certificates that are made
LOCAL_NAMES = ("localhost", "127.0.0.1")  # names of the server that every certificate has
APP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}")  # Flower's own rule for an app and its folder
SITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
HOST_LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")


@dataclass(frozen=True, kw_only=True)
class AppPlan:
    """An app that can be written."""

    folder: Path
    """Its full path."""
    sites: tuple[str, ...]
    """The clients' names, in the order given."""
    hosts: tuple[str, ...]
    """The names or addresses that sites dial, the first one in their script."""
    port: int
    """The port at which the proxy listens for sites."""
    superlink_port: int
    """The port at which the SuperLink listens, on loopback only."""

    def __post_init__(self) -> None:
        check_folder(self.folder)
        check_sites(self.sites)
        for host in self.hosts:
            check_host(host)
        if len({host.lower() for host in self.hosts}) < len(self.hosts) or not self.hosts:
            raise InputError("hosts are not usable", where="--host", got=", ".join(self.hosts), need="each one once")
        for option, port in (("--port", self.port), ("--superlink-port", self.superlink_port)):
            if not 1 <= port <= 65535:
                raise InputError("a port is not usable", where=option, got=str(port), need="1 to 65535")
        if self.port == self.superlink_port:
            got = f"{self.port} for both"
            do = "choose another --port or --superlink-port"
            raise InputError(
                "the proxy and the SuperLink cannot share a port", where="--port", got=got, need="two ports", do=do
            )

    @property
    def address(self) -> str:
        """The address that a site dials."""
        host = self.hosts[0]
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def server_names(self) -> tuple[str, ...]:
        """Every name that the server's certificate must have."""
        return tuple(dict.fromkeys((*self.hosts, *LOCAL_NAMES)))

    @property
    def listen_addresses(self) -> tuple[str, ...]:
        """The addresses of the proxy: loopback if that is all that sites dial, else all."""
        if all(is_loopback(host) for host in self.hosts):
            wanted = ["127.0.0.1", *(f"[{host}]" for host in self.hosts if ":" in host)]
            return tuple(f"{host}:{self.port}" for host in wanted)
        return (str(self.port), *([f"[::]:{self.port}"] if any(":" in host for host in self.hosts) else []))


def require_cryptography() -> None:
    """An error that says what to install, where `cryptography` is missing: only modules that need it import it."""
    try:
        import cryptography.x509  # noqa: F401  (only whether it is there)
    except ImportError:
        need, do = "the package cryptography", 'pip install "fedclade[flower]"'
        raise InputError("keys cannot be made or read", need=need, do=do) from None


def site_names(clients: str, count: int | None) -> tuple[str, ...]:
    """The sites of `--clients a,b` or of `--sites 2`."""
    if clients and count is not None:
        raise InputError("the sites are named twice", where="--sites", need="--clients or --sites, not both")
    if clients:
        return tuple(name.strip() for name in clients.split(","))
    wanted = 2 if count is None else count
    if not 1 <= wanted <= MAX_SITES:
        raise InputError("a number of sites is not usable", where="--sites", got=str(count), need=f"1 to {MAX_SITES}")
    return tuple(f"site-{number:0{len(str(wanted))}}" for number in range(1, wanted + 1))


def check_folder(folder: Path) -> None:
    """An error unless the folder is new or empty, with a name that Flower takes."""
    if not APP_NAME.fullmatch(folder.name) or not str(folder).isprintable():
        need = "a letter, then letters, digits and hyphens, 32 characters at most; Flower wants it so"
        raise InputError("the folder's name is not usable", where=str(folder), got=repr(folder.name), need=need)
    if folder.is_dir():
        try:
            found = sorted(path.name for path in folder.iterdir())
        except OSError as error:
            need = "a new or empty folder"
            raise InputError("the folder cannot be read", where=str(folder), got=str(error), need=need) from None
        if found:
            got = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
            do = "choose another; nothing is overwritten"
            raise InputError("the folder is taken", where=str(folder), got=got, need="a new or empty folder", do=do)
    elif folder.exists() or folder.is_symlink():
        raise InputError("the folder is taken", where=str(folder), got="a file", need="a new or empty folder")


def check_sites(sites: Sequence[str]) -> None:
    """An error unless these are good ids of clients, which a shell, a file system and Flower take as they are."""
    checked_ids(sites, where="--clients")
    if len(sites) > MAX_SITES:
        got = str(len(sites))
        raise InputError("there are too many sites", where="--clients", got=got, need=f"{MAX_SITES} at most")
    for site in sites:
        if not SITE_NAME.fullmatch(site) or len(site) > MAX_SITE_LENGTH or site.endswith(".pub"):
            need = "letters, digits, dots, hyphens and underscores, a letter or digit first, no .pub at the end, "
            need, got = need + f"{MAX_SITE_LENGTH} characters at most", repr(site[: MAX_SITE_LENGTH + 1])
            raise InputError("a site's name is not usable", where="--clients", got=got, need=need)
    if len({site.lower() for site in sites}) < len(sites):
        got = ", ".join(sites)
        raise InputError("two sites' names differ in case only", where="--clients", got=got, need="files of their own")


def check_host(host: str) -> None:
    """An error unless this is a name or an address that a site can dial."""
    address = parse_address(host)
    if address is not None:
        good = not address.is_unspecified and not address.is_multicast and "%" not in host
    else:
        labels = host.split(".")
        good = len(host) <= 253 and all(HOST_LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit()
    if not good:
        need = "a name such as fleet.example.org, or an IP address, without a port"
        raise InputError("a host is not usable", where="--host", got=repr(host[:300]), need=need)


def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The host as an IP address; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can dial it."""
    address = parse_address(host)
    return address.is_loopback if address is not None else host.lower() == "localhost"
