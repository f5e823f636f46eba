#!/usr/bin/env python3
"""Random operations of many threads on many devices, against a model: under sanitizers, or long.

``make check-sanitizers``: storm.c with gompy's compiled parts built by ThreadSanitizer, then by AddressSanitizer and
UndefinedBehaviorSanitizer, each in a copy of the tree.  ``make check-endurance``: 10^8 operations with the usual build.
Exit status: 0 all is right, 1 not.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "testsuite/out/storm"
REPORT = re.compile(r"^(?:SUMMARY: (\w+Sanitizer: .*)|.*?: (runtime error: .*))$", re.MULTILINE)
SEEDS = (1, 2, 3)
KIB = 1024
SLACK = 32 * KIB
"""KiB that a process may grow by between the first half of a long run and the second."""


def shapes(operations: int) -> list[tuple[str, Mapping[str, str], Sequence[str], tuple[str, str]]]:
    """Title, environment, options of gompcc, and the program's threads and operations."""
    some = str(operations)
    return [
        ("intelmic, 8 threads", {}, (), ("8", some)),
        ("8 devices, 64 threads", {"OFFLOAD_EMUL_NUM": "8"}, (), ("64", some)),
        ("checked, 8 threads", {"GOMPY_CHECK": "1"}, (), ("8", some)),
        ("nvptx, 8 threads", {"GOMPY_CUDA": "emulated"}, ("-foffload=nvptx-none",), ("8", str(operations // 4))),
    ]


def copied(folder: Path) -> Path:
    """A copy of what git has of the tree."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def compiled(tree: Path, folder: Path, options: Sequence[str]) -> Path:
    """The program, by a tree's gompcc."""
    program = folder / ("storm" + "".join(options).replace("=", "-"))
    words = [tree / ".venv/bin/gompcc", "-g", "-O1", "-fopenmp", *options, HERE / "storm.c", "-o", program, "-lpthread"]
    subprocess.run(words, check=True)
    return program


def found(said: str) -> list[str]:
    """What sanitizers reported, each once."""
    return sorted({match[1] or match[2] for match in REPORT.finditer(said)})


def under(build: str, environment: Mapping[str, str], operations: int) -> bool:
    """The storm with compiled parts of a sanitizer's; a line for each shape."""
    right = True
    with tempfile.TemporaryDirectory(prefix="gompy-storm-") as name:
        tree = copied(Path(name, "tree"))
        done = subprocess.run(
            ["make", "--no-print-directory"],
            cwd=tree,
            env={**os.environ, "GOMPY_BUILD": build},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            print(f"{build}: WRONG: make: {(done.stdout + done.stderr)[-2000:]}")
            return False
        for title, words, options, (threads, many) in shapes(operations):
            sanitized = ("-fsanitize=thread",) if build == "thread" else ()
            program = compiled(tree, Path(name), (*options, *sanitized))
            for seed in SEEDS:
                # One layout of addresses: ThreadSanitizer starts anew under another, and refuses some.
                command = ["setarch", "-R", str(program), threads, many, str(seed)]
                done = subprocess.run(
                    command, env={**os.environ, **environment, **words}, capture_output=True, text=True
                )
                reports = found(done.stderr)
                good = done.returncode == 0 and not reports and ": right" in done.stdout
                right &= good
                last = (done.stdout + done.stderr).strip().splitlines()[-1:]
                said = "ok" if good else f"WRONG: status {done.returncode}, {'; '.join(reports) or last}"
                print(f"{build:<7} {title:<22} seed {seed}: {said}", flush=True)
                if not good:
                    OUT.mkdir(parents=True, exist_ok=True)
                    log = OUT / f"{build}-{title.replace(', ', '-').replace(' ', '-')}-{seed}.log"
                    log.write_text(done.stdout + done.stderr)
                    print(f"  {log.relative_to(ROOT)}", flush=True)
    return right


def tree_of(pid: int) -> dict[int, int]:
    """The resident memory of a process and its children, in KiB."""
    sizes, waiting = {}, [pid]
    while waiting:
        one = waiting.pop()
        try:
            pages = int(Path(f"/proc/{one}/statm").read_text().split()[1])
            sizes[one] = pages * os.sysconf("SC_PAGESIZE") // KIB
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except (OSError, ValueError, IndexError):
            continue
    return sizes


def long(operations: int) -> bool:
    """Many operations on 8 devices by 64 threads; no process may hold more in the second half than in the first."""
    with tempfile.TemporaryDirectory(prefix="gompy-storm-") as name:
        program = compiled(ROOT, Path(name), ())
        began = time.monotonic()
        words = [str(program), "64", str(operations), "1"]
        run = subprocess.Popen(words, env={**os.environ, "OFFLOAD_EMUL_NUM": "8"}, stdout=subprocess.PIPE, text=True)
        seen: list[int] = []
        while run.poll() is None:
            seen.append(max(tree_of(run.pid).values(), default=0))
            time.sleep(0.2)
        said = run.stdout.read().strip() if run.stdout else ""
    took = time.monotonic() - began
    first, second = max(seen[: len(seen) // 2], default=0), max(seen[len(seen) // 2 :], default=0)
    good = run.returncode == 0 and second <= first * 1.1 + SLACK
    print(f"{'ok' if good else 'WRONG'}, {said or f'status {run.returncode}'}")
    print(f"the largest process held {first} KiB in the first half, {second} in the second; {took:.0f} s")
    return good


def main() -> int:
    """What the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="the usual build, many operations")
    parser.add_argument("--builds", default="thread,debug", help="of %(default)s")
    parser.add_argument("--operations", type=float, help="in all (default: 20000; 1e8 with --long)")
    options = parser.parse_args()
    if options.long:
        return 0 if long(int(options.operations or 1e8)) else 1
    environments = {
        "thread": {"TSAN_OPTIONS": "halt_on_error=0"},
        "debug": {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=0"},
    }
    right = True
    for build in options.builds.split(","):
        right &= under(build, environments[build], int(options.operations or 20000))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
