"""What `deploy init` is asked for: the folder, the sites, the addresses; all of it checked before a file is written."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fedclade.nouns import InputError
from fedclade.nouns.clients import checked_ids

CONNECTION = "fleet"  # the SuperLink's name in Flower's config.toml
PACKAGE = "fleet_app"  # the app's Python package
MOST_SITES = 1000
LONGEST_SITE = 64  # characters: a name is a file's, a certificate's and a command's
ALWAYS = ("localhost", "127.0.0.1")  # names of the server that every certificate has
APP_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}")  # Flower's own rule for an app and its folder
SITE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LABEL = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An app that can be written."""

    folder: Path
    """Its full path."""
    sites: tuple[str, ...]
    """The clients' names, in the order given."""
    hosts: tuple[str, ...]
    """What sites dial: names or addresses, the first one in their script."""
    port: int
    """Where the proxy listens for sites."""
    superlink_port: int
    """Where the SuperLink listens, on loopback only."""

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
            raise InputError(
                "the proxy and the SuperLink cannot share a port",
                where="--port",
                got=f"{self.port} for both",
                need="two ports",
                do="choose another --port or --superlink-port",
            )

    @property
    def address(self) -> str:
        """What a site dials."""
        host = self.hosts[0]
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that the server's certificate must have."""
        return tuple(dict.fromkeys((*self.hosts, *ALWAYS)))

    @property
    def listens(self) -> tuple[str, ...]:
        """Where the proxy listens: on loopback if that is all that sites dial, else everywhere."""
        if all(is_loopback(host) for host in self.hosts):
            wanted = ["127.0.0.1", *(f"[{host}]" for host in self.hosts if ":" in host)]
            return tuple(f"{host}:{self.port}" for host in wanted)
        return (str(self.port), *([f"[::]:{self.port}"] if any(":" in host for host in self.hosts) else []))


def site_names(clients: str, count: int | None) -> tuple[str, ...]:
    """The sites of `--clients a,b` or of `--sites 2`."""
    if clients and count is not None:
        raise InputError("the sites are named twice", where="--sites", need="--clients or --sites, not both")
    if clients:
        return tuple(name.strip() for name in clients.split(","))
    wanted = 2 if count is None else count
    if not 1 <= wanted <= MOST_SITES:
        raise InputError("a number of sites is not usable", where="--sites", got=str(count), need=f"1 to {MOST_SITES}")
    return tuple(f"site-{number:0{len(str(wanted))}}" for number in range(1, wanted + 1))


def check_folder(folder: Path) -> None:
    """A folder that is new or empty, with a name that Flower takes."""
    if not APP_NAME.fullmatch(folder.name) or not str(folder).isprintable():
        raise InputError(
            "the folder's name is not usable",
            where=str(folder),
            got=repr(folder.name),
            need="a letter, then letters, digits and hyphens, 32 characters at most; Flower wants it so",
        )
    if folder.is_dir():
        try:
            found = sorted(path.name for path in folder.iterdir())
        except OSError as wrong:
            raise InputError(
                "the folder cannot be read", where=str(folder), got=str(wrong), need="a new or empty folder"
            ) from None
        if found:
            raise InputError(
                "the folder is taken",
                where=str(folder),
                got=", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else ""),
                need="a new or empty folder",
                do="choose another; nothing is overwritten",
            )
    elif folder.exists() or folder.is_symlink():
        raise InputError("the folder is taken", where=str(folder), got="a file", need="a new or empty folder")


def check_sites(sites: Sequence[str]) -> None:
    """Names that are good ids of clients, and that a shell, a file system and Flower take as they are."""
    checked_ids(sites, where="--clients")
    if len(sites) > MOST_SITES:
        raise InputError(
            "there are too many sites", where="--clients", got=str(len(sites)), need=f"{MOST_SITES} at most"
        )
    for site in sites:
        if not SITE_NAME.fullmatch(site) or len(site) > LONGEST_SITE or site.endswith(".pub"):
            raise InputError(
                "a site's name is not usable",
                where="--clients",
                got=repr(site[: LONGEST_SITE + 1]),
                need=f"letters, digits, dots, hyphens and underscores, a letter or digit first, no .pub at the end, "
                f"{LONGEST_SITE} characters at most",
            )
    if len({site.lower() for site in sites}) < len(sites):
        raise InputError(
            "two sites' names differ in case only", where="--clients", got=", ".join(sites), need="files of their own"
        )


def check_host(host: str) -> None:
    """A name or an address that somebody else can dial."""
    address = address_of(host)
    if address is not None:
        good = not address.is_unspecified and not address.is_multicast and "%" not in host
    else:
        labels = host.split(".")
        good = len(host) <= 253 and all(LABEL.fullmatch(label) for label in labels) and not labels[-1].isdigit()
    if not good:
        raise InputError(
            "a host is not usable",
            where="--host",
            got=repr(host[:300]),
            need="a name such as fleet.example.org, or an IP address, without a port",
        )


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The host as an IP address; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can dial it."""
    address = address_of(host)
    return address.is_loopback if address is not None else host.lower() == "localhost"
