"""`gompy run --check`: what a finding can say, from the code, against the reports that tests hold.

Each piece of a message, note or mend that stands fast has to be in reports.txt, or in another test of this room.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from gompy.check.mends import mend

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
APART = {
    "dwarf.py": "reads the program's variables",
    "findings.py": "the kinds: test_check_reports.py",
    "log.py": "reads the log",
    "names.py": "names of variables",
    "readable.py": "names of functions",
    "report.py": "the form of a report",
    "run.py": "what is said of the run",
}
"""Files of the room that say nothing of a finding."""
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
            case ast.AnnAssign(ast.Name(name), value=ast.Constant() | ast.JoinedStr()) if not name.startswith("_"):
                drop(node)  # a part of patterns; texts that several findings share begin with _
            case ast.Compare():
                drop(node.left)
            case ast.Dict():
                for key in filter(None, node.keys):
                    drop(key)
    return found


def strings(tree: ast.Module) -> Iterator[str]:
    """The strings of a file that are told, in the parts between what f-strings put in."""
    without = unspoken(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in without:
            yield node.value


def pieces() -> dict[str, str]:
    """Each piece that stands fast, with its file."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "gompy" / "check").glob("*.py")):
        if path.name in APART:
            continue
        for text in strings(ast.parse(path.read_text(encoding="utf-8"))):
            for piece in re.split(r"\{\w*\}", text):
                piece = piece.strip(" ,;")
                if " " in piece and sum(sign.isalpha() for sign in piece) >= FEWEST:
                    found[piece] = path.name
    return found


def held() -> str:
    """The texts that the tests of this room hold."""
    texts = [(HERE / "reports.txt").read_text(encoding="utf-8")]
    for path in sorted(HERE.glob("test_*.py")):
        texts += strings(ast.parse(path.read_text(encoding="utf-8")))
    return "\n".join(texts)


def test_each_text_is_held_by_a_test() -> None:
    known = held()
    assert {piece: file for piece, file in pieces().items() if piece not in known} == {}


def test_the_texts_are_found() -> None:
    """In messages, notes, mends, and what several share; no pattern is one."""
    found = pieces()
    assert len(found) > 100
    assert {"it is put into the queue here, with async", "which is not mapped to device", "begins here"} <= set(found)
    assert not any("\\" in piece or "[^" in piece for piece in found)


def test_mends_that_no_program_needs_yet() -> None:
    """Regions of OpenMP share a queue."""
    assert mend("race-queues", "a", "a.f90", False) == "!$omp taskwait between them, or depend clauses"
