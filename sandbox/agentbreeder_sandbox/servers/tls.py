"""TLS in front of a server that was built without it, and the certificate it shows."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from uuid import uuid4

_SSL_REQUEST = b"\x00\x00\x00\x08\x04\xd2\x16\x2f"  # how a PostgreSQL client asks for TLS
_CHUNK = 65_536


class TlsFront:
    """Listens with TLS at `address` (a free port of 127.0.0.1) and passes everything on to a port there, in a thread of its own.

    With `postgres` a connection begins with PostgreSQL's own question for TLS. With `clients`, only those come in who show
    a certificate of that authority.
    """

    def __init__(
        self,
        port: int,
        *,
        certificate: Path,
        key: Path,
        postgres: bool = False,
        clients: Path | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self._behind, self._postgres, self._address = port, postgres, address
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        if clients is not None:
            self._context.verify_mode = ssl.CERT_REQUIRED
            self._context.load_verify_locations(clients)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tls-front", daemon=True)
        self.port = 0

    def __enter__(self) -> TlsFront:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> int:
        context = None if self._postgres else self._context
        server = await asyncio.start_server(self._connected, *self._address, ssl=context)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if self._postgres:
                if await reader.readexactly(len(_SSL_REQUEST)) != _SSL_REQUEST:
                    writer.close()
                    return
                writer.write(b"S")
                await writer.drain()
                await writer.start_tls(self._context)
            inner, out = await asyncio.open_connection("127.0.0.1", self._behind)
            await asyncio.gather(_pass_on(reader, out), _pass_on(inner, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()


def self_signed(folder: Path, *addresses: str) -> tuple[Path, Path]:
    """Certificate and key as PEM files in `folder`; the certificate is its own authority, for these IP addresses."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    now, key = datetime.now(UTC), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"agentbreeder sandbox {uuid4()}")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=7))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    if addresses:
        names = [x509.IPAddress(ipaddress.ip_address(a)) for a in addresses]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    pem, secret = serialization.Encoding.PEM, folder / "key.pem"
    certificate = folder / "certificate.pem"
    certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(pem))
    secret.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return certificate, secret
