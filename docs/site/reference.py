"""The reference of gompy's Python classes, a page made of their docstrings; the modules are read, not imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "reference.md"
PARTS = {
    "Devices in Python": (
        "gompy.plugins.python.device",
        "gompy.virtual.backend",
        "gompy.virtual.manager",
    ),
    "Objects, programs, images": (
        "gompy.objects.elf",
        "gompy.objects.view",
        "gompy.objects.tables",
        "gompy.objects.images",
        "gompy.objects.offload_binary",
        "gompy.objects.pairing",
        "gompy.objects.fatbin",
    ),
    "Recordings": (
        "gompy.replay.recording",
        "gompy.replay.running",
        "gompy.replay.comparing",
        "gompy.replay.bisecting",
        "gompy.replay.moving",
    ),
    "What a check finds": (
        "gompy.check.log",
        "gompy.check.analysis",
        "gompy.check.situation",
        "gompy.check.findings",
        "gompy.check.report",
    ),
    "CUDA C++": ("gompy.cudart.compile", "gompy.cudart.options"),
    "Regions as JSON, notebook": ("gompy.regions.extract", "gompy.notebook.magic"),
}
"""What each part of the page has."""
HEAD = """\
# Reference of the Python classes

For those who use gompy from Python: devices of their own, readers of objects and recordings.

The page is made of the docstrings when the site is built. Names that begin with `_` are left out.
"""
Function = ast.FunctionDef | ast.AsyncFunctionDef


def source(module: str) -> Path:
    """The file of a module."""
    path = ROOT / module.replace(".", "/")
    return path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"


def signature(node: Function) -> str:
    """A function as it is called: arguments with their types, and what comes back."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name} ({ast.unparse(node.args)}){returns}"


def text(node: ast.Module | ast.ClassDef | Function) -> str:
    """The docstring, as text of a page; code in double backquotes gets single ones."""
    return (ast.get_docstring(node) or "").replace("``", "`")


def functions(nodes: list[ast.stmt]) -> Iterator[str]:
    """The public functions among statements, each a paragraph."""
    for node in nodes:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield f"`{signature(node)}`\n:   {' '.join(text(node).split())}\n"


def fields(node: ast.ClassDef) -> Iterator[str]:
    """A class's fields with their types and values."""
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and not ast.unparse(item.target).startswith("_"):
            yield f"    {ast.unparse(item)}"


def section(module: str) -> str:
    """A module: what it is for, its classes, its functions."""
    tree = ast.parse(source(module).read_text(encoding="utf-8"))
    lines = [f"### {module}\n", text(tree), ""]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            bases = ", ".join(map(ast.unparse, node.bases))
            lines += [f"#### class {node.name}{f' ({bases})' if bases else ''}\n", text(node), "", *fields(node), ""]
            lines += functions(node.body)
    lines += functions(tree.body)
    return "\n".join(lines)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, modules in PARTS.items():
        parts += [f"## {title}\n", *(section(module) for module in modules)]
    return "\n".join(parts)
