"""Certificates and keys as they lie in an app: their CA, the names they are for, their dates and their modes.

The server's certificate is tried as a site will: with a TLS handshake, in memory, that trusts only the CA.
"""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from fedclade.core import InputError
from fedclade.deploy.findings import Finding, missing, ok, warning, wrong
from fedclade.deploy.keys import TEST_AUTHORITY
from fedclade.deploy.plan import LOCAL_NAMES, check_sites

EXPIRES_SOON = timedelta(days=30)
RENEW = "renew it (see the app's README)"
CURVES = ("secp256r1", "secp384r1", "secp521r1")  # those that Flower takes


def check_certificates(folder: Path, address: str) -> Iterator[Finding]:
    """The CA and the server's certificate; `address` is what sites dial."""
    keys = folder / "keys"
    paths = {name: keys / name for name in ("ca.crt", "server.pem", "server.key")}
    absent = [name for name, path in paths.items() if not path.is_file()]
    for name in absent:
        yield missing(f"keys/{name}", "it is not there", "put it there, or take a new `fedclade deploy init`")
    yield from check_modes(folder)
    for name in ("ca.crt", "server.pem"):
        if name not in absent:
            yield from check_dates(paths[name], f"keys/{name}")
    if not absent:
        yield from check_handshakes(paths["ca.crt"], paths["server.pem"], paths["server.key"], address)


def check_modes(folder: Path) -> Iterator[Finding]:
    """Only their owner can read private files."""
    keys = folder / "keys"
    private = [keys / "ca.key", keys / "server.key", *site_key_files(folder)]
    seen = [path for path in private if path.is_file()]
    loose = [path for path in seen if path.stat().st_mode & 0o077]
    for path in loose:
        where = str(path.relative_to(folder))
        yield wrong(where, f"others can read it: mode {path.stat().st_mode & 0o777:o}", f"chmod 600 {where}")
    if keys.is_dir() and keys.stat().st_mode & 0o077:
        yield warning("keys", f"others can look into it: mode {keys.stat().st_mode & 0o777:o}", "chmod 700 keys")
    if seen and not loose:
        yield ok("keys", f"{len(seen)} private files are their owner's only")


def check_dates(path: Path, where: str) -> Iterator[Finding]:
    """The certificate can be read, and is valid for a while."""
    try:
        certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    except ValueError as error:
        yield wrong(where, f"it is no certificate: {error}", "put a PEM certificate there")
        return
    now, until = datetime.now(UTC), certificate.not_valid_after_utc
    if now >= until:
        yield wrong(where, f"it expired on {until:%Y-%m-%d}", RENEW)
    elif now < certificate.not_valid_before_utc:
        yield wrong(where, f"it is not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M}", "set the clock")
    elif until - now < EXPIRES_SOON:
        yield warning(where, f"it expires on {until:%Y-%m-%d}", RENEW)
    else:
        yield ok(where, f"valid until {until:%Y-%m-%d}")
    if is_test_authority(certificate):
        yield warning(where, "it is a test CA", "use your own before real data is at stake")


def is_test_authority(certificate: x509.Certificate) -> bool:
    """Whether `deploy init` made it, and it is a CA."""
    return certificate.subject == certificate.issuer and TEST_AUTHORITY in certificate.subject.rfc4514_string()


def check_handshakes(authority: Path, certificate: Path, key: Path, address: str) -> Iterator[Finding]:
    """Sites and flwr, which trust the CA, accept the server under every name that they dial."""
    where = "keys/server.pem"
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        server.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError) as error:
        mismatch = "MISMATCH" in str(error)
        said = "it does not belong to keys/server.pem" if mismatch else f"it cannot be used: {error}"
        yield wrong("keys/server.key", said, "put the certificate and its own key there")
        return
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        client.load_verify_locations(authority)
    except (ssl.SSLError, OSError) as error:
        yield wrong("keys/ca.crt", f"it cannot be trusted: {error}", "put the CA's certificate there")
        return
    dialled = address.rpartition(":")[0].strip("[]")
    if not dialled:
        yield missing("flower.env", "FLEET_ADDRESS is not set", "export FLEET_ADDRESS=HOST:PORT, what sites dial")
    names = [name for name in dict.fromkeys((dialled, *LOCAL_NAMES)) if name]
    refused = {name: reason for name in names if (reason := refusal_reason(client, server, name))}
    for name, reason in refused.items():
        yield wrong(
            where, f"a site that dials {name} refuses it: {reason}", "make one that the CA signed for this name"
        )
    if not refused:
        yield ok(where, f"signed by the CA, for {', '.join(names)}")


def refusal_reason(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> str:
    """Why a client that dials this name refuses the server; nothing if it does not."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (client.wrap_bio(down, up, server_hostname=name), server.wrap_bio(up, down, server_side=True))
    for _ in range(8):  # flights of a handshake: fewer than these
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return error.verify_message.rstrip(".")
            except ssl.SSLError as error:
                return str(error)
    return ""


def check_site_keys(folder: Path) -> Iterator[Finding]:
    """Every site's key is of a kind that Flower takes, its halves belong together, and its name can be a client's."""
    sites = folder / "keys" / "sites"
    publics = sorted(sites.glob("*.pub"))
    good = 0
    for path in site_key_files(folder):
        if not path.with_name(path.name + ".pub").is_file():
            yield missing(f"keys/sites/{path.name}.pub", "it is not there", f"ssh-keygen -y -f keys/sites/{path.name}")
    for path in publics:
        where, name = f"keys/sites/{path.name}", path.name.removesuffix(".pub")
        try:
            check_sites([name])
            public = load_ssh_public_key(path.read_bytes())
            private = path.with_name(name)  # not there where the site made its key itself, which is better
            other = public
            if private.is_file():
                other = load_ssh_private_key(private.read_bytes(), password=None).public_key()
        except InputError as error:
            yield wrong(where, str(error), "give the site another name")
            continue
        except (ValueError, TypeError, OSError) as error:
            yield wrong(where, f"a key cannot be read: {error}", "make a new pair: ssh-keygen -t ecdsa -b 384")
            continue
        if not isinstance(public, ec.EllipticCurvePublicKey) or public.curve.name not in CURVES:
            yield wrong(where, "it is no ECDSA key on a NIST curve", "make a new pair: ssh-keygen -t ecdsa -b 384")
        elif other != public:
            yield wrong(where, f"it does not belong to keys/sites/{name}", "put the pair together again")
        else:
            good += 1
    if not publics:
        yield missing("keys/sites", "no site has a key", "make one: ssh-keygen -t ecdsa -b 384 -f keys/sites/NAME")
    elif good == len(publics):
        yield ok("keys/sites", f"{good} sites have a key")


def site_key_files(folder: Path) -> list[Path]:
    """The private keys of sites."""
    sites = folder / "keys" / "sites"
    return sorted(path for path in sites.glob("*") if path.suffix != ".pub" and path.is_file())
