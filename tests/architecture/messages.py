"""Every text of the package that a person may read, written to `messages.txt`: run this file to accept new words.

A text is a string of several words in the code, docstrings aside. A placeholder of an f-string counts as `{}`, so
that a renamed variable changes nothing. The help of a flag is the docstring of its field.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "ecs_rl"
GOLDEN = Path(__file__).with_name("messages.txt")
WITH_HELP = ("Settings", "Config")
"""How classes end whose fields are flags."""


def texts_in(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module, with those of classes whose fields are flags."""
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith(WITH_HELP):
            left_out -= {id(line.value) for line in node.body[1:] if isinstance(line, ast.Expr)}
        elif isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(constant_text(part) or "{}" for part in node.values)
        else:
            yield constant_text(node)


def constant_text(node: ast.AST) -> str:
    """Return the string that a node is, "" for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def messages(package: Path = PACKAGE) -> list[str]:
    """Return the texts of several words in a package, each once, in the order of the alphabet."""
    found = {text for path in package.rglob("*.py") for text in texts_in(ast.parse(path.read_text(encoding="utf-8")))}
    return sorted(repr(text) for text in found if " " in text.strip())


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(messages()) + "\n", encoding="utf-8")
