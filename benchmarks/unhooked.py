#!/usr/bin/env python3
"""What the hooks for tools cost while nobody asks: this tree's libgompy against one built without them, in turns.

Traces, checks, OMPT and OpenACC's profiling share one word that is looked at where something happens
(gompy/native/hooks.h).  The other library is the same source with each of these looks answered "no" before the
compiler sees it; all else is the same file.  A ratio is the time with hooks / without.
With valgrind the instructions of directives are counted, too, on a device that does nothing: where a ratio of times is
another than theirs, what differs is where the two libraries' code lies.
The same library in another place differs by up to a tenth: short operations are measured with each library linked in
several places, in turns.  Their figures are means over these; the spread is the largest / the smallest of a library.
Writes benchmarks/out/unhooked.json and unhooked.svg.  Exit status 1 if a program failed.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from common import GOMPCC, HERE, BenchError, checked, run_as_command
from llvm import MEASUREMENTS, Side, rounds
from llvm import ROUNDS as ROUNDS_OF_SHORT
from turns import finish

ROOT: Final = HERE.parent
LIBRARY: Final = "libgompy.so.1"
SOURCES: Final = ("gompy", "setup.py", "pyproject.toml")
LOOKS: Final = (
    ("gompy/runtime/core/hooks.pxi", r"return rare\(hooks_on & [^\n]*\)", "return False"),
    ("gompy/runtime/core/hooks.pxi", r"if hooks_on & HOOK_CONSTRUCT:", "if False:"),
    ("gompy/runtime/core/check_events.pxi", r"if rare\(gompy_checking\):", "if False:"),
)
"""File, what is looked at there, and what takes its place."""
COUNTED: Final = {
    "copied": "enter data map(to:) and exit data map(from:)",
    "allocated": "enter data map(alloc:) and exit data map(release:)",
    "updated": "target update to and from",
    "present": "target data, present",
    "launched": "launch, one array that is present",
    "empty": "launch, nothing mapped",
}
"""Kinds of pairs.c."""
ROUNDS: Final = (10, 60)
OBJECTS: Final = 64
PLACES: Final = (0, 16, 32, 48, 1040, 2128)
"""Bytes in front of the library's code: its place in lines and pages."""
BUILD: Final = """
import runpy, setuptools, sys
from pathlib import Path
setuptools.setup = lambda **words: None
sys.path.insert(0, ".")
build = runpy.run_path("setup.py", run_name="unhooked")
from gompy.native import generate
generate.write_all()
product = next(p for p in build["PRODUCTS"] if p.output == "lib/libgompy.so.1")
scope = build["build_product"].__globals__
scope["CACHE"].mkdir(parents=True)
made, run = scope["compile_unit"](product, product.source, ()), scope["run"]
scope["compile_unit"] = lambda *_: made
scope["newer"] = lambda *_: True
for word in sys.argv[1:]:
    before = Path(word)
    scope["output_of"] = lambda _: before.with_name("libgompy.so.1")
    scope["run"] = lambda *words: run(words[0], before, *words[1:])
    build["build_product"](product)
"""


def placed(folder: Path, looks: tuple[tuple[str, str, str], ...]) -> list[Path]:
    """Folders as gompy/_native/lib, for each of PLACES; in libgompy's source ``looks`` are replaced.  BenchError."""
    names = subprocess.run(["git", "ls-files", *SOURCES], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, target)
    for file, look, answer in looks:
        text, found = re.subn(look, answer, (folder / file).read_text())
        if not found:
            raise BenchError(f"{file}: no {look}")
        (folder / file).write_text(text)
    befores = []
    for place in PLACES:
        libraries = folder / str(place)
        shutil.copytree(ROOT / "gompy" / "_native" / "lib", libraries, symlinks=True)
        (libraries / LIBRARY).unlink()
        source, before = libraries / "before.s", libraries / "before.o"
        nothing = '\t.section .note.GNU-stack,"",@progbits'
        source.write_text(f"\t.text\n\t.balign 16\n\t.fill {place}, 1, 0x90\n{nothing}\n")
        checked(["as", "-o", str(before), str(source)], folder, dict(os.environ))
        befores.append(before)
    checked([sys.executable, "-c", BUILD, *map(str, befores)], folder, dict(os.environ))
    return [before.parent for before in befores]


def side(name: str, program: Path, libraries: Path) -> Side:
    """The program, with the libraries of a folder."""
    start = program.with_name(f"{program.name}-{name}-{libraries.name}")
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


def mean_rows(sides: dict[str, list[Side]]) -> list[dict[str, Any]]:
    """All measurements as means over the places, nanoseconds; the spread of short ones is printed."""
    print(f"  {'largest / smallest of one library, by where it lies':56} {'now':>7} {'before':>8}")
    rows = []
    for m in MEASUREMENTS:
        row: dict[str, Any] = {"title": m.title, "bandwidth": m.bandwidth}
        spreads = []
        for name, places in sides.items():
            lows = [place.low(m.name) for place in places if m.name in place.times]
            medians = [place.median(m.name) for place in places if m.name in place.times]
            row[name] = {"median": statistics.mean(medians), "low": statistics.mean(lows)}
            spreads.append(max(lows) / min(lows))
            row[name]["spread"] = spreads[-1]
        if m.rounds == ROUNDS_OF_SHORT:
            print(f"  {m.title:56} {spreads[0]:7.2f} {spreads[1]:8.2f}")
        rows.append(row)
    return rows


def main() -> int:
    """Compare."""
    environment = {**os.environ, "LC_ALL": "C"}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as name:
        folder = Path(name)
        program = folder / "device"
        checked([GOMPCC, "-O2", "-fopenmp", str(HERE / "device.c"), "-o", str(program)], folder, environment)
        now, before = placed(folder / "hooked", ()), placed(folder / "unhooked", LOOKS)
        sides = {
            "now": [side("now", program, libraries) for libraries in now],
            "before": [side("before", program, libraries) for libraries in before],
        }
        short = tuple(m for m in MEASUREMENTS if m.rounds == ROUNDS_OF_SHORT)
        rounds([one for pair in zip(*sides.values(), strict=True) for one in pair], environment, short)
        rounds([places[0] for places in sides.values()], environment, tuple(m for m in MEASUREMENTS if m not in short))
        count(folder, now[0], before[0], environment)
        rows = mean_rows(sides)
    finish("unhooked", "With hooks against without", "With hooks / without, in turns", rows, load)
    return 0


if __name__ == "__main__":
    run_as_command(main, "")
