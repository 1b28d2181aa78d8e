"""Where a config's messages are. Every namespace of a config begins with its team and name; every value is escaped, so that
none can reach another namespace, and each can be read back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agentbreeder_core.namespaces import escape, pattern_of, prefix_of, unescape
from agentbreeder_memory.settings import namespace_of

from .errors import Invalid
from .models import Config

_ANY = "\ue000agent\ue000"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def namespace(config: Config, values: Mapping[str, str]) -> str:
    """Raises `Invalid` for a value that the pattern needs and that is not given."""
    whole = pattern_of(config.team, config.name, config.namespace_pattern, config.scope)
    given = {**values, "team": config.team}
    for name in _PLACEHOLDER.findall(whole):
        if not given.get(name):
            raise Invalid("missing_value", f"the config's namespace pattern needs {name}", field=name)
    return namespace_of(whole, given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of a config's namespaces: those that begin with `prefix`, and of them those that match `only`, if that is given."""

    prefix: str
    only: str | None = None

    @property
    def end(self) -> str:
        """The first text after every text with the prefix, byte by byte."""
        return self.prefix[:-1] + chr(ord(self.prefix[-1]) + 1)


def all_of(config: Config) -> Part:
    """Every namespace of a config."""
    return Part(prefix=prefix_of(config.team, config.name))


def part_of(config: Config, values: Mapping[str, str]) -> Part:
    """The namespaces with these values."""
    return Part(prefix=prefix_of(config.team, config.name), only=_expression(config, values))


def around_agent(config: Config, values: Mapping[str, str]) -> tuple[str, str]:
    """What stands before and after the agent's name in the namespaces with these values. Raises `Invalid` for a value that is
    needed and not given."""
    before, _, after = namespace(config, {**values, "agent_id": _ANY}).partition(escape(_ANY))
    return before, after


def read_back(config: Config, found: str) -> dict[str, str]:
    """The values that a namespace was made of."""
    match = re.fullmatch(_expression(config, {}), found)
    return {name: unescape(value) for name, value in match.groupdict().items()} if match else {}


def _expression(config: Config, values: Mapping[str, str]) -> str:
    """A regular expression of the config's namespaces with these values; the others are groups by name."""
    whole = pattern_of(config.team, config.name, config.namespace_pattern, config.scope)
    made = []
    for index, part in enumerate(_PLACEHOLDER.split(whole)):
        if index % 2 == 0:
            made.append(re.escape(part))
        elif part in values:
            made.append(re.escape(escape(values[part])))
        else:
            made.append(f"(?P<{part}>[A-Za-z0-9_.@+=%-]+)")
    return "".join(made)


def for_postgres(expression: str) -> str:
    """The same without names, which PostgreSQL does not know, and for the whole of a text."""
    return "^" + re.sub(r"\(\?P<\w+>", "(", expression) + "$"
