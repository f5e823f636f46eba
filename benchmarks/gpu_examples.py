"""examples/gpu: CUDA C++ on the emulated GPU, the OpenMP twin on the host: `make bench-gpu-examples`.

CPU times of the kernels alone, of all threads, in ms: the least of several rounds of several runs.  The twins are
gcc's, -O2, with two threads.  Each program checks its result; a wrong one ends the measurement.

--before: an earlier benchmarks/out/gpu_examples.json, shown beside it.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import BIN, GCC, HERE, OUT, THREADS, BenchError, checked, mean, run_as_command, save, with_before

SOURCES = HERE.parent / "examples" / "gpu"
SIZES = {
    "alignment": 2048,
    "bitonic_sort": 1 << 16,
    "breadth_first": 1 << 18,
    "cheapest_path": 1 << 17,
    "diffusion": 512,
    "fft": 1 << 17,
    "flux": 400,
    "gauss": 384,
    "histogram": 1 << 22,
    "kmeans": 1 << 17,
    "layer": 1 << 17,
    "lu": 384,
    "mandelbrot": 400,
    "matrix": 384,
    "monte_carlo": 1 << 22,
    "nbody": 2048,
    "radix_sort": 1 << 19,
    "reduction": 1 << 22,
    "scan": 1 << 21,
    "sparse": 1 << 16,
    "stencil": 1200,
    "tree_search": 1 << 18,
    "vector_add": 1 << 22,
}
ROUNDS, RUNS = 7, 2


def measure(directory: Path, environment: dict[str, str], names: list[str]) -> dict[str, dict[str, Any]]:
    """Each program's least times: emulated, twin."""
    driver = checked([str(BIN / "gompy"), "config", "--cuda-libdir"], directory, environment).strip()
    emulated = environment | {"GOMPY_CUDA": "emulated", "LD_LIBRARY_PATH": driver}
    rows: dict[str, dict[str, Any]] = {}
    for name in names:
        source = str(SOURCES / name)
        checked([str(BIN / "gompy"), "cuda", "cc", "-O2", f"{source}.cu", "-o", "emulated"], directory, environment)
        command = [GCC, "-O2", "-fopenmp", "-foffload=disable", f"{source}.c", "-o", "twin", "-lm"]
        checked(command, directory, environment)
        row: dict[str, Any] = {"size": SIZES[name]}
        for _ in range(RUNS):
            lines = set()
            for program, words in (("emulated", emulated), ("twin", environment)):
                text = checked([f"./{program}", str(SIZES[name]), str(ROUNDS)], directory, words)
                time, line = text.splitlines()
                lines.add(line)
                row[program] = min(float(time.split()[1]), row.get(program, math.inf))
            if len(lines) > 1:
                raise BenchError(f"{name}: the results differ: {' / '.join(lines)}")
        rows[name] = row
    return rows


def show(rows: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> None:
    """A table; `before`: an earlier report's rows."""
    print(f"{'program':14} {'size':>8} {'before':>9} {'emulated':>9} {'OpenMP':>9}   : OpenMP")
    for name, row in rows.items():
        old = before.get(name, {}).get("emulated", math.nan)
        print(f"{name:14} {row['size']:8} {old:9.2f} {row['emulated']:9.2f} {row['twin']:9.2f}   "
              f"{row['emulated'] / row['twin']:8.2f}")  # fmt: skip
    print(f"{'geometric mean':53}   {mean([row['emulated'] / row['twin'] for row in rows.values()]):8.2f}")


def main() -> int:
    """Build, run, print, save."""
    before, names = with_before(sys.argv[1:])
    unknown = [name for name in names if name not in SIZES]
    if unknown:
        print(f"benchmarks/gpu_examples.py: error: no example {unknown[0]!r} in {SOURCES}", file=sys.stderr)
        return 2
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as directory:
        rows = measure(Path(directory), os.environ | THREADS, names or list(SIZES))
    show(rows, before)
    save({"name": "gpu_examples", "rows": rows})
    print(f"load average {os.getloadavg()[0]:.1f}; in {(OUT / 'gpu_examples.json').relative_to(HERE.parent)}")
    return 0


if __name__ == "__main__":
    run_as_command(main, "[--before FILE] [NAME...]")
