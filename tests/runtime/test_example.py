"""`examples/react_agent` under a real Redis, through its own web application."""

from __future__ import annotations

import sys
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))


async def test_the_agent_remembers_its_tools_and_its_user_after_a_restart(
    redis_url: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from examples.react_agent.app import app, lifespan

    monkeypatch.setenv("REDIS_URL", redis_url)

    async def say(text: str) -> str:
        async with (
            lifespan(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://a") as client,
        ):
            answer = await client.post(f"/sessions/{unique}", json={"text": text})
            return str(answer.json()["reply"])

    assert await say("Where is my order 4711?") == "Your order is on its way (4711)."
    assert await say("What did I say?") == "Before this you said: Where is my order 4711?."
    async with lifespan(app), httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://a") as client:
        assert (await client.get(f"/sessions/{unique}")).json() == {"turns": 6}
