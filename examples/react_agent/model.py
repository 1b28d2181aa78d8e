"""A model that follows a script, so that the example runs anywhere. Replace it with your provider's client."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
_ORDER = re.compile(r"\d{4}")


class ScriptedModel:
    """Asks for a tool when an order's number was just said, and answers from what it sees otherwise."""

    async def answer(self, messages: Sequence[Message]) -> Message:
        """The next message of the assistant."""
        newest = messages[-1]
        if newest["role"] == "tool":
            return {"role": "assistant", "content": f"Your order is {newest['content']}."}
        found = _ORDER.search(str(newest["content"]))
        if found:
            call = {"id": f"call_{len(messages)}", "type": "function", "function": {"name": "order_status"}}
            return {"role": "assistant", "content": None, "tool_calls": [{**call, "order": found[0]}]}
        said = [m["content"] for m in messages[:-1] if m["role"] == "user"]
        return {"role": "assistant", "content": f"Before this you said: {'; '.join(said) or 'nothing'}."}
