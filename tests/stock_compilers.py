"""The names gcc, g++ and gfortran for the compilers that the wrappers run, where a distribution's own are newer.

Tests that say ``gcc`` mean the stock compiler beneath gompcc: they compare with it, and link its objects.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gompy.driver import compiler
from gompy.driver.errors import DriverError


def stepped_in() -> dict[str, str]:
    """Default name to path, of each compiler that is not the PATH's own."""
    found = {}
    for language in (compiler.C, compiler.CXX, compiler.FORTRAN):
        try:
            command = compiler.chosen(language)
        except DriverError:
            continue
        if not os.environ.get(language.variable) and command.words != [language.default]:
            found[language.default] = command.path
    return found


def put_first() -> Path | None:
    """Put a folder with those names first in the PATH; None if none is needed.  The caller removes it."""
    found = stepped_in()
    if not found:
        return None
    folder = Path(tempfile.mkdtemp(prefix="gompy-compilers-"))
    for name, path in found.items():
        (folder / name).symlink_to(path)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return folder


def remove(folder: Path) -> None:
    """Undo that."""
    os.environ["PATH"] = os.environ["PATH"].replace(f"{folder}{os.pathsep}", "")
    shutil.rmtree(folder, ignore_errors=True)
