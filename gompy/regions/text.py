"""The text of regions: directive, statement, loops and the functions that are called, by tree-sitter.

A C or C++ file is read twice: as it is written, and preprocessed, where macros are expanded and types are known.
tree-sitter and its grammars are packages of the extra ``regions``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gompy import UserError

if TYPE_CHECKING:
    Node = Any  # of tree_sitter, which may be missing

GRAMMARS: Final = {"c": "tree_sitter_c", "c++": "tree_sitter_cpp", "fortran": "tree_sitter_fortran"}
_MARKER: Final = re.compile(rb'^# (\d+) "((?:[^"\\]|\\.)*)"')
_PRAGMA: Final = re.compile(r"^#\s*pragma\s+(?:omp|acc)\s")
_SENTINEL: Final = re.compile(r"^!\$(?:omp|acc)[ \t&]", re.IGNORECASE)


class NoGrammarError(UserError):
    """tree-sitter or a grammar is not installed."""


@dataclass
class Piece:
    """A region's text: the directive in one line, the statement, its lines, its loops from the outermost inwards."""

    pragma: str
    source: str = ""
    lines: tuple[int, int] = (0, 0)
    loops: list[dict[str, str]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


@dataclass
class Text:
    """A file, read: pieces by (file, line) of the directive, in order; functions and declarations by name."""

    pieces: dict[tuple[str, int], list[Piece]] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    calls: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)


def tree(data: bytes, language: str) -> Node:
    """A text's tree.  Raises NoGrammarError."""
    import importlib

    try:
        tree_sitter = importlib.import_module("tree_sitter")
        grammar = importlib.import_module(GRAMMARS[language])
    except ImportError as error:
        raise NoGrammarError(
            f"{error.name} is not installed, so regions have no text: pip install 'gompy[regions]'"
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(data).root_node


class _Places:
    """File and line of each line of a preprocessed text, by its marks; of other text the line itself."""

    def __init__(self, data: bytes, file: str, marked: bool) -> None:
        self.file = file
        self.at: list[tuple[str, int]] = []
        if not marked:
            return
        current, number = file, 1
        for line in data.split(b"\n"):
            if match := _MARKER.match(line):
                name = match[2].replace(b'\\"', b'"').replace(b"\\\\", b"\\")
                current, number = name.decode("utf-8", "surrogateescape"), int(match[1])
                self.at.append((current, number))
            else:
                self.at.append((current, number))
                number += 1

    def of(self, row: int) -> tuple[str, int]:
        return self.at[row] if self.at else (self.file, row + 1)


def read(data: bytes, language: str, file: str, marked: bool = False) -> Text:
    """Read a file's text; ``marked``: it is preprocessed, with line marks.  Raises NoGrammarError."""
    places = _Places(data, file, marked)
    if marked:  # the marks themselves are no C
        data = b"\n".join(b"" if _MARKER.match(line) else line for line in data.split(b"\n"))
    root = tree(data, language)
    result = Text()
    if language == "fortran":
        _fortran(root, places, result)
    else:
        _c(root, places, result)
    return result


def _string(node: Node) -> str:
    return node.text.decode("utf-8", "replace") if node is not None and node.text else ""


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())


def _walk(root: Node) -> list[Node]:
    """All nodes with a name, parents first."""
    found, todo = [], [root]
    while todo:
        node = todo.pop()
        found.append(node)
        todo.extend(reversed(node.named_children))
    return found


# --- C and C++ -------------------------------------------------------------------------------------------------------


def _c(root: Node, places: _Places, result: Text) -> None:
    for node in _walk(root):
        if node.type == "preproc_call" and _PRAGMA.match(words := _string(node)):
            piece = Piece(_one_line(words))
            _statement(node, places, piece)
            result.pieces.setdefault(places.of(node.start_point.row), []).append(piece)
        elif node.type == "function_definition":
            name = _declared(node.child_by_field_name("declarator"))
            if name:
                known, text = result.functions.get(name, ""), _string(node)
                # Functions of C++ may have one name: all their texts are told.
                result.functions[name] = f"{known}\n{text}" if known and text not in known else known or text
                result.calls[name] = [*result.calls.get(name, []), *_calls(node)]
        elif node.type in ("struct_specifier", "union_specifier", "enum_specifier"):
            name = _string(node.child_by_field_name("name"))
            if name and node.child_by_field_name("body") is not None:
                result.types[f"{node.type.partition('_')[0]} {name}"] = _string(node)
        elif node.type == "type_definition":
            name = _declared(node.child_by_field_name("declarator"))
            if name:
                result.types[name] = _string(node)
        elif node.type == "declaration" and (name := _constant(node)):
            result.constants[name] = _string(node)


def _constant(node: Node) -> str:
    """The name of a constant of the unit that a declaration gives a value; "" if it declares none, or several."""
    names = [child for child in node.children if child.type == "init_declarator"]
    if len(names) != 1 or "const" not in [_string(n) for n in node.children if n.type == "type_qualifier"]:
        return ""
    above = node.parent
    while above is not None and above.type != "function_definition":
        above = above.parent
    return _declared(names[0].child_by_field_name("declarator")) if above is None else ""


def _declared(node: Node | None) -> str:
    """The name that a declarator declares."""
    while node is not None and node.type not in ("identifier", "type_identifier", "field_identifier"):
        if node.type in ("qualified_identifier", "operator_name", "destructor_name", "template_function"):
            return _string(node)
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in node.named_children if child.type.endswith(("declarator", "fier"))), None)
        node = inner
    return _string(node)


def _statement(pragma: Node, places: _Places, piece: Piece) -> None:
    """The statement behind a directive, with directives that stand between."""
    first = following = pragma.next_named_sibling
    while following is not None and (
        following.type == "comment" or (following.type == "preproc_call" and _PRAGMA.match(_string(following)))
    ):
        if first.type == "comment":
            first = following
        following = following.next_named_sibling
    if following is None or first is None or following.type in ("preproc_call", "function_definition", "declaration"):
        return
    start, end = first.start_byte, following.end_byte
    root = following
    while root.parent is not None:
        root = root.parent
    piece.source = (root.text or b"")[start - root.start_byte : end - root.start_byte].decode("utf-8", "replace")
    piece.lines = (places.of(first.start_point.row)[1], places.of(following.end_point.row)[1])
    piece.loops = _c_loops(following)
    piece.calls = _calls(following)


def _c_loops(node: Node | None) -> list[dict[str, str]]:
    """The loops of a nest, the outermost first; it ends where a body is more than one loop."""
    loops = []
    while node is not None:
        if node.type == "compound_statement":
            inner = [child for child in node.named_children if child.type not in ("comment", "preproc_call")]
            node = inner[0] if len(inner) == 1 and inner[0].type in ("for_statement", "compound_statement") else None
            continue
        if node.type != "for_statement":
            break
        loops.append(
            {
                name: _one_line(_string(node.child_by_field_name(name))).rstrip(";")
                for name in ("initializer", "condition", "update")
            }
        )
        node = node.child_by_field_name("body")
    return loops


def _calls(node: Node) -> list[str]:
    names: dict[str, None] = {}
    for inner in _walk(node):
        if inner.type == "call_expression":
            called = inner.child_by_field_name("function")
            if called is not None and called.type == "identifier":
                names[_string(called)] = None
    return list(names)


# --- Fortran ---------------------------------------------------------------------------------------------------------


def _fortran(root: Node, places: _Places, result: Text) -> None:
    for node in _walk(root):
        if node.type in ("subroutine", "function"):
            head = next(iter(node.named_children), None)
            name = next((_string(child) for child in head.named_children if child.type == "name"), "") if head else ""
            if name:
                result.functions[name.lower()] = _string(node)
        if node.type == "comment" and _SENTINEL.match(words := _string(node)):
            before = node.prev_named_sibling
            if before is not None and before.type == "comment" and _string(before).rstrip().endswith("&"):
                continue  # a continuation line
            while words.rstrip().endswith("&") and (after := node.next_named_sibling) is not None:
                words = f"{words.rstrip()[:-1]} {_string(after)[6:].lstrip('& ')}"
                node = after
            piece = Piece(_one_line(words))
            _block(node, piece)
            result.pieces.setdefault(places.of(node.start_point.row), []).append(piece)


def _block(directive: Node, piece: Piece) -> None:
    """What a directive of Fortran is about: up to its ``end`` directive, else the loop that follows."""
    name = re.sub(r"\W.*", "", piece.pragma[6:].lower())
    following = directive.next_named_sibling
    while following is not None and following.type == "comment" and not _ends(following, name):
        following = following.next_named_sibling
    if following is None or following.type == "comment":
        return
    last, node = following, following
    while node is not None and not _ends(node, name):
        node = node.next_named_sibling
    if node is not None:
        last = node.prev_named_sibling
    elif following.type != "do_loop":
        return
    piece.lines = (following.start_point.row + 1, last.end_point.row + 1)
    base = following.parent
    piece.source = base.text[following.start_byte - base.start_byte : last.end_byte - base.start_byte].decode(
        "utf-8", "replace"
    )
    node = following
    while node is not None and node.type == "do_loop":
        head = node.named_children[0]
        control = next((child for child in head.named_children if child.type == "loop_control_expression"), None)
        piece.loops.append({"control": _string(control)})
        inner = [child for child in node.named_children[1:] if child.type not in ("comment", "end_do_loop_statement")]
        node = inner[0] if len(inner) == 1 else None


def _ends(node: Node, name: str) -> bool:
    words = _string(node).lower()
    return node.type == "comment" and re.match(rf"!\$(?:omp|acc)\s+end\s*{re.escape(name)}\b", words) is not None
