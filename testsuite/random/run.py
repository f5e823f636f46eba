#!/usr/bin/env python3
"""Random C programs of csmith as regions: on both devices, plain and checked, against the host.

``make check-random``: all of a program but its `main` is `declare target`, and a region computes the checksum of its
variables.  Debian has the generator (packages csmith and libcsmith-dev).  A program whose checksum depends on the host
compiler's level is left out: it does what C leaves open.  What is wrong stays in testsuite/out/random.
Exit status: 0 all is right, 1 not, 2 no csmith.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv/bin"
OUT = ROOT / "testsuite/out/random"
INCLUDE = Path("/usr/include/csmith")
HOST_SECONDS, SECONDS = 5, 300
REFUSED = "has been referenced in offloaded code but hasn"
"""gcc's compiler for GPUs, of a static variable in a function that was inlined and moved (GCC, lto/lto.c)."""


@dataclass(frozen=True)
class Way:
    """How a program is made and run."""

    name: str
    options: tuple[str, ...]
    run: tuple[str, ...] = ()


WAYS = (
    Way("intelmic", ("-foffload=x86_64-intelmicemul-linux-gnu",)),
    Way("nvptx", ("-foffload=nvptx-none",)),
    Way("intelmic exact", ("-foffload=x86_64-intelmicemul-linux-gnu", "-g", "-foffload-check"), ("run", "--check")),
    Way("intelmic checked", ("-foffload=x86_64-intelmicemul-linux-gnu", "-g"), ("run", "--check")),
    Way("nvptx checked", ("-foffload=nvptx-none", "-g"), ("run", "--check=memory,init,sync")),
)


def as_region(text: str) -> str:
    """A program of csmith's, the body of its `main` in a region."""
    begin = "    unsigned crc;\n#pragma omp target map(from: crc)\n    {\n    int i, j, k;\n    crc32_gentab();"
    for old, new in (
        ('#include "csmith.h"', '#pragma omp declare target\n#include "csmith.h"'),
        ("int main (", "#pragma omp end declare target\nint main ("),
        ("    crc32_gentab();", begin),
        ("    platform_main_end(crc32_context", "    crc = crc32_context;\n    }\n    platform_main_end(crc"),
    ):
        before, found, behind = text.partition(old)
        if not found:  # without its region it would be compared with itself
            raise ValueError(f"csmith's program has no {old.strip()!r}")
        text = before + new + behind
    return text


def said(command: Sequence[str | Path], folder: Path, seconds: int) -> tuple[int, str, str]:
    """Exit status, or 124 where it takes too long; standard output, standard error."""
    environment = {**os.environ, "GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "mandatory"}
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=seconds, env=environment, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return 124, "", f"no end within {seconds} s"
    return done.returncode, done.stdout, done.stderr


def generated(seed: int, options: Sequence[str], folder: Path) -> str:
    """The program of a seed in `folder`; returns what it prints on the host, or nothing where that is left open."""
    (folder / "h.c").write_bytes(
        subprocess.run(["csmith", "-s", str(seed), *options], capture_output=True, check=True).stdout
    )
    found = set()
    for level in ("-O0", "-O3"):
        command = ["gcc", "-w", level, f"-I{INCLUDE}", "h.c", "-o", f"h{level}"]
        if said(command, folder, SECONDS)[0]:
            return ""
        status, text, _ = said([f"./h{level}"], folder, HOST_SECONDS)
        found.add(text if not status else "")
    (folder / "t.c").write_text(as_region((folder / "h.c").read_text()))
    return found.pop() if len(found) == 1 else ""


def tried(seed: int, way: Way, folder: Path, want: str) -> str:
    """What came of a program: `right`, `refused by gcc`, or what is wrong."""
    program = f"t-{way.name.replace(' ', '-')}"
    level = f"-O{seed % 4}"
    words = [BIN / "gompcc", "-w", level, "-fopenmp", *way.options, f"-I{INCLUDE}", "t.c", "-o", program]
    status, _, errors = said(words, folder, SECONDS)
    if status:
        return "refused by gcc" if REFUSED in errors else f"{level}: not compiled: {errors.strip()[:300]}"
    command = [BIN / "gompy", *way.run, f"./{program}"] if way.run else [f"./{program}"]
    status, text, errors = said(command, folder, SECONDS)
    if status or text != want or errors.strip():
        return f"{level}: status {status}, wanted {want.strip()}, {text.strip()}: {errors.strip()[:300]}"
    return "right"


def one(seed: int, options: Sequence[str], ways: Sequence[Way]) -> list[tuple[Way, str]]:
    """A seed's program in all ways; prints a line for each that is wrong."""
    folder = OUT / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    want = generated(seed, options, folder)
    results = [(way, tried(seed, way, folder, want)) for way in ways] if want else []
    wrong = [(way, result) for way, result in results if result not in ("right", "refused by gcc")]
    for way, result in wrong:
        print(f"{seed} {way.name}: {result}", flush=True)
    if not wrong:
        shutil.rmtree(folder)
    return results


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=40, help="how many seeds")
    parser.add_argument("--ways", default="", help="some of: " + ", ".join(way.name for way in WAYS))
    parser.add_argument("--options", default="", help="of csmith's: --float, --lang-cpp")
    given = parser.parse_args()
    if not (shutil.which("csmith") and INCLUDE.is_dir()):
        print("check-random: error: csmith is not installed: apt-get install csmith libcsmith-dev", file=sys.stderr)
        return 2
    ways = [way for way in WAYS if not given.ways or way.name in given.ways.split(",")]
    counts: Counter[tuple[str, str]] = Counter()
    programs = 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        seeds = range(given.first, given.first + given.count)
        for results in pool.map(lambda seed: one(seed, given.options.split(), ways), seeds):
            programs += bool(results)
            for way, result in results:
                counts[way.name, result if result in ("right", "refused by gcc") else "wrong"] += 1
    for way in ways:
        kinds = ", ".join(f"{counts[way.name, k]} {k}" for k in ("right", "refused by gcc", "wrong"))
        print(f"{way.name}: {kinds}, of {programs} programs")
    return int(any(kind == "wrong" for _, kind in counts))


if __name__ == "__main__":
    sys.exit(main())
