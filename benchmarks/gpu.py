"""Kernels on the emulated GPU, the same work by OpenMP (gcc -O2, two threads), and on PoCL: `make bench-gpu`.

The kernels (gpu/kernels.h) are CUDA C++ and OpenCL C at once.  All times are CPU times of all threads in ms, the least
of several runs; a run fails if a kernel's result is not its twin's.

--before: an earlier benchmarks/out/gpu.json, shown beside it.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import BIN, GCC, HERE, OUT, THREADS, BenchError, checked, mean, run_as_command, save, with_before

SOURCES = HERE / "gpu"
ROUNDS = 2


def build(directory: Path, environment: dict[str, str]) -> dict[str, dict[str, str]]:
    """The programs, and the environment of each."""
    checked([GCC, "-O2", "-fopenmp", "-c", str(SOURCES / "twins.c")], directory, environment)
    checked([GCC, "-O2", "-c", str(SOURCES / "cases.c")], directory, environment)
    command = [str(BIN / "gompy"), "cuda", "cc", "-O3", str(SOURCES / "cuda.cu"), "cases.o", "twins.o"]
    checked([*command, "-o", "emulated", "-lgomp", "-lm"], directory, environment)
    driver = checked([str(BIN / "gompy"), "config", "--cuda-libdir"], directory, environment).strip()
    found = {"emulated": {"LD_LIBRARY_PATH": driver}}
    try:
        command = [GCC, "-O2", "cases.o", "twins.o", str(SOURCES / "opencl.c")]
        checked([*command, "-o", "pocl", "-lOpenCL", "-lgomp", "-lm"], directory, environment)
        checked(["./pocl", str(SOURCES / "kernels.h"), "none"], directory, environment)
        found["pocl"] = {}
    except BenchError as error:
        print(f"without PoCL (pocl-opencl-icd, ocl-icd-opencl-dev): {str(error).splitlines()[0]}")
    return found


def measure(directory: Path, environment: dict[str, str], kernels: list[str]) -> dict[str, dict[str, Any]]:
    """Each kernel's least times: emulated, pocl, twin."""
    rows: dict[str, dict[str, Any]] = {}
    programs = build(directory, environment)
    for _ in range(ROUNDS):
        for program, words in programs.items():
            text = checked([f"./{program}", str(SOURCES / "kernels.h"), *kernels], directory, environment | words)
            for line in text.splitlines():
                one = json.loads(line)
                if not one["right"]:
                    raise BenchError(f"{program}: the result of {one['name']} is wrong")
                row = rows.setdefault(one["name"], {})
                row[program] = min(one["device"], row.get(program, math.inf))
                row["twin"] = min(one["twin"], row.get("twin", math.inf))
    return rows


def show(rows: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> None:
    """A table; `before`: an earlier report's rows."""
    print(f"{'kernel':12} {'before':>9} {'emulated':>9} {'OpenMP':>9} {'PoCL':>9}   : OpenMP  : PoCL")
    for name, row in rows.items():
        old = before.get(name, {}).get("emulated", math.nan)
        peer = row.get("pocl", math.nan)
        print(f"{name:12} {old:9.2f} {row['emulated']:9.2f} {row['twin']:9.2f} {peer:9.2f}   "
              f"{row['emulated'] / row['twin']:8.2f} {row['emulated'] / peer:7.2f}")  # fmt: skip
    twins = mean([row["emulated"] / row["twin"] for row in rows.values()])
    peers = mean([row["emulated"] / row["pocl"] for row in rows.values() if "pocl" in row])
    print(f"{'geometric mean':53}   {twins:8.2f} {peers:7.2f}")


def main() -> int:
    """Build, run, print, save."""
    before, kernels = with_before(sys.argv[1:])
    environment = os.environ | THREADS
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as directory:
        rows = measure(Path(directory), environment, kernels)
    unknown = [name for name in kernels if name not in rows]
    if unknown:
        print(f"gpu.py: error: no kernel {unknown[0]!r} in {SOURCES}", file=sys.stderr)
        return 2
    show(rows, before)
    save({"name": "gpu", "rows": rows})
    print(f"in {(OUT / 'gpu.json').relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    run_as_command(main, "[--before FILE] [KERNEL...]")
