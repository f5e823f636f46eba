"""The files that have a part in an image besides its objects: while they stay as they are, so does the image.

For the cache of links (lto_wrapper/entry.py).  Images that more goes into are not kept there.
"""

from __future__ import annotations

import os

from gompy import BDIR
from gompy.tools.linkcompiler import accel_folders, search_folders
from gompy.tools.process import ToolError, find_in, find_tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

REACHING = (
    *("-fplugin", "-specs", "-fdump", "-fprofile", "-fauto-profile", "-fstack-usage", "-fcallgraph-info", "-wrapper"),
    *("-save-temps", "-fopt-info", "-ftime-report", "-fmem-report", "-Wa,", "-Wp,", "-Xassembler", "-Xpreprocessor"),
    *("-B", "-include", "-imacros", "-aux-info", "-l", "-L"),
)
"""Options by which the compiler reads or writes other files, or tells more than of the objects."""


def reaches(words: Sequence[str]) -> bool:
    """Whether an option may bring in a file that nobody here knows of, or means this very processor."""
    return any(word.startswith(REACHING) or word.endswith("=native") or set(word) & set("/@") for word in words)


def _searched(name: str, variable: str) -> list[str]:
    """The program in a list of folders, and the places before it, which are looked at first; [] if it is nowhere."""
    if "/" in name:
        return [name]
    tried: list[str] = []
    for folder in os.environ.get(variable, "").split(":"):
        tried.append(os.path.join(folder or ".", name))
        if find_in([folder], name):
            return tried
    return []


def parts_of_image(gcc: str, words: Sequence[str]) -> list[str] | None:
    """Files, folders, and what must not be there; None where more may go into an image of those words.

    Folders of libraries: which ones are taken changes only if there are others.
    """
    stored: list[str] = []
    if any(map(os.path.exists, accel_folders())) or any(word.startswith("-fplugin=") for word in words):
        from gompy.tools import accelstore as store

        stored = store.looked_at()
        words = [word for word in words if word.removeprefix("-fplugin=") not in stored]
    if reaches(words):
        return None
    compiler, lto1 = _searched(gcc, "PATH"), find_in(search_folders(), "lto1")
    if not compiler or lto1 is None:
        return None
    try:
        tools = [find_tool("ld", BDIR), find_tool("as", BDIR)]
    except ToolError:
        return None
    folders = [folder for folder in os.environ.get("LIBRARY_PATH", "").split(":") if folder]
    ours = [os.path.join(BDIR, name) for name in os.listdir(BDIR)]
    return [*compiler, lto1, *tools, *_searched("as", "PATH"), *folders, *ours, *accel_folders(), *stored]
