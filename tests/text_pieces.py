"""The pieces of texts that a file of Python can say, from its code: what stands fast between what is put in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

FEWEST = 8
"""Letters that a piece has; fewer are in any text."""


def unspoken(tree: ast.Module) -> set[int]:
    """Strings that are not told: docstrings, patterns, what is looked for in a text, keys."""
    found: set[int] = set()

    def drop(node: ast.AST) -> None:
        found.update(id(part) for part in ast.walk(node))

    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant()) | ast.Call(ast.Attribute(attr="compile")):
                drop(node)
            case ast.AnnAssign(ast.Name(name), value=ast.Constant(str(text)) | ast.JoinedStr([ast.Constant(text), *_])):
                if "\\" in str(text) or not name.strip("_").isupper():
                    drop(node)  # a part of patterns
            case ast.Compare():
                drop(node.left)
            case ast.Dict():
                for key in filter(None, node.keys):
                    drop(key)
    return found


def strings(path: Path) -> Iterator[str]:
    """The strings of a file that are told, in the parts between what f-strings put in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    without = unspoken(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in without:
            yield node.value


def pieces(paths: Iterable[Path]) -> dict[str, str]:
    """Each piece of the files' texts that stands fast, with its file."""
    found: dict[str, str] = {}
    for path in paths:
        for text in strings(path):
            for piece in re.split(r"\{\w*\}", text):
                piece = piece.strip(" ,;")
                if " " in piece and "\\" not in piece and sum(sign.isalpha() for sign in piece) >= FEWEST:
                    found[piece] = path.name
    return found


def held(paths: Iterable[Path]) -> str:
    """The texts that tests hold."""
    return "\n".join(text for path in paths for text in strings(path))
