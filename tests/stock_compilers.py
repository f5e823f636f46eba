"""The names gcc, g++ and gfortran for the compilers of the release that the tests are written for, where it is there.

Tests that say ``gcc`` mean the stock compiler beneath gompcc: they compare with it, link its objects, and know what it
says and makes.  Tests of other releases name theirs.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gompy.abi.gcc import major_of
from gompy.driver import compiler
from gompy.driver.errors import DriverError

RELEASE = 12
"""Debian 12's, whose sizes, messages and map lists the tests expect; ``.ci/packages`` installs it elsewhere."""


def _of_release(language: compiler.Language) -> compiler.Compiler:
    """What the environment names, else the default one if it is of that release, else the numbered one."""
    first = compiler.chosen(language)
    if os.environ.get(language.variable, "").strip() or major_of(compiler.facts(first).version) == RELEASE:
        return first
    path = compiler.which(f"{language.default}-{RELEASE}")
    return compiler.Compiler(path, [path]) if path else first


def stepped_in() -> dict[str, str]:
    """Default name to path, of each compiler that is not the PATH's own."""
    found = {}
    for language in (compiler.C, compiler.CXX, compiler.FORTRAN):
        try:
            command = _of_release(language)
        except DriverError:
            continue
        if len(command.words) == 1 and command.path != compiler.which(language.default):
            found[language.default] = command.path
    return found


def put_first() -> Path | None:
    """Put a folder with those names first in the PATH; None if none is needed.  The caller removes it."""
    found = stepped_in()
    if not found:
        return None
    folder = Path(tempfile.mkdtemp(prefix="gompy-compilers-"))
    for language in (compiler.C, compiler.CXX, compiler.FORTRAN):
        if language.default in found:
            (folder / language.default).symlink_to(found[language.default])
            os.environ.pop(language.variable, None)  # the name says it
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return folder


def remove(folder: Path) -> None:
    """Undo that."""
    os.environ["PATH"] = os.environ["PATH"].replace(f"{folder}{os.pathsep}", "")
    shutil.rmtree(folder, ignore_errors=True)
