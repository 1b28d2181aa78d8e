"""Secrets do not show themselves."""

from __future__ import annotations

import copy
import json
import logging
import pickle

import pytest

from agentbreeder_core.secret import Secret


def test_a_secret_shows_in_no_form(caplog: pytest.LogCaptureFixture) -> None:
    secret = Secret("canary")
    logging.getLogger("agentbreeder").warning("%s %r %s", secret, secret, [secret])
    for shown in (str(secret), repr(secret), f"{secret}", f"{secret:>20}", repr({"x": secret}), caplog.text):
        assert "canary" not in shown
    assert secret.reveal() == "canary"


@pytest.mark.parametrize("leak", [json.dumps, pickle.dumps, copy.deepcopy, copy.copy, hash])
def test_a_secret_refuses_to_be_serialised_copied_or_hashed(leak: object) -> None:
    with pytest.raises(TypeError) as caught:
        leak(Secret("canary"))  # type: ignore[operator]
    assert "canary" not in str(caught.value)


def test_equal_secrets_are_equal() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
