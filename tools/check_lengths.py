"""Fails when a source file has 300 lines or more, or a function 40 or more (its docstring not counted)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

MAX_FILE, MAX_FUNCTION = 300, 40
ROOTS = ("core", "resolver", "state", "provisioners", "runtime", "service", "cli", "sandbox")


def too_long(path: Path) -> list[str]:
    """One line for each thing in the file that is too long."""
    text = path.read_text(encoding="utf-8")
    found = []
    lines = text.count("\n")
    if lines >= MAX_FILE:
        found.append(f"{path}: {lines} lines")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            start = node.body[1].lineno if said and len(node.body) > 1 else first.lineno
            length = (node.end_lineno or start) - start + 1
            if length >= MAX_FUNCTION:
                found.append(f"{path}:{node.lineno}: {node.name} has {length} lines")
    return found


def main() -> int:
    """Check every source root of the project the command is run in."""
    found = [line for root in ROOTS for path in sorted(Path(root).rglob("*.py")) for line in too_long(path)]
    print("\n".join(found) or f"lengths: files under {MAX_FILE} lines, functions under {MAX_FUNCTION}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
