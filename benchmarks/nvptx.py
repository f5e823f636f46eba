"""What a region costs on an nvptx device: gompy's runtime and plugin, and GCC's, in turns, on the same driver.

Drivers: `null` (null_driver.c) answers at once, so that what is left is the cost of runtime and plugin; `null, no
copies` leaves out the copies, too, which cost both the same; `emulated` is gompy's; `real` the machine's, if it has a
GPU.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path
from typing import Any

from common import BIN, GCC, GOMPCC, HERE, BenchError, checked

STOCK_OPTIONS = ["-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify"]
NULL_DRIVERS: dict[str, list[str]] = {"null": [], "null, no copies": ["-DNO_COPIES"]}
"""gcc's further options."""
ROUNDS = 5
HALF = 0.5
"""What gompy's launch may take of GCC's."""


def drivers(directory: Path, environment: dict[str, str]) -> dict[str, dict[str, dict[str, str]]]:
    """The environment of each driver for each contender."""
    emulated = checked([str(BIN / "gompy"), "config", "--cuda-libdir"], directory, environment).strip()
    found = {}
    for name, options in NULL_DRIVERS.items():
        folder = directory / name.replace(", ", "-").replace(" ", "-")
        folder.mkdir()
        words = ["gcc", "-O2", "-shared", "-fPIC", "-w", *options, str(HERE / "null_driver.c")]
        checked([*words, "-o", str(folder / "libcuda.so.1")], directory, environment)
        found[name] = {
            "gompy": {"LD_LIBRARY_PATH": str(folder), "GOMPY_CUDA": "real"},
            "gcc": {"LD_LIBRARY_PATH": str(folder)},
        }
    found["emulated"] = {"gompy": {"GOMPY_CUDA": "emulated"}, "gcc": {"LD_LIBRARY_PATH": emulated}}
    if subprocess.run(["sh", "-c", "nvidia-smi -L"], capture_output=True).stdout:
        found["real"] = {"gompy": {"GOMPY_CUDA": "real"}, "gcc": {}}
    return found


def nvptx(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """launch.c built by gompcc and by stock gcc, run in turns."""
    source = str(HERE / "launch.c")
    checked([GOMPCC, "-O2", "-fopenmp", "-foffload=nvptx-none", source, "-o", "gompy"], directory, environment)
    checked([GCC, "-O2", "-fopenmp", *STOCK_OPTIONS, source, "-o", "gcc"], directory, environment)
    report: dict[str, Any] = {"name": "nvptx", "title": "A region on an nvptx device", "unit": "ns", "drivers": {}}
    for driver, contenders in drivers(directory, environment).items():
        seen: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
            for name, words in contenders.items():
                run = checked([f"./{name}"], directory, {**environment, **words, "OMP_TARGET_OFFLOAD": "mandatory"})
                seen[name].append(json.loads(run))
                if driver not in NULL_DRIVERS and seen[name][-1]["on_host"]:
                    raise BenchError(f"nvptx: the regions of {name} ran on the host ({driver} driver)")
        report["drivers"][driver] = [
            {"name": row} | {name: statistics.median(run[row]["median"] for run in runs) for name, runs in seen.items()}
            for row in seen["gompy"][0]
            if row != "on_host"
        ]
    return report


def show_nvptx(report: dict[str, Any]) -> None:
    """The table of nvptx()."""
    print(f"\n{report['title']} (medians, µs): gompy's runtime and plugin, GCC's, on the same driver")
    for driver, rows in report["drivers"].items():
        print(f"  {driver + ' driver':44} {'gompy':>10} {'GCC':>10}  ratio")
        for row in rows:
            ratio = row["gompy"] / row["gcc"]
            wanted = ""
            if row["name"] == "empty region" and driver == "real":
                wanted = f"  wanted ≤ {HALF} {'ok' if ratio <= HALF else 'missed'}"
            print(f"  {row['name']:44} {row['gompy'] / 1e3:>10.2f} {row['gcc'] / 1e3:>10.2f}  {ratio:.2f}{wanted}")
