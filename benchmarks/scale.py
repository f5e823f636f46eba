#!/usr/bin/env python3
"""Programs that are larger than others: what they take, and whether it grows with their size or faster.

``scale.py [regions] [libraries] [array]``, all by default.  Each is measured at two sizes; what one more region or
library costs should be the same at both.  regions: a program of 2000 and of 20,000 regions, compiled, linked, run,
inspected, verified.  libraries: a program of 50 and of 500 shared libraries with an image each, linked and run.  array:
one of 8 GiB; skipped with a line where the memory for it is not free.  Seconds of the processor, of all processes of a
command.  Writes benchmarks/out/scale.json.  Exit status 1 if a program failed, 2 for wrong arguments.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from common import BIN, GOMPCC, HERE, BenchError, checked, run_as_command, save
from many import regions_source

REGIONS = (2_000, 20_000)
LIBRARIES = (50, 500)
GIB = 8
OPTIONS = ["-O2", "-fopenmp"]


@dataclass
class Step:
    """What a command took: seconds of the processor and of the clock, KiB of its largest process."""

    title: str
    size: int
    processor: float
    wall: float
    kib: int


def timed(title: str, size: int, command: list[str], directory: Path) -> Step:
    """Run a command.  Raises BenchError."""
    begin = time.monotonic()
    with open(directory / "said", "w+b") as said:
        run = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        _, status, used = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
        if run.returncode:
            said.seek(0)
            text = said.read().decode(errors="replace")[-2000:]
            raise BenchError(f"{shlex.join(command)[:200]}: exit status {run.returncode}\n{text}")
    step = Step(title, size, used.ru_utime + used.ru_stime, time.monotonic() - begin, used.ru_maxrss)
    print(f"  {title:34} {size:>6} {step.processor:9.2f} s {step.wall:9.2f} s {step.kib / 1024:9.0f} MiB", flush=True)
    return step


def regions(directory: Path) -> list[Step]:
    """Programs of many regions."""
    found = []
    for number in REGIONS:
        source = regions_source(directory, number)
        program = f"regions-{number}"
        found += [
            timed("regions: compile", number, [GOMPCC, *OPTIONS, "-c", str(source), "-o", "regions.o"], directory),
            timed("regions: link", number, [GOMPCC, *OPTIONS, "regions.o", "-o", program], directory),
            timed("regions: run each once", number, [f"./{program}"], directory),
            timed("regions: gompy inspect", number, [str(BIN / "gompy"), "inspect", program], directory),
            timed("regions: gompy verify", number, [str(BIN / "gompy"), "verify", program], directory),
        ]
    return found


def make_library(directory: Path, number: int) -> None:
    """One library of a region.  Raises BenchError."""
    words = ["-fPIC", "-shared", f"-DNAME=part{number}", f"-DNUMBER={number}"]
    library = f"libpart{number}.so"
    checked([GOMPCC, *OPTIONS, *words, str(HERE / "scale.c"), "-o", library], directory, dict(os.environ))


def libraries(directory: Path) -> list[Step]:
    """Programs of many libraries."""
    found = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for made in [pool.submit(make_library, directory, i) for i in range(max(LIBRARIES))]:
            made.result()
    for number in LIBRARIES:
        parts = range(number)
        declared = "".join(f"int part{i} (int);\n" for i in parts)
        calls = "".join(f"  x = part{i} (x);\n" for i in parts)
        source = directory / "parts.c"
        source.write_text(f"{declared}int\nmain (void)\n{{\n  int x = 0;\n{calls}  return x != {sum(parts)};\n}}\n")
        names = [f"-lpart{i}" for i in parts]
        words = [GOMPCC, *OPTIONS, str(source), "-L.", *names, f"-Wl,-rpath,{directory}", "-o", "parts"]
        found += [
            timed("libraries: compile and link", number, words, directory),
            timed("libraries: run a region of each", number, ["./parts"], directory),
        ]
    return found


def free_gib() -> float:
    """Memory that nobody uses."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) / (1 << 20)
    return 0.0


def array(directory: Path) -> list[Step]:
    """One large array."""
    if free_gib() < GIB + 2:
        print(f"  array skipped: {GIB + 2} GiB of memory are needed, {free_gib():.1f} are free")
        return []
    checked([GOMPCC, *OPTIONS, str(HERE / "array.c"), "-o", "array"], directory, dict(os.environ))
    step = timed("array: GiB", GIB, ["./array", str(GIB)], directory)
    steps = json.loads((directory / "said").read_text())
    print("    " + ", ".join(f"{name} {1e-9 * value:.3f} s" for name, value in steps.items()))
    return [step]


PARTS = {"regions": regions, "libraries": libraries, "array": array}


def main() -> int:
    """The parts named, or all."""
    wanted = sys.argv[1:] or list(PARTS)
    unknown = set(wanted) - set(PARTS)
    if unknown:
        print(f"scale.py: error: no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}",
              file=sys.stderr)  # fmt: skip
        return 2
    load = [os.getloadavg()[0]]
    found: list[Step] = []
    print(f"  {'':34} {'size':>6} {'processor':>11} {'clock':>11} {'largest':>13}")
    for name in wanted:
        with tempfile.TemporaryDirectory(prefix="gompy-scale-") as folder:
            found += PARTS[name](Path(folder))
    load.append(os.getloadavg()[0])
    print(f"  load average before and after: {load[0]:.1f}, {load[1]:.1f}")
    save({"name": "scale", "unit": "s", "load": load, "results": [asdict(step) for step in found]})
    return 0


if __name__ == "__main__":
    run_as_command(main, "[NAME...]")
