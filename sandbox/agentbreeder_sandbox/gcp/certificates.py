"""The certificate authorities that Cloud SQL and Memorystore sign their servers with: real, one per instance."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from agentbreeder_core.errors import MissingExtra

_YEARS = 10
_BITS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """A self-signed authority for one instance. `pem` is the certificate; its key is kept nowhere."""

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
    from cryptography.hazmat.primitives import hashes, serialization
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
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(made).not_valid_after(ends)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    der = certificate.public_bytes(serialization.Encoding.DER)
    return Authority(
        pem=certificate.public_bytes(serialization.Encoding.PEM).decode(),
        common_name=common_name,
        serial=str(certificate.serial_number),
        sha1=hashlib.sha1(der, usedforsecurity=False).hexdigest(),
        made=made,
        ends=ends,
    )
