"""A search as people type it, as an FTS5 expression: the words that PostgreSQL's `websearch_to_tsquery` understands."""

from __future__ import annotations

import re

_TOKEN = re.compile(r'(-?)"([^"]*)"?|(-?)(\S+)')
_WORD = re.compile(r"\w+")
# Words that PostgreSQL's English leaves out; a search for nothing else finds nothing.
_ENGLISH = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
will with i me my we our you your he him his she her its what which who whom am were been being have has had do does did
from up down out off over under again here when where why how all any both each few more most other some so than too very
s t can just don should now
"""
_STOP = frozenset(_ENGLISH.split())


def match_expression(query: str) -> str:
    """Every word must be there; "quoted words" as a phrase, `or` between two, `-word` not there. "" for no word at all.

    Every word is quoted, so no text is a syntax error.
    """
    groups: list[list[str]] = []
    excluded: list[str] = []
    joined = False
    for match in _TOKEN.finditer(query):
        phrase = match[2] is not None
        if not phrase and match[4].lower() == "or":
            joined = bool(groups)
            continue
        words = [w for w in _WORD.findall(match[2] if phrase else match[4]) if w.lower() not in _STOP]
        if not words:
            continue
        term = f'"{" ".join(words)}"'
        if match[1] or match[3]:
            excluded.append(term)
        elif joined:
            groups[-1].append(term)
        else:
            groups.append([term])
        joined = False
    if not groups:
        return ""
    wanted = " AND ".join(f"({' OR '.join(g)})" for g in groups)
    return f"({wanted}) NOT ({' OR '.join(excluded)})" if excluded else wanted
