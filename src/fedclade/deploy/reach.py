"""Whether the control port can be reached: where the SuperLink listens, and what the public address answers."""

import http.client
import ipaddress
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from fedclade.core import InputError
from fedclade.deploy.findings import Finding, missing, ok, warning, wrong

LISTEN_STATE = "0A"  # the state of a socket in /proc/net/tcp
TIMEOUT = 10.0  # seconds for one answer
REFUSED = (403, 404)
CLOSED_PATHS = (  # must not be reached from outside
    ("POST", "/v1/control/list-nodes"),
    ("GET", "/v1/control/"),
    ("POST", "/v1/runtime/acquire-task"),
    ("GET", "/docs"),
    ("GET", "/openapi.json"),
)
DISGUISED_PATHS = (
    ("POST", "/v1/fleet/../control/list-nodes"),
    ("POST", "/v1/fleet/%2e%2e/control/list-nodes"),
    ("POST", "//v1/control/list-nodes"),
)
CLOSE_ADVICE = "let the proxy forward /v1/fleet/ only (nginx.conf), and bind the SuperLink to 127.0.0.1"


def check_superlink(port: str) -> Iterator[Finding]:
    """A SuperLink that runs here listens on loopback only."""
    if not port.isdigit():
        yield missing("flower.env", "SUPERLINK_PORT is not set", "export SUPERLINK_PORT=8000, or another")
        return
    found = listeners(int(port))
    if found is None:
        yield warning(
            "SuperLink", "this system does not show what listens", f"see that port {port} is on loopback only"
        )
        return
    outside = sorted(str(address) for address in found if not is_inside(address))
    if outside:
        yield wrong(
            "SuperLink", f"port {port} listens on {', '.join(outside)}: its control API is open to all", CLOSE_ADVICE
        )
    elif found:
        yield ok("SuperLink", f"port {port} listens on loopback only")
    else:
        yield ok("SuperLink", f"nothing listens on port {port} yet")


def is_inside(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether only this machine reaches it."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def listeners(port: int) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address] | None:
    """The addresses of this machine on which a program listens at this port; None where the system does not show it."""
    found: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = []
    tables = [path for path in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")) if path.is_file()]
    for path in tables:
        for line in path.read_text().splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, _, number = local.partition(":")
            if state == LISTEN_STATE and int(number, 16) == port:
                found.append(ipaddress.ip_address(network_order(bytes.fromhex(address))))
    return found if tables else None


def network_order(raw: bytes) -> bytes:
    """An address in the network's order; the kernel prints its 32-bit words in the machine's."""
    order = -1 if sys.byteorder == "little" else 1
    return b"".join(raw[start : start + 4][::order] for start in range(0, len(raw), 4))


def check_public(given: str, authority: Path) -> Iterator[Finding]:
    """The address that sites dial lets them through, and refuses the control API."""
    host, port = public_address(given)
    where = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    try:
        context = ssl.create_default_context(cafile=str(authority))
    except (OSError, ssl.SSLError):
        yield wrong(where, "it cannot be probed without keys/ca.crt", "put the CA's certificate there")
        return
    opened = False
    try:
        for method, path in (*CLOSED_PATHS, *DISGUISED_PATHS):
            status = probe_status(host, port, context, method, path)
            if status not in REFUSED and not ((method, path) in DISGUISED_PATHS and status == 400):
                opened = True
                yield wrong(where, f"{method} {path} is answered, with {status}: it must be refused", CLOSE_ADVICE)
        status = probe_status(host, port, context, "POST", "/v1/fleet/get-run")
    except (ssl.SSLError, http.client.HTTPException) as error:
        said = getattr(error, "verify_message", "") or str(error)
        yield wrong(where, f"it does not speak TLS with this app's CA: {said}", "see keys/server.pem and the proxy")
        return
    except OSError as error:
        yield wrong(where, f"it cannot be reached: {error}", "start the proxy, and see the firewall")
        return
    if not opened:
        yield ok(where, "control and runtime APIs are refused")
    if status in REFUSED:
        yield wrong(where, f"sites are refused as well: /v1/fleet/ answers {status}", "see nginx.conf")
    elif status >= 500:
        yield warning(where, f"no SuperLink behind it: /v1/fleet/ answers {status}", "./start-superlink.sh")
    else:
        yield ok(where, "sites get through to the SuperLink")


def public_address(given: str) -> tuple[str, int]:
    """Host and port of an https address."""
    try:
        parts = urlsplit(given if "://" in given else f"https://{given}")
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        host, port = None, 0
        parts = urlsplit("")
    if not host or parts.scheme != "https" or parts.path not in ("", "/"):
        need = "https://HOST:PORT, as sites dial it"
        raise InputError("the public address is not usable", where="--public", got=repr(given), need=need)
    return host, port


def probe_status(host: str, port: int, context: ssl.SSLContext, method: str, path: str) -> int:
    """The status of one answer. The path goes out as it stands."""
    connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT, context=context)
    try:
        connection.request(method, path, body=b"" if method == "POST" else None)
        return connection.getresponse().status
    finally:
        connection.close()
