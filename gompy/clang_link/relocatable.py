"""--relocatable: an object whose images are linked and registered, and that a later link leaves alone.

Sections and symbols are named as LLVM 19's wrapper names them: the entries get a section of the object's own, the
images one that no link takes images from.
"""

from __future__ import annotations

import hashlib

from gompy.abi.llvm import ENTRY_SECTIONS, OFFLOADING_SECTION
from gompy.clang_link.commands import execute
from gompy.clang_link.options import Options
from gompy.tools.process import ToolError, find_tool


def renamings(suffix: str) -> list[str]:
    """objcopy's words."""
    words = ["--remove-section", OFFLOADING_SECTION]
    for section in ENTRY_SECTIONS:
        words += ["--rename-section", f"{section}={section}{suffix}"]
        for end in ("__start_", "__stop_"):
            words += ["--redefine-sym", f"{end}{section}={end}{section}{suffix}"]
    return words


def finish(options: Options) -> None:
    """Make the host linker's output such an object.  Raises ToolError."""
    data = b""
    if not options.dry:
        try:
            with open(options.output, "rb") as file:
                data = file.read()
        except OSError as error:
            raise ToolError(f"cannot open {options.output}: {error.strerror}") from None
    suffix = "_" + hashlib.sha256(data).hexdigest()[:16]
    execute(options, [find_tool("objcopy"), options.output, *renamings(suffix)])
