"""The certificate authorities that Cloud SQL and Memorystore sign with, one per instance, and what they sign: all real."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from agentbreeder_core.errors import MissingExtra

_YEARS = 10
_BITS = 2048
_SKEW = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A certificate of one instance: its self-signed authority, or what that signed. `pem` holds no key."""

    pem: str
    common_name: str
    serial: str
    sha1: str
    made: datetime
    ends: datetime


@cache
def _key() -> Any:
    """One key per process: making one takes a good part of a second, and nobody is served with it."""
    try:
        from cryptography.hazmat.primitives.asymmetric import rsa
    except ImportError as e:
        raise MissingExtra(
            f"the Google Cloud sandbox needs cryptography: {e.name} is not installed",
            hint="pip install 'agentbreeder-memory[sandbox]'",
        ) from e
    return rsa.generate_private_key(public_exponent=65537, key_size=_BITS)


def make_authority(instance: str, common_name: str, made: datetime) -> Authority:
    """A ten-year authority named after the instance. Blocks for up to half a second the first time."""
    key = _key()
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    ends = made + timedelta(days=365 * _YEARS)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "US"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Google, Inc"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
            x509.NameAttribute(NameOID.DN_QUALIFIER, instance),
        ]
    )
    builder = x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
    # Never later than the real time: real clients look at it, also while the stand-in's clock runs ahead.
    begins = min(made, datetime.now(UTC))
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begins).not_valid_after(ends)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return _described(builder.sign(key, hashes.SHA256()), common_name, made, ends)


def sign_client(authority: Authority, public_key_pem: str, lifetime: timedelta) -> Authority:
    """A client certificate for somebody's own key, from now on. Raises `ValueError` for what is no public key in PEM."""
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_public_key(public_key_pem.encode())
    now = datetime.now(UTC)
    certificate = _signed(authority, key, "Google Cloud SQL Client", now, now + lifetime)
    return _described(certificate, "Google Cloud SQL Client", now, now + lifetime)


def server_files(authority: Authority, folder: Path, host: str) -> tuple[Path, Path, Path]:
    """Certificate, key and authority of a server at `host`, as PEM files in `folder`."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, pem = ec.generate_private_key(ec.SECP256R1()), serialization.Encoding.PEM
    certificate = _signed(authority, key.public_key(), host, authority.made, authority.ends)
    names = folder / "server.pem", folder / "server-key.pem", folder / "authority.pem"
    names[0].write_bytes(certificate.public_bytes(pem))
    names[1].write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    names[2].write_text(authority.pem)
    return names


def _signed(authority: Authority, key: Any, common_name: str, begins: datetime, ends: datetime) -> Any:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    issuer = x509.load_pem_x509_certificate(authority.pem.encode()).subject
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    builder = x509.CertificateBuilder(issuer_name=issuer, subject_name=name, public_key=key)
    begins = min(begins, datetime.now(UTC)) - _SKEW
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(begins).not_valid_after(ends)
    return builder.sign(_key(), hashes.SHA256())


def _described(certificate: Any, common_name: str, made: datetime, ends: datetime) -> Authority:
    from cryptography.hazmat.primitives import serialization

    der = certificate.public_bytes(serialization.Encoding.DER)
    return Authority(
        pem=certificate.public_bytes(serialization.Encoding.PEM).decode(),
        common_name=common_name,
        serial=str(certificate.serial_number),
        sha1=hashlib.sha1(der, usedforsecurity=False).hexdigest(),
        made=made,
        ends=ends,
    )
