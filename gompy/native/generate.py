"""Write the .pxd files that hold an interface's numbers, from their tables in gompy/abi.

The build calls this before anything is compiled: the compiled parts and the Python ones cannot disagree.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from gompy.abi import gomp

HERE = Path(__file__).resolve().parent
TABLES: dict[str, ModuleType] = {"gomp": gomp}
"""Name of the .pxd: the table."""


def numbers(table: ModuleType) -> dict[str, int]:
    """A table's numbers by name, in its order."""
    return {name: value for name, value in vars(table).items() if name.isupper() and type(value) is int}


def pxd(table: ModuleType) -> str:
    """The .pxd of a table: one enum, whose members are constants for Cython and for C."""
    lines = [f"# Made by gompy/native/generate.py from {table.__name__.replace('.', '/')}.py.", "", "cdef enum:"]
    lines += [f"    {name} = {value if value < 0 else hex(value)}" for name, value in numbers(table).items()]
    return "\n".join(lines) + "\n"


def write_all() -> None:
    """Write what has changed; a file that is right keeps its time."""
    for name, table in TABLES.items():
        path, text = HERE / f"{name}.pxd", pxd(table)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
