"""The hand-written .pyi files say what the compiled modules have: names, parameters, defaults."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUBS = sorted(path.relative_to(ROOT) for path in (ROOT / "gompy").rglob("*.pyi"))
INTERNAL = {"gompy.runtime.libgompy": {"Lists", "gomp"}}
"""What a module has and no type checker needs to know: an argument's own class, a module that it imports."""


def module_of(stub: Path) -> str:
    """The module that a .pyi file describes."""
    return ".".join(stub.with_suffix("").parts)


def written(node: ast.FunctionDef) -> list[tuple[str, str | None]]:
    """A function's parameters as the .pyi has them: name and default."""
    names = [argument.arg for argument in node.args.args]
    defaults = [repr(ast.literal_eval(value)) for value in node.args.defaults]
    return list(zip(names, [None] * (len(names) - len(defaults)) + defaults, strict=True))


def compiled(function: Any) -> list[tuple[str, str | None]]:
    """The same of the compiled function."""
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, None if p.default is p.empty else repr(p.default)) for p in parameters]


def differences(body: list[ast.stmt], found: Any, where: str) -> list[str]:
    """What a .pyi's class or module says that is not so."""
    wrong = []
    for node in body:
        if isinstance(node, ast.FunctionDef):
            if not hasattr(found, node.name):
                wrong.append(f"{where}.{node.name}: not there")
            elif node.decorator_list:
                if callable(getattr(found, node.name)):
                    wrong.append(f"{where}.{node.name}: no property")
            elif node.name not in ("__init__", "__len__") and written(node) != compiled(getattr(found, node.name)):
                wrong.append(f"{where}.{node.name}: {written(node)} != {compiled(getattr(found, node.name))}")
        elif isinstance(node, ast.ClassDef):
            if not inspect.isclass(getattr(found, node.name, None)):
                wrong.append(f"{where}.{node.name}: no class")
            else:
                wrong += differences(node.body, getattr(found, node.name), f"{where}.{node.name}")
        elif isinstance(node, ast.AnnAssign) and not hasattr(found, ast.unparse(node.target)):
            wrong.append(f"{where}.{ast.unparse(node.target)}: not there")
    return wrong


def names(body: list[ast.stmt]) -> set[str]:
    """The names that a .pyi's class or module has."""
    found = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return found | {ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)}


@pytest.mark.parametrize("stub", STUBS, ids=str)
def test_what_is_written_is_there(stub: Path) -> None:
    """Functions, methods and classes, with the parameters' names and defaults."""
    tree = ast.parse((ROOT / stub).read_text(encoding="utf-8"))
    assert differences(tree.body, importlib.import_module(module_of(stub)), module_of(stub)) == []


@pytest.mark.parametrize("stub", STUBS, ids=str)
def test_what_is_there_is_written(stub: Path) -> None:
    """A public name of the module, or of one of its classes, that the .pyi lacks."""
    tree = ast.parse((ROOT / stub).read_text(encoding="utf-8"))
    module = importlib.import_module(module_of(stub))
    public = {name for name in vars(module) if not name.startswith("_")} - INTERNAL.get(module_of(stub), set())
    assert public - names(tree.body) == set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            members = {name for name in vars(getattr(module, node.name)) if not name.startswith("_")}
            assert members - names(node.body) == set()


def test_a_difference_is_found() -> None:
    """The comparison can fail."""
    module = importlib.import_module("gompy.ptx.words")
    text = "def cut(words: str) -> None: ...\ndef paste(text: str) -> None: ...\n"
    assert [line.split(":")[0] for line in differences(ast.parse(text).body, module, "words")] == [
        "words.cut",
        "words.paste",
    ]
