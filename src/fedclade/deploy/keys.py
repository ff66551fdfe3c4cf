"""Certificates and keys of a test fleet: a test CA, the server's certificate, one ECDSA key for each site.

Everything is on P-384. Private keys of certificates are PEM; those of sites are in OpenSSH's form, which Flower wants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from fedclade.deploy.plan import address_of
from fedclade.nouns import InputError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

TEST_AUTHORITY = "fedclade test CA"  # its subject; `deploy check` knows it by this
VALID = timedelta(days=365)
SKEW = timedelta(hours=1)  # clocks of sites that are behind


@dataclass(frozen=True)
class Certified:
    """A certificate, and the private key that goes with it."""

    certificate: "x509.Certificate"
    key: "ec.EllipticCurvePrivateKey"

    @property
    def certificate_pem(self) -> bytes:
        from cryptography.hazmat.primitives.serialization import Encoding

        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        from cryptography.hazmat.primitives import serialization

        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def need_cryptography() -> None:
    """Say what to install where `cryptography` is missing."""
    try:
        import cryptography.x509  # noqa: F401  (only whether it is there)
    except ImportError:
        raise InputError(
            "keys cannot be made or read", need="the package cryptography", do='pip install "fedclade[flower]"'
        ) from None


def new_authority(now: datetime) -> Certified:
    """A certificate authority that nobody but this fleet has a reason to trust."""
    from cryptography import x509

    key = new_key()
    name = named(TEST_AUTHORITY)
    builder = (
        started(name, name, key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return signed(builder, key, key)


def server_certificate(authority: Certified, names: Sequence[str], now: datetime) -> Certified:
    """A certificate for a server with these names and addresses."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key, issuer = new_key(), authority.certificate
    alternatives = [
        x509.IPAddress(address) if (address := address_of(name)) is not None else x509.DNSName(name) for name in names
    ]
    builder = (
        started(named("fedclade server"), issuer.subject, key, now)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    return signed(builder, key, authority.key)


def site_key(name: str) -> tuple[bytes, bytes]:
    """A site's private key and its public line, both in OpenSSH's form."""
    from cryptography.hazmat.primitives import serialization

    key = new_key()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return private, public + f" {name}\n".encode()


def new_key() -> "ec.EllipticCurvePrivateKey":
    """A fresh ECDSA key on P-384."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP384R1())


def named(common: str) -> "x509.Name":
    """A subject with a common name only."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def started(
    subject: "x509.Name", issuer: "x509.Name", key: "ec.EllipticCurvePrivateKey", now: datetime
) -> "x509.CertificateBuilder":
    """A certificate that lacks its extensions and its signature."""
    from cryptography import x509

    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SKEW)
        .not_valid_after(now + VALID)
    )


def usage(*, signs_certificates: bool) -> "x509.KeyUsage":
    """What a key may do: sign certificates, or take part in TLS."""
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def signed(
    builder: "x509.CertificateBuilder", key: "ec.EllipticCurvePrivateKey", signer: "ec.EllipticCurvePrivateKey"
) -> Certified:
    """The certificate, signed."""
    from cryptography.hazmat.primitives import hashes

    return Certified(builder.sign(signer, hashes.SHA384()), key)
