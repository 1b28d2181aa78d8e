"""Plain text that reads well: colour only on a terminal, wrapping only on a terminal, nothing that could move the
cursor."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Literal, TextIO

Colour = Literal["red", "green", "yellow", "cyan", "bold", "dim"]
_CODES: dict[Colour, str] = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}
_WIDEST = 100
_MINUTE = 60


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: Colour, stream: TextIO | None = None) -> str:
    """Coloured on a terminal, unless NO_COLOR (https://no-color.org) is set. `stream` defaults to stdout."""
    if os.environ.get("NO_COLOR") or not is_terminal(stream or sys.stdout):
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def clean(text: str) -> str:
    """Text from a file or a cloud, made safe to print: control characters would let it draw on the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def paragraph(text: str, *, indent: int, stream: TextIO | None = None) -> list[str]:
    """Indented prose, wrapped to a terminal's width. Piped text keeps one line, so that `grep` finds whole sentences."""
    pad, text = " " * indent, clean(text)
    stream = stream or sys.stdout
    if not is_terminal(stream):
        return [pad + line for line in text.splitlines()]
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return textwrap.wrap(
        text, width, initial_indent=pad, subsequent_indent=pad, break_long_words=False, break_on_hyphens=False
    )


def columns(rows: Sequence[Sequence[str]], *, indent: int = 2) -> list[str]:
    """Rows as aligned columns, two blanks apart, nothing after the last."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    return [(" " * indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True))).rstrip() for row in cells]


def duration(seconds: float) -> str:
    """`45s`, `12m 05s`."""
    whole = max(0, round(seconds))
    return f"{whole}s" if whole < _MINUTE else f"{whole // _MINUTE}m {whole % _MINUTE:02d}s"


def count(number: int, thing: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
