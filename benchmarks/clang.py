"""One program by clang, device.c for its x86_64 device, with gompy's libomptarget and with LLVM's, measured in turns.

The file is the same; the folder in LD_LIBRARY_PATH decides which library its constructs call.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from common import BIN, CLANG, HERE, BenchError, checked
from llvm import MEASUREMENTS, Measurement, Side, compared, rounds

WANTED = {"launch": 0.5, "three-new": 0.5, "update-to": 0.5, "update-from": 0.5, "enter": 0.5, "exit": 0.5}
"""The ratios that are wanted; large copies are measured by `llvm` already."""
LEFT_OUT = ("copy-to", "copy-from", "alloc-copy-free", "map-large")


def measurements() -> tuple[Measurement, ...]:
    """Those of `llvm` that are of libomptarget."""
    chosen = [m for m in MEASUREMENTS if m.name not in LEFT_OUT and not m.name.startswith("first")]
    return tuple(replace(m, wanted=WANTED.get(m.name)) for m in chosen)


@dataclass
class Library(Side):
    """The program with one of the libraries."""

    folder: str = ""

    def start(self, environment: dict[str, str]) -> None:
        """With the library's folder first."""
        super().start(environment | {"LD_LIBRARY_PATH": self.folder})


def build(directory: Path, environment: dict[str, str]) -> list[Side]:
    """The program, twice.  Raises BenchError."""
    program = directory / "device-clang"
    words = [CLANG, "-fopenmp-targets=x86_64-pc-linux-gnu", "-O2", "-fopenmp", str(HERE / "device.c")]
    checked([*words, "-o", str(program)], directory, environment)
    root = Path(checked([CLANG, "-print-resource-dir"], directory, environment).strip()).parents[2]
    ours = checked([str(BIN / "gompy"), "config", "--llvm-libdir"], directory, environment).strip()
    return [Library("gompy", program, folder=ours), Library("LLVM", program, folder=str(root / "lib"))]


def clang(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Build, measure, compare."""
    report: dict[str, Any] = {
        "name": "clang",
        "title": "One program by clang: gompy's libomptarget and LLVM's, device.c, in turns",
        "unit": "ns",
        "missing": "",
        "load": [os.getloadavg()[0]],
        "results": [],
    }
    try:
        sides = build(directory, environment)
    except BenchError as error:
        report["skipped"] = str(error).splitlines()[0]
        return report
    rounds(sides, environment, measurements())
    report["load"].append(os.getloadavg()[0])
    report["results"] = compared(sides, measurements())
    return report
