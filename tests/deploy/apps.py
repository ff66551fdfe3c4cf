"""Plans of apps, and a port that is free."""

import socket
from pathlib import Path

from fedclade.deploy.plan import AppPlan


def planned(
    folder: Path,
    sites: tuple[str, ...] = ("site-1", "site-2"),
    hosts: tuple[str, ...] = ("127.0.0.1",),
    port: int = 8443,
    superlink_port: int = 8000,
) -> AppPlan:
    return AppPlan(folder=folder, sites=sites, hosts=hosts, port=port, superlink_port=superlink_port)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert isinstance(port, int)
    return port
