#!/usr/bin/env python3
"""What `gompy run --check` costs a program that knows nothing of it: a region with it against one without, in turns.

check_any.c measures the processor time of the program and of its devices, as the runtime has it under `gompy run
--check`; the analysis at the end is not in it.  A ratio is the time with the check / without.  The rows are those of
docs/diagnosis-cost.md, and the same regions where each maps its arrays anew, and where the host uses them in between.
Writes benchmarks/out/check-any.json and check-any.svg.  Exit status 1 if a program failed; a ratio is never a failure.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from common import GOMPCC, HERE, checked, run_as_command
from turns import finish

TURNS: Final = 7
DEVICES: Final = {"MIC": ("intelmic", ()), "GPU": ("nvptx", ("-foffload=nvptx-none",))}
SHAPES: Final = {"present": "", "mapped": ", mapped anew", "used": ", used by the host"}


@dataclass(frozen=True)
class Row:
    """A region: on which device, elements of its arrays, operations for each, how many are measured."""

    device: str
    n: int
    operations: int
    rounds: int

    def title(self, shape: str) -> str:
        """As in the table."""
        return f"{self.device}, N = {self.n}, {self.operations} operations{SHAPES[shape]}"


ROWS: Final = (
    Row("MIC", 262144, 30, 60),
    Row("MIC", 1000, 2000, 60),
    Row("MIC", 1000, 100, 600),
    Row("GPU", 262144, 4, 60),
    Row("GPU", 1000, 2000, 60),
    Row("GPU", 1000, 100, 300),
)


def measure(program: Path, row: Row, shape: str, environment: dict[str, str]) -> float:
    """Nanoseconds of processor time for one region.  Raises BenchError."""
    words = [str(program), shape, str(row.n), str(row.operations), str(row.rounds)]
    return float(checked(words, program.parent, environment))


def main() -> int:
    """Compare."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GOMPY_CHECK")}
    load = os.getloadavg()[0]
    rows = []
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as name:
        folder = Path(name)
        source = str(HERE / "check_any.c")
        for device, (_, options) in DEVICES.items():
            checked([GOMPCC, "-g", "-O2", "-fopenmp", *options, source, "-o", device], folder, environment)
        for shape in SHAPES:
            for row in ROWS:
                plain = {**environment, "GOMPY_PLUGINS": DEVICES[row.device][0]}
                times: dict[str, list[float]] = {"now": [], "before": []}
                for turn in range(TURNS):
                    log = folder / f"log{turn}"
                    watched = {**plain, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(log)}
                    times["before"].append(measure(folder / row.device, row, shape, plain))
                    times["now"].append(measure(folder / row.device, row, shape, watched))
                    log.unlink()
                found = {side: {"median": statistics.median(t), "low": min(t)} for side, t in times.items()}
                rows.append({"title": row.title(shape), "bandwidth": False} | found)
    finish("check-any", "With --check against without", "With --check / without", rows, load)
    return 0


if __name__ == "__main__":
    run_as_command(main, "")
