"""Certificates for servers on loopback: PEM files with their keys, each with one thing wrong or none."""

from __future__ import annotations

import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Authority:
    """One that nobody knows; `pem` is its own certificate."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("An authority of the tests")
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        built = _builder(self._name, self._name, self._key).add_extension(constraints, critical=True)
        self.pem = folder / "authority.pem"
        self.pem.write_bytes(_pem(built.sign(self._key, hashes.SHA256())))

    def issue(self, host: str, *, days_from: int = -1, days_to: int = 1) -> Path:
        """For `host`, valid so many days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(_name(host), self._name, key, days_from, days_to).add_extension(
            x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False
        )
        return self._write(f"{host}{days_from}{days_to}", key, built.sign(self._key, hashes.SHA256()))

    def self_signed(self, host: str) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        built = _builder(_name(host), _name(host), key).add_extension(
            x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False
        )
        return self._write("self-signed", key, built.sign(key, hashes.SHA256()))

    def _write(self, name, key, certificate) -> Path:
        path = self._folder / f"{name}.pem"
        plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path.write_bytes(key.private_bytes(serialization.Encoding.PEM, *plain) + _pem(certificate))
        return path


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)


def _builder(subject, issuer, key, days_from=-1, days_to=1):
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + days_from * _DAY)
        .not_valid_after(now + days_to * _DAY)
    )
