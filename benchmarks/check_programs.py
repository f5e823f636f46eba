"""What `gompy run --check` costs whole programs: examples/gpu in OpenMP, on both devices: `make bench-check-programs`.

A round is copies to the device, launches, and copies back, as each program has them; its size is that of
`make bench-gpu-examples`.  A round's time is what runs with more rounds take longer than runs with a few, of host and
device together, by the processor and by the clock; the start is a run with a few rounds, with the analysis at its end.
Checked and plain runs take turns; the least time of several counts.  A finding ends the measurement: they have none.
Runs take seconds: checks come to their share of a program's time then, and look at some constructs in part.

PROGRAMS="MIC scan": that device, that program.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Final

from common import BIN, GOMPCC, checked, mean, run_as_command, save, timed
from gpu_examples import SIZES, SOURCES

FEW, RUNS = 5, 3
MORE_S: Final = 3.0
"""About so long a plain run with more rounds takes."""
ROUNDS: Final = (40, 2000)
"""So many more at least, at most."""
DEVICES: Final = {"MIC": "x86_64-intelmicemul-linux-gnu", "GPU": "nvptx-none"}
WAYS: Final = {"plain": [], "check": ["--check"]}
Times = dict[str, tuple[float, float]]
"""By way: milliseconds by the processor, by the clock."""


def least(program: Path, size: int, rounds: int, runs: int) -> Times:
    """The least times of several runs.  Raises BenchError."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GOMPY_CHECK")}
    environment |= {"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "MANDATORY"}
    seen: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(runs):
        for way, words in WAYS.items():
            command = [str(BIN / "gompy"), "run", *words, str(program), str(size), str(rounds)]
            seen[way].append(timed(command, program.parent, environment))
    return {way: (1e3 * min(cpu for _, cpu in s), 1e3 * min(clock for clock, _ in s)) for way, s in seen.items()}


def measure(name: str, device: str, folder: Path) -> dict[str, Times]:
    """The start's times, a round's, and those of the longer run."""
    program = folder / name
    command = [GOMPCC, "-g", "-O2", "-fopenmp", f"-foffload={DEVICES[device]}", str(SOURCES / f"{name}.c")]
    checked([*command, "-o", str(program), "-lm"], folder, dict(os.environ))
    start = least(program, SIZES[name], FEW, RUNS)
    probe = least(program, SIZES[name], FEW + ROUNDS[0], 1)["plain"][1]
    a_round = max((probe - start["plain"][1]) / ROUNDS[0], 1)
    more = min(max(ROUNDS[0], int(1e3 * MORE_S / a_round)), ROUNDS[1])
    full = least(program, SIZES[name], FEW + more, RUNS)
    rounds = {way: ((full[way][0] - start[way][0]) / more, (full[way][1] - start[way][1]) / more) for way in WAYS}
    return {"start": start, "round": rounds, "whole": full}


def line(times: dict[str, Times]) -> str:
    """Plain, checked, and the ratio, of a round by the processor and by the clock; of the start, and of the longer run
    with its start, by the processor."""
    columns = [(times["round"], 0), (times["round"], 1), (times["start"], 0), (times["whole"], 0)]
    return "".join(
        f"  {plain:9.2f} {check:9.2f} {check / max(plain, 1e-3):6.2f}"
        for plain, check in ((of["plain"][i], of["check"][i]) for of, i in columns)
    )


def main() -> int:
    """Build, run, print, save."""
    unknown = [word for word in sys.argv[1:] if word not in SIZES and word not in DEVICES]
    if unknown:
        print(f"benchmarks/check_programs.py: error: no example {unknown[0]!r} in {SOURCES}", file=sys.stderr)
        return 2
    devices = [word for word in sys.argv[1:] if word in DEVICES] or list(DEVICES)
    names = [word for word in sys.argv[1:] if word in SIZES] or list(SIZES)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors; times in ms")
    head = "".join(f"  {what:>9} {'checked':>9} {'':>6}" for what in ("cpu", "clock", "start", "whole"))
    rows: dict[str, dict[str, dict[str, Times]]] = {}
    for device in devices:
        print(f"{device:14}{head}")
        rows[device] = {}
        for name in names:
            with tempfile.TemporaryDirectory(prefix="gompy-bench-") as folder:
                rows[device][name] = measure(name, device, Path(folder))
            print(f"{name:14}{line(rows[device][name])}", flush=True)
        ratios = [[max(row["round"]["check"][i], 1e-3) / max(row["round"]["plain"][i], 1e-3) for i in (0, 1)]
                  for row in rows[device].values()]  # fmt: skip
        cpu, clock = (mean(list(of)) for of in zip(*ratios, strict=True))
        print(f"{'geometric mean':14}  {cpu:26.2f}  {clock:26.2f}")
    save({"name": "check_programs", "rows": rows})
    print(f"load average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    run_as_command(main, "[DEVICE...] [NAME...]")
