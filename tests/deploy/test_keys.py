"""Certificates and keys, judged by others: openssl, cryptography's own verifier, ssh-keygen."""

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="it comes with Flower, which is an extra")

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from fedclade.deploy.keys import new_authority, server_certificate, site_key

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = ("fleet.example.org", "10.0.0.7", "2001:db8::7", "localhost", "127.0.0.1")
openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl command here")


def said(*words: str | Path) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_chain_is_good_for_every_name_and_no_other() -> None:
    authority = new_authority(NOW)
    server = server_certificate(authority, NAMES, NOW)

    def verify(name: str, at: datetime = NOW, trusted: x509.Certificate = authority.certificate) -> None:
        subject: x509.IPAddress | x509.DNSName
        try:
            subject = x509.IPAddress(ip_address(name))
        except ValueError:
            subject = x509.DNSName(name)
        builder = PolicyBuilder().store(Store([trusted])).time(at)
        builder.build_server_verifier(subject).verify(server.certificate, [])

    for name in NAMES:
        verify(name)
    for name in ("other.example.org", "10.0.0.8"):
        with pytest.raises(VerificationError):
            verify(name)
    verify("localhost", NOW + timedelta(days=364))
    for at in (NOW + timedelta(days=366), NOW - timedelta(hours=2)):
        with pytest.raises(VerificationError):
            verify("localhost", at)
    with pytest.raises(VerificationError):
        verify("localhost", trusted=new_authority(NOW).certificate)
    assert site_key("a")[1].split()[1] != site_key("a")[1].split()[1]
    assert new_authority(NOW).certificate.serial_number != new_authority(NOW).certificate.serial_number


@openssl
def test_openssl_agrees(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    authority = new_authority(now)
    server = server_certificate(authority, NAMES, now)
    (tmp_path / "ca.crt").write_bytes(authority.certificate_pem)
    (tmp_path / "server.pem").write_bytes(server.certificate_pem)
    (tmp_path / "server.key").write_bytes(server.key_pem)
    verify = ("openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", tmp_path / "ca.crt")
    assert said(*verify, "-verify_hostname", "fleet.example.org", tmp_path / "server.pem").endswith(": OK\n")
    assert said(*verify, "-verify_ip", "10.0.0.7", tmp_path / "server.pem").endswith(": OK\n")
    assert "hostname mismatch" in said(*verify, "-verify_hostname", "example.org", tmp_path / "server.pem")
    public = ("openssl", "x509", "-pubkey", "-noout", "-in", tmp_path / "server.pem")
    assert said(*public) == said("openssl", "pkey", "-pubout", "-in", tmp_path / "server.key")
    text = said("openssl", "x509", "-text", "-noout", "-in", tmp_path / "ca.crt")
    assert "CA:TRUE, pathlen:0" in text
    assert "ASN1 OID: secp384r1" in text


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen command here")
def test_a_site_key_is_one_of_openssh(tmp_path: Path) -> None:
    private, public = site_key("site-1")
    path = tmp_path / "site-1"
    path.write_bytes(private)
    path.chmod(0o600)
    (tmp_path / "site-1.pub").write_bytes(public)
    assert said("ssh-keygen", "-y", "-P", "", "-f", path).split()[:2] == public.decode().split()[:2]
    assert public.startswith(b"ecdsa-sha2-nistp384 ")
    assert public.endswith(b" site-1\n")
    assert said("ssh-keygen", "-l", "-f", tmp_path / "site-1.pub").startswith("384 ")
