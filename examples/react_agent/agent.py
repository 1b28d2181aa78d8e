"""The agent: thinks, calls tools, answers; everything it says and does is in its history before anybody sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from substrate.context import ContextAssembler, ContextConfig
from substrate.kernel.storage import HistoryProvider, SessionStore
from substrate.kernel.storage.history import session_key

from .model import Message, ScriptedModel

Tool = Callable[[dict[str, Any]], Awaitable[str]]
_MOST_STEPS = 5


class ReactAgent:
    """One agent over many sessions; the stores are shared, nothing is kept in the object."""

    def __init__(
        self, model: ScriptedModel, tools: dict[str, Tool], config: ContextConfig, state: SessionStore
    ) -> None:
        self._model, self._tools, self._state = model, tools, state
        self._history, self._assembler = config.history_provider, ContextAssembler(config)

    async def reply(self, session_id: str, text: str) -> str:
        """Answer one message of a user. Raises when the history cannot be read or written: no turn is ever half kept."""
        key = session_key("react", "support", session_id)
        await self._history.append(key, {"role": "user", "content": text})
        for _ in range(_MOST_STEPS):
            message = await self._model.answer(await self._assembler.assemble(key))
            results: list[Message] = []
            for call in message.get("tool_calls") or []:
                content = await self._tools[call["function"]["name"]](call)
                results.append({"role": "tool", "tool_call_id": call["id"], "content": content})
            await self._history.append(key, [message, *results])  # a call is never without its results
            if not results:
                await self._state.update_state(session_id, {"turns": await self._history.count(key)})
                return str(message["content"])
        raise RuntimeError(f"no answer after {_MOST_STEPS} steps")


async def order_status(call: dict[str, Any]) -> str:
    """The example's one tool."""
    return f"on its way ({call['order']})"


def build_agent(history: HistoryProvider, state: SessionStore) -> ReactAgent:
    """The agent factory: stores in, agent out."""
    config = ContextConfig(history_provider=history, last=30, max_tokens=4000)
    return ReactAgent(ScriptedModel(), {"order_status": order_status}, config, state)
