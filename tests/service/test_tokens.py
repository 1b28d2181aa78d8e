"""Tokens beyond a shared secret: RS256 with a key or a JWKS URL, and how often somebody may ask."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from agentbreeder_core.errors import ConfigError
from agentbreeder_service.api.wiring import Gate
from agentbreeder_service.errors import TooMany, Unauthorized, Unavailable
from agentbreeder_service.settings import ServiceSettings, TokenSettings, token_settings
from agentbreeder_service.tokens import TokenChecker, create_token

from .conftest import TOKENS, token

CLAIMS = {"iss": "agentbreeder", "aud": "agentbreeder-memory", "sub": "ann", "team": "payments"}


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: rsa.RSAPrivateKey) -> str:
    shape = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, shape).decode()


def signed(key: Any, algorithm: str = "RS256", **more: Any) -> str:
    claims = {**CLAIMS, "exp": datetime.now(UTC) + timedelta(minutes=5), "agent_id": "triage", "roles": ["admin"]}
    return f"Bearer {jwt.encode(claims, key, algorithm=algorithm, headers=more)}"


async def test_rs256_counts_with_its_public_key_and_the_key_is_no_secret(key: rsa.RSAPrivateKey) -> None:
    checker = TokenChecker(TokenSettings(public_key=pem(key)))
    found = await checker.principal(signed(key))
    assert (found.subject, found.team, found.agent_id, found.roles) == ("ann", "payments", "triage", {"admin"})
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = signed("x" * 64, "HS256")
    for wrong in (signed(other), forged, "Bearer x", "Basic abc", ""):
        with pytest.raises(Unauthorized):
            await checker.principal(wrong)
    with pytest.raises(ConfigError):
        create_token(TokenSettings(public_key=pem(key)), subject="a", team="b", lifetime=timedelta(1))


@pytest.fixture
def jwks(key: rsa.RSAPrivateKey) -> Iterator[str]:
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    answer = json.dumps({"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}).encode()

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = HTTPServer(("127.0.0.1", 0), Keys)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/keys"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_keys_of_a_jwks_url_are_found_by_their_id(key: rsa.RSAPrivateKey, jwks: str) -> None:
    checker = TokenChecker(TokenSettings(jwks_url=jwks))
    assert (await checker.principal(signed(key, kid="k1"))).team == "payments"
    with pytest.raises(Unauthorized):
        await checker.principal(signed(key, kid="k2"))
    with pytest.raises(Unavailable):
        await TokenChecker(TokenSettings(jwks_url="http://127.0.0.1:9/keys")).principal(signed(key, kid="k1"))


async def test_more_requests_than_the_rate_are_refused_for_that_principal_alone() -> None:
    gate = Gate(TokenChecker(TOKENS), "3/hour")
    for _ in range(3):
        await gate.admit(f"Bearer {token()}")
    with pytest.raises(TooMany):
        await gate.admit(f"Bearer {token()}")
    await gate.admit(f"Bearer {token(subject='bob')}")


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({}, "exactly one"),
        ({"AGENTBREEDER_JWT_SECRET": "x" * 40, "AGENTBREEDER_JWKS_URL": "https://h"}, "exactly one"),
        ({"AGENTBREEDER_JWT_SECRET": "short"}, "shorter than 32"),
        ({"AGENTBREEDER_JWKS_URL": "http://example.com/keys"}, "https"),
        ({"AGENTBREEDER_JWT_PUBLIC_KEY": "/no/such/file"}, "cannot be read"),
    ],
)
def test_a_key_that_does_not_add_up_is_refused_in_one_line(environ: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        token_settings(environ)
    with pytest.raises(ConfigError):
        ServiceSettings.from_environ({**environ, "DATABASE_URL": "postgresql://h/d"})


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({}, "DATABASE_URL is not set"),
        ({"DATABASE_URL": "mysql://u:hidden@h/d"}, "DATABASE_URL"),
        ({"DATABASE_URL": "postgresql://u:hid#den@h/d"}, "percent-encode"),
        ({"DATABASE_URL": "postgresql://h/d", "AGENTBREEDER_RATE_LIMIT": "fast"}, "RATE_LIMIT"),
        ({"DATABASE_URL": "postgresql://h/d", "AGENTBREEDER_POOL_SIZE": "0"}, "POOL_SIZE"),
    ],
)
def test_settings_that_do_not_add_up_are_refused_without_the_secret(environ: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ServiceSettings.from_environ({"AGENTBREEDER_JWT_SECRET": "x" * 40, **environ})
    assert says in caught.value.detail
    assert "hid" not in caught.value.detail


@pytest.mark.parametrize("more", [{"agent_id": 0}, {"agent_id": []}, {"agent_id": ""}, {"sub": ""}, {"roles": "admin"}])
async def test_a_claim_of_a_wrong_kind_makes_nobody_of_an_agent(key: rsa.RSAPrivateKey, more: dict[str, Any]) -> None:
    claims = {**CLAIMS, "exp": datetime.now(UTC) + timedelta(minutes=5), "agent_id": "triage", **more}
    with pytest.raises(Unauthorized):
        await TokenChecker(TokenSettings(public_key=pem(key))).principal(
            f"Bearer {jwt.encode(claims, key, algorithm='RS256')}"
        )


def test_a_key_that_no_token_could_be_checked_with_is_refused_at_the_start(tmp_path: Path) -> None:
    curve = ec.generate_private_key(ec.SECP256R1()).public_key()
    shape = serialization.PublicFormat.SubjectPublicKeyInfo
    other = curve.public_bytes(serialization.Encoding.PEM, shape).decode()
    for text in (
        other,
        "-----BEGIN PUBLIC KEY-----\nnonsense\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----",
    ):
        file = tmp_path / "key.pem"
        file.write_text(text)
        with pytest.raises(ConfigError, match="no public RSA key"):
            token_settings({"AGENTBREEDER_JWT_PUBLIC_KEY": str(file)})
