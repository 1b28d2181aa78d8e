"""Fails when a source file has 300 lines or more, or a function's statements span 40 lines or more.

A function is measured from its first statement to its end: its signature and its docstring, which are there for the
reader of the API, do not count.
"""

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
    lines = len(text.splitlines())
    if lines >= MAX_FILE:
        found.append(f"{path}: {lines} lines")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := span(node)) >= MAX_FUNCTION:
            found.append(f"{path}:{node.lineno}: {node.name} has {length} lines")
    return found


def span(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines from the first statement to the last, both counted."""
    has_docstring = ast.get_docstring(node, clean=False) is not None
    first = node.body[1] if has_docstring and len(node.body) > 1 else node.body[0]
    return (node.end_lineno or first.lineno) - first.lineno + 1


def main() -> int:
    """Check every source root of the project the command is run in."""
    missing = [root for root in ROOTS if not Path(root).is_dir()]
    if missing:
        print(f"lengths: run this at the top of the project; missing here: {', '.join(missing)}", file=sys.stderr)
        return 2
    found = [line for root in ROOTS for path in sorted(Path(root).rglob("*.py")) for line in too_long(path)]
    print("\n".join(found) or f"lengths: files under {MAX_FILE} lines, functions under {MAX_FUNCTION}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
