"""examples/gpu under GOMPY_CHECK=race on the emulated GPU, in CUDA and in OpenMP by gcc: `make bench-gpu-races`.

CPU times of the kernels alone, in ms, with and without the check: the least of several rounds, the two in turns.
CUDA has the sizes of `make bench-gpu-examples`, OpenMP the programs' own.  A race that is told ends the measurement:
the examples have none.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import BIN, GOMPCC, BenchError, checked, mean, run_as_command, save
from gpu_examples import SIZES, SOURCES

ROUNDS, RUNS = 3, 2
SHORT_MS, SHORT_ROUNDS = 1.0, 50
"""Programs that take less than so long have so many rounds: of a few the least is still an accident."""
WAYS = ("CUDA", "OpenMP")
TOLD = "warning: race on"


def kernels_ms(command: list[str], directory: Path, environment: dict[str, str]) -> float:
    """The time that a program tells.  Raises BenchError, also for a race."""
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or TOLD in done.stderr:
        raise BenchError(f"{' '.join(command)}: status {done.returncode}: {done.stdout}{done.stderr}")
    return float(done.stdout.split()[1])


def build(name: str, way: str, directory: Path) -> list[str]:
    """Compile an example; the command that runs it."""
    source = str(SOURCES / name)
    if way == "CUDA":
        checked([str(BIN / "gompy"), "cuda", "cc", "-O2", f"{source}.cu", "-o", way], directory, dict(os.environ))
        return [f"./{way}", str(SIZES[name])]
    command = [GOMPCC, "-O2", "-fopenmp", "-foffload=nvptx-none", f"{source}.c", "-o", way, "-lm"]
    checked(command, directory, os.environ | {"GOMPY_ACCEL": "gcc"})
    text = Path(f"{source}.h").read_text(encoding="utf-8")
    usual = re.search(r"size_argument \(argc, argv, (\d+)(?: << (\d+))?\)", text)
    if usual is None:
        raise BenchError(f"{source}.h: no usual size")
    return [f"./{way}", str(int(usual[1]) << int(usual[2] or 0))]


def measure(name: str, way: str, directory: Path) -> tuple[float, float]:
    """The least time without and with the check."""
    command = build(name, way, directory)
    driver = checked([str(BIN / "gompy"), "config", "--cuda-libdir"], directory, dict(os.environ)).strip()
    plain = os.environ | {"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "MANDATORY"}
    if way == "CUDA":
        plain["LD_LIBRARY_PATH"] = driver
    once = kernels_ms([*command, str(ROUNDS)], directory, plain)
    command.append(str(SHORT_ROUNDS if once < SHORT_MS else ROUNDS))
    times = [
        (kernels_ms(command, directory, plain), kernels_ms(command, directory, plain | {"GOMPY_CHECK": "race"}))
        for _ in range(RUNS)
    ]
    return min(first for first, _ in times), min(second for _, second in times)


def main() -> int:
    """Build, run, print, save."""
    names = sys.argv[1:]
    unknown = [name for name in names if name not in SIZES]
    if unknown:
        print(f"benchmarks/gpu_races.py: error: no example {unknown[0]!r} in {SOURCES}", file=sys.stderr)
        return 2
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'program':14}" + "".join(f" {way + ', ms':>12} {'race':>9} {'':>6}" for way in WAYS))
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for name in names or SIZES:
        with tempfile.TemporaryDirectory(prefix="gompy-bench-") as directory:
            rows[name] = {way: measure(name, way, Path(directory)) for way in WAYS}
        line = "".join(f" {plain:12.2f} {race:9.2f} {race / plain:6.1f}" for plain, race in rows[name].values())
        print(f"{name:14}{line}", flush=True)
    means = {way: mean([row[way][1] / row[way][0] for row in rows.values()]) for way in WAYS}
    print(f"{'geometric mean':14}" + "".join(f" {means[way]:29.1f}" for way in WAYS))
    save({"name": "gpu_races", "rows": rows})
    print(f"load average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    run_as_command(main, "[NAME...]")
