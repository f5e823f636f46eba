"""A mkoffload as a program of its own: GCC's lto-wrapper starts it so, ours calls the target's module."""

from __future__ import annotations

from gompy.abi import targets
from gompy.tools.options import read
from gompy.tools.process import Temps, ToolError
from mkoffload.job import Request


def work(words: list[str], temps: Temps) -> None:
    """Make the host object for the target that the first word names.  Raises ToolError."""
    target = targets.find(words[0]) if words else None
    if target is None or not target.maker:
        raise ToolError(f"‘{words[0] if words else ''}’ is no target that gompy makes images for")
    __import__(target.maker, fromlist=["build"]).build(Request(read(words[1:])), temps)
