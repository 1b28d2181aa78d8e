"""Field case F01: the URLs we build give every real driver exactly the password that the vault gave us."""

from __future__ import annotations

import string

import psycopg.conninfo
import pytest
from asyncpg.connect_utils import _parse_connect_dsn_and_args
from hypothesis import given
from hypothesis import strategies as st
from redis.connection import parse_url
from sqlalchemy.engine import make_url

from agentbreeder_core.secret import Secret
from agentbreeder_resolver import BackendUrl
from agentbreeder_resolver.url_build import make_postgres_url, make_redis_url

PRINTABLE = [*string.punctuation, " ", "%2F", "a+b", "100%", "é", "@:/?#[]%& +$'\""]


def asyncpg_password(dsn: str) -> str:
    """What asyncpg would send, without connecting."""
    _, parameters, *_ = _parse_connect_dsn_and_args(
        dsn=dsn, host=None, port=None, user=None, password=None, passfile=None, database=None, ssl=None, service=None,
        servicefile=None, direct_tls=None, server_settings=None, target_session_attrs=None, krbsrvname=None, gsslib=None,
    )  # fmt: skip
    return str(parameters.password)


@pytest.mark.parametrize("special", PRINTABLE)
def test_f01_every_driver_reads_back_the_original_password(special: str) -> None:
    password = f"a{special}z"
    dsn = make_postgres_url("us er", Secret(password), "db.example.com", 5432, "da/ta", sslmode="require").reveal()
    libpq = psycopg.conninfo.conninfo_to_dict(dsn)
    assert (libpq["password"], libpq["user"], libpq["dbname"]) == (password, "us er", "da/ta")
    assert make_url(dsn).password == password
    assert asyncpg_password(dsn) == password
    redis = make_redis_url("h.example.com", 6379, tls=True, password=Secret(password)).reveal()
    assert parse_url(redis)["password"] == password
    assert "+" not in dsn.partition("@")[0].replace("%2B", "")
    parsed = BackendUrl.parse(dsn).password
    assert parsed is not None
    assert parsed.reveal() == password


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40))
def test_f01_holds_for_any_printable_password(password: str) -> None:
    dsn = make_postgres_url("u", Secret(password), "h.example.com", 5432, "d").reveal()
    assert psycopg.conninfo.conninfo_to_dict(dsn)["password"] == password
    assert make_url(dsn).password == password
    assert asyncpg_password(dsn) == password
