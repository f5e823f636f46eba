#!/usr/bin/env python3
"""What `gompcc -foffload-check` costs a region, by the kind of its loop: with it and checked, against plain, in turns.

check_exact.c measures the processor time of the program and of its devices.  A ratio is the time of a program made
with -foffload-check under `gompy run --check` / that of one made without, which is not checked.  The analysis at the
end is not in it.  Writes benchmarks/out/check-exact.json and check-exact.svg.  Exit status 1 if a program failed; a
ratio is never a failure.

Arguments are the kinds to measure; without, all.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from common import GOMPCC, HERE, checked, run_as_command
from turns import finish

TURNS: Final = 5
ROUNDS: Final = {"plain": 100, "checked": 20}
OPTIMISED: Final = (
    *("nothing", "dense", "strided", "stencil", "reduction", "gather", "scatter", "rows"),
    *("conditional", "seldom", "early-exit", "call", "straight"),
)
LEVELS: Final = {"-O2": OPTIMISED, "-O0": ("stencil", "gather")}
CHECKS: Final = ("GOMPY_CHECK", "GOMPY_CHECK_LOG")


def compile_both(folder: Path, level: str, environment: dict[str, str]) -> None:
    """Make the plain program and the checked one.  Raises BenchError."""
    words = [GOMPCC, "-g", level, "-fopenmp", str(HERE / "check_exact.c"), "-o"]
    checked([*words, f"plain{level}"], folder, environment)
    checked([*words, f"checked{level}", "-foffload-check"], folder, environment)


def compare(folder: Path, level: str, kind: str, environment: dict[str, str]) -> dict[str, Any]:
    """Measure both in turns.  Raises BenchError."""
    times: dict[str, list[float]] = {"before": [], "now": []}
    log = folder / "log"
    watched = {**environment, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(log)}
    sides = {"before": ("plain", environment), "now": ("checked", watched)}
    for _ in range(TURNS):
        for side, (name, env) in sides.items():
            words = [str(folder / f"{name}{level}"), kind, str(ROUNDS[name])]
            times[side].append(float(checked(words, folder, env)))
        log.unlink()
    found = {side: {"median": statistics.median(t), "low": min(t)} for side, t in times.items()}
    return {"title": f"{kind}, {level}", "bandwidth": False} | found


def main() -> int:
    """Compare."""
    wanted = set(sys.argv[1:])
    unknown = wanted - set(OPTIMISED)
    if unknown:
        print(f"check_exact.py: error: no such kind: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    environment = {name: value for name, value in os.environ.items() if name not in CHECKS}
    environment["GOMPY_PLUGINS"] = "intelmic"
    load = os.getloadavg()[0]
    rows = []
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as name:
        for level, kinds in LEVELS.items():
            compile_both(Path(name), level, environment)
            chosen = [kind for kind in kinds if not wanted or kind in wanted]
            rows += [compare(Path(name), level, kind, environment) for kind in chosen]
    finish("check-exact", "-foffload-check, checked, against plain", "Checked / plain", rows, load)
    return 0


if __name__ == "__main__":
    run_as_command(main, "[KIND...]")
