"""The compiler whose link the tools are a part of: where its own parts are, and which release it is."""

from __future__ import annotations

import os

from gompy import BDIR
from gompy.abi.gcc import SUPPORTED, major_of
from gompy.tools.process import ToolError, same


def host_compiler() -> str:
    """The gcc of the link.  ToolError if COLLECT_GCC is unset, as in GCC's mkoffloads."""
    name = os.environ.get("COLLECT_GCC")
    if not name:
        raise ToolError("COLLECT_GCC must be set.")
    return name


def search_folders() -> list[str]:
    """Where the compiler of the link looks for its parts."""
    return os.environ.get("COMPILER_PATH", "").split(":")


def _named() -> tuple[str, str] | None:
    """(triplet, version) of the compiler of the link, from the folder of its parts, ``…/gcc/x86_64-linux-gnu/12/``."""
    for folder in search_folders():
        head, version = os.path.split(os.path.normpath(folder))
        triplet = os.path.basename(head)
        if version[:1].isdigit() and triplet.count("-") >= 2:
            return triplet, version
    return None


def link_compiler() -> tuple[str, str]:
    """(triplet, version) of the compiler of the link; those of the oldest that we work with, where no folder tells."""
    return _named() or ("x86_64-linux-gnu", str(SUPPORTED[0]))


def link_release() -> int:
    """The release of the compiler of the link, 0 where no folder tells."""
    found = _named()
    return major_of(found[1]) if found is not None else 0


def find_stock_wrapper() -> str | None:
    """GCC's own lto-wrapper in COMPILER_PATH: the first that is not in our folder."""
    for directory in search_folders():
        path = os.path.join(directory, "lto-wrapper")
        if directory and os.access(path, os.X_OK) and not same(directory, BDIR):
            return path
    return None


KEPT_IN = "gompy/accel"
"""Where accelerator compilers are kept, below the folders for data."""
USER_DATA = ".local/share"
SYSTEM_DATA = "/usr/local/share:/usr/share"
"""The folders for data, unless XDG_DATA_HOME and XDG_DATA_DIRS name others."""


def accel_folders() -> list[str]:
    """Where accelerator compilers are kept: ``gompy/accel`` in the XDG data folders, the user's first.

    Source: XDG Base Directory Specification.
    """
    folders = []
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser(f"~/{USER_DATA}")
    if os.path.isabs(home):
        folders.append(home)
    for folder in (os.environ.get("XDG_DATA_DIRS") or SYSTEM_DATA).split(":"):
        if os.path.isabs(folder) and folder not in folders:
            folders.append(folder)
    return [os.path.join(folder, KEPT_IN) for folder in folders]
