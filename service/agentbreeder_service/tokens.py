"""JSON Web Tokens: made for small installs, checked for every request."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import jwt

from agentbreeder_core.errors import ConfigError

from .errors import Unauthorized, Unavailable
from .models import is_team
from .principals import Principal
from .settings import TokenSettings

_REQUIRED = ["exp", "iss", "aud", "sub", "team"]
_KEPT = 4096  # tokens whose check is remembered
_REMEMBERED_S = 30.0


def create_token(
    settings: TokenSettings,
    *,
    subject: str,
    team: str,
    roles: tuple[str, ...] = (),
    agent_id: str = "",
    lifetime: timedelta,
) -> str:
    """A token signed with the secret. Raises `ConfigError` without one: whoever holds the private key signs then."""
    if not settings.secret:
        raise ConfigError("tokens are made with AGENTBREEDER_JWT_SECRET only", hint="ask whoever holds the private key")
    now = datetime.now(UTC)
    claims: dict[str, Any] = {
        "iss": settings.issuer,
        "aud": settings.audience,
        "sub": subject,
        "team": team,
        "roles": list(roles),
        "iat": now,
        "exp": now + lifetime,
        "jti": uuid4().hex,
    }
    if agent_id:
        claims["agent_id"] = agent_id
    return jwt.encode(claims, settings.secret, algorithm="HS256")


class TokenChecker:
    """Says who a token is. What was checked is remembered for half a minute, never beyond the token's end."""

    def __init__(self, settings: TokenSettings) -> None:
        self._settings = settings
        self._jwks = jwt.PyJWKClient(settings.jwks_url, cache_keys=False, timeout=5) if settings.jwks_url else None
        self._known: dict[str, tuple[float, Principal]] = {}

    async def principal(self, authorization: str) -> Principal:
        """From the header `Authorization`. May ask for the keys of a JWKS URL. Raises `Unauthorized`, `Unavailable`."""
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer" or not token:
            raise Unauthorized("no_token", "the header Authorization: Bearer TOKEN is missing")
        known = self._known.get(token)
        if known is not None and known[0] > time.time():
            return known[1]
        found, expires = _principal(await self._claims(token))
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[token] = (min(expires, time.time() + _REMEMBERED_S), found)
        return found

    async def _claims(self, token: str) -> dict[str, Any]:
        s = self._settings
        try:
            key: Any = s.secret or s.public_key
            if self._jwks is not None:
                key = (await asyncio.to_thread(self._jwks.get_signing_key_from_jwt, token)).key
            return jwt.decode(
                token,
                key,
                algorithms=[s.algorithm],
                issuer=s.issuer,
                audience=s.audience,
                leeway=5,
                options={"require": _REQUIRED},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthorized("token_expired", "the token has expired") from None
        except jwt.PyJWKClientConnectionError:
            raise Unavailable("keys_unavailable", "the keys of the token's issuer cannot be had now") from None
        except (jwt.PyJWTError, ValueError, TypeError):  # also a key of another kind than the token says
            raise Unauthorized("bad_token", "the token does not count here") from None


def _principal(claims: dict[str, Any]) -> tuple[Principal, float]:
    team, agent, roles = claims["team"], claims.get("agent_id"), claims.get("roles") or []
    fits = isinstance(team, str) and is_team(team) and bool(claims["sub"])
    fits = fits and (agent is None or (isinstance(agent, str) and is_team(agent)))
    if not fits or not isinstance(roles, list) or not all(isinstance(r, str) for r in roles):
        raise Unauthorized("bad_token", "the token's team, agent_id or roles are not what they should be")
    made = Principal(subject=str(claims["sub"]), team=team, roles=frozenset(roles), agent_id=agent or "")
    return made, float(claims["exp"])
