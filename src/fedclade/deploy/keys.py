"""Certificates and keys of a test fleet: a test CA, the server's certificate, one ECDSA key for each site.

Everything is on P-384. Private keys of certificates are PEM; those of sites are in OpenSSH's form, which Flower wants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fedclade.deploy.plan import VALIDITY, parse_address

TEST_AUTHORITY = "fedclade test CA"  # its subject; `deploy check` knows it by this
CLOCK_SKEW = timedelta(hours=1)  # clocks of sites that are behind


@dataclass(frozen=True)
class CertifiedKey:
    """A certificate, and the private key that goes with it."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def new_authority(now: datetime) -> CertifiedKey:
    """A certificate authority for this fleet alone."""
    key = new_key()
    name = common_name(TEST_AUTHORITY)
    builder = (
        certificate_builder(name, name, key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return CertifiedKey(builder.sign(key, hashes.SHA384()), key)


def server_certificate(authority: CertifiedKey, names: Sequence[str], now: datetime) -> CertifiedKey:
    """A certificate for a server with these names and addresses."""
    key, issuer = new_key(), authority.certificate
    alternatives = [
        x509.IPAddress(address) if (address := parse_address(name)) is not None else x509.DNSName(name)
        for name in names
    ]
    builder = (
        certificate_builder(common_name("fedclade server"), issuer.subject, key, now)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    return CertifiedKey(builder.sign(authority.key, hashes.SHA384()), key)


def site_key(name: str) -> tuple[bytes, bytes]:
    """A site's private key and its public line, both in OpenSSH's form."""
    key = new_key()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private, public + f" {name}\n".encode()


def new_key() -> ec.EllipticCurvePrivateKey:
    """A fresh ECDSA key on P-384."""
    return ec.generate_private_key(ec.SECP384R1())


def common_name(common: str) -> x509.Name:
    """A subject with a common name only."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def certificate_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    """A certificate that lacks its extensions and its signature."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(now + VALIDITY)
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """The use of a key: to sign certificates, or to take part in TLS."""
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
