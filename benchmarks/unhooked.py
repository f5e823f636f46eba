#!/usr/bin/env python3
"""What the hooks for tools cost while nobody asks: this tree's libgompy against one built without them, in turns.

Traces, checks, OMPT and OpenACC's profiling share one word that is looked at where something happens
(gompy/native/hooks.h).  The other library is the same source with each of these looks answered "no" before the
compiler sees it; all else is the same file.  A ratio is the time with hooks / without.
With valgrind the instructions of directives are counted, too, on a device that does nothing: where a ratio of times is
another than theirs, what differs is where the two libraries' code lies.
Writes benchmarks/out/unhooked.json and unhooked.svg.  Exit status 1 if a program failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from common import GOMPCC, HERE, BenchError, checked, run_as_command
from llvm import Side, rounds
from turns import finish, side_rows

ROOT: Final = HERE.parent
LIBRARY: Final = "libgompy.so.1"
SOURCES: Final = ("gompy", "setup.py", "pyproject.toml")
LOOKS: Final = (
    ("gompy/runtime/core/hooks.pxi", r"return rare\(hooks_on & [^\n]*\)", "return False"),
    ("gompy/runtime/core/hooks.pxi", r"if hooks_on & HOOK_CONSTRUCT:", "if False:"),
    ("gompy/runtime/core/hooks.pxi", r"if rare\(construct\.on\):", "if False:"),
    ("gompy/runtime/core/check_events.pxi", r"if rare\(gompy_checking\):", "if False:"),
    ("gompy/runtime/core/mapping/copy.pxi", r"if rare\(gompy_checking\):", "if False:"),
)
"""File, what is looked at there, and what takes its place."""
COUNTED: Final = {
    "copied": "enter data map(to:) and exit data map(from:)",
    "allocated": "enter data map(alloc:) and exit data map(release:)",
    "updated": "target update to and from",
    "present": "target data, present",
    "launched": "launch, one array that is present",
}
"""Kinds of pairs.c."""
ROUNDS: Final = (10, 60)
OBJECTS: Final = 64
BUILD: Final = """
import runpy, setuptools, sys
setuptools.setup = lambda **words: None
sys.path.insert(0, ".")
build = runpy.run_path("setup.py", run_name="unhooked")
from gompy.native import generate
generate.write_all()
next(build["build_product"](p) for p in build["PRODUCTS"] if p.output == "lib/libgompy.so.1")
"""


def unhooked(folder: Path) -> Path:
    """A folder as gompy/_native/lib, whose libgompy has no hooks.  Raises BenchError."""
    names = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, target)
    for file, look, answer in LOOKS:
        text, found = re.subn(look, answer, (folder / file).read_text())
        if not found:
            raise BenchError(f"{file}: no {look}")
        (folder / file).write_text(text)
    shutil.copytree(ROOT / "gompy" / "_native", folder / "gompy" / "_native", symlinks=True)
    library = folder / "gompy" / "_native" / "lib" / LIBRARY
    library.unlink()
    checked([sys.executable, "-c", BUILD], folder, dict(os.environ))
    return library.parent


def side(name: str, program: Path, libraries: Path) -> Side:
    """The program, with the libraries of a folder."""
    start = program.with_name(f"{program.name}-{name}")
    start.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {program} "$@"\n')
    start.chmod(0o755)
    return Side(name, start)


def instructions(program: Path, kind: str, libraries: Path) -> float:
    """How many instructions one operation of pairs.c takes, on a device that does nothing.  Raises BenchError."""
    environment = {**os.environ, "GOMPY_PLUGINS": "null", "LD_LIBRARY_PATH": str(libraries)}
    counts = []
    for number in ROUNDS:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), kind, str(number)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode or found is None:
            raise BenchError(f"{' '.join(command)}: {done.stderr}")
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) / (ROUNDS[1] - ROUNDS[0]) / OBJECTS


def count(folder: Path, now: Path, before: Path, environment: dict[str, str]) -> None:
    """Print the instructions of directives with both libraries.  Raises BenchError."""
    if shutil.which("valgrind") is None:
        print("instructions: skipped: valgrind is not installed")
        return
    program = folder / "pairs"
    checked([GOMPCC, "-O2", "-fopenmp", str(HERE / "pairs.c"), "-o", str(program)], folder, environment)
    print(f"  {'instructions, on a device that does nothing':56} {'now / before':>16} ratio")
    for kind, title in COUNTED.items():
        ours, theirs = (instructions(program, kind, libraries) for libraries in (now, before))
        print(f"  {title:56} {ours:7.0f} {theirs:8.0f} {ours / theirs:5.3f}")


def main() -> int:
    """Compare."""
    environment = {**os.environ, "LC_ALL": "C"}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as name:
        folder = Path(name)
        program = folder / "device"
        checked([GOMPCC, "-O2", "-fopenmp", str(HERE / "device.c"), "-o", str(program)], folder, environment)
        now, before = ROOT / "gompy" / "_native" / "lib", unhooked(folder / "tree")
        sides = [side("now", program, now), side("before", program, before)]
        rounds(sides, environment)
        count(folder, now, before, environment)
    finish("unhooked", "With hooks against without", "With hooks / without, in turns", side_rows(sides), load)
    return 0


if __name__ == "__main__":
    run_as_command(main, "")
