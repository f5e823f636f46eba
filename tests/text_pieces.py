"""The pieces of texts that a file of Python can say, from its code: what stands fast between what is put in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

FEWEST = 8
"""Letters that a piece has; fewer are in any text."""
MANUAL = {"help", "description", "epilog", "usage", "metavar"}
"""What a parser is given to say by --help."""
ASKED = {"compile", "startswith", "endswith", "removeprefix", "removesuffix", "partition"}
"""Methods whose arguments are looked for in a text."""


def patterns(tree: ast.Module) -> set[str]:
    """The names of expressions that functions of re get."""
    return {
        call.args[0].id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "re"
        and call.args
        and isinstance(call.args[0], ast.Name)
    }


def unspoken(tree: ast.Module) -> set[int]:
    """Strings that are not told: docstrings, patterns, what is looked for in a text, keys, the manual."""
    found: set[int] = set()
    looked_for = patterns(tree)

    def drop(node: ast.AST) -> None:
        found.update(id(part) for part in ast.walk(node))

    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant()):
                drop(node)
            case ast.Call(ast.Attribute(attr=name)) if name in ASKED:
                drop(node)
            case ast.Call(ast.Name("command_parser" | "add_choice"), words):
                for word in words:
                    drop(word)
            case ast.AnnAssign(ast.Name(name)) if name == "EXAMPLES" or name in looked_for:
                drop(node)  # the manual's, or a pattern
            case ast.AnnAssign(ast.Name(name), value=ast.Constant(str(text)) | ast.JoinedStr([ast.Constant(text), *_])):
                if "\\" in str(text) or not name.strip("_").isupper():
                    drop(node)  # a part of patterns
            case ast.Compare():
                drop(node.left)
            case ast.keyword(arg=str(name)) if name in MANUAL:
                drop(node)
            case ast.Dict():
                for key in filter(None, node.keys):
                    drop(key)
    return found


def docstrings(tree: ast.Module) -> set[int]:
    """Strings that stand alone."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def strings(path: Path, asked: bool = False) -> Iterator[str]:
    """The strings of a file that are told, or (``asked``) all, in the parts between what f-strings put in."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    without = docstrings(tree) if asked else unspoken(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in without:
            yield node.value


def pieces(paths: Iterable[Path]) -> dict[str, str]:
    """Each piece of the files' texts that stands fast, with its file."""
    found: dict[str, str] = {}
    for path in paths:
        for text in strings(path):
            for piece in re.split(r"\{\w*\}", text):
                piece = piece.strip(" ,;:")
                if " " in piece and "\\" not in piece and sum(sign.isalpha() for sign in piece) >= FEWEST:
                    found[piece] = path.name
    return found


def held(paths: Iterable[Path]) -> str:
    """The texts that tests hold."""
    return "\n".join(text for path in paths for text in strings(path, asked=True))


def printed(paths: Iterable[Path]) -> str:
    """What pages of docs/ show of programs' output, where a test compares it."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line.startswith("    "))


SAYING = re.compile(
    r"\b(?:gompy_(?:note|error|fatal|fail|record_stop)|fatal_mandatory|fail_pointer|tell_failure"
    r"|GOMP_PLUGIN_(?:error|fatal)|refuse_\w+|complain\w*|say_error|must_succeed) ?\("
)
"""What compiled code says something with."""
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CONVERSION = re.compile(r"%[-+#0-9.*]*[hlzj]*[a-zA-Z]|\{\w*\}")


def arguments(text: str, at: int) -> str:
    """What stands behind an open bracket, up to its end."""
    depth, quoted, end = 1, False, at
    while end < len(text) and depth:
        if text[end] == "\\":
            end += 1
        elif text[end] == '"':
            quoted = not quoted
        elif not quoted:
            depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return text[at : end - 1]


def compiled_pieces(paths: Iterable[Path]) -> dict[str, str]:
    """As `pieces`, of files of Cython and C: what they hand to functions that say something."""
    found: dict[str, str] = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for match in SAYING.finditer(text):
            for words in LITERAL.findall(re.sub(r'"\s*\n?\s*b?"', "", arguments(text, match.end()))):
                for piece in CONVERSION.split(words.replace("\\n", "").replace('\\"', '"')):
                    piece = piece.strip(" ,;:")
                    if " " in piece and sum(sign.isalpha() for sign in piece) >= FEWEST:
                        found[piece] = path.name
    return found


def all_held(tests: Path, apart: Path) -> str:
    """What the tests hold, but one file, with the programs that they run and what pages show."""
    root = tests.parent
    texts = [held(path for path in sorted(tests.rglob("*.py")) if path != apart)]
    texts.append(printed(sorted((root / "docs").glob("*.md"))))
    folders = (tests / "programs", root / "testsuite" / "gompy")
    programs = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    texts += [path.read_text(encoding="utf-8", errors="replace") for path in (*programs, *tests.rglob("*.txt"))]
    return "\n".join(texts).replace("\\", "")


def compiled_files(room: Path) -> list[Path]:
    """The files of Cython and C of a folder and below."""
    return [path for path in sorted(room.rglob("*")) if path.suffix in (".pyx", ".pxi", ".h", ".c")]
