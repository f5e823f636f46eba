#!/usr/bin/env python3
"""The four micro-benchmarks with which GCC's OpenMP for PTX was first measured (Monakov and Ivanishin, 2016).

Sweeps over size, teams, threads and simd; benchmarks/out/ispras-DEVICE.json, and plots beside it with --plot.
Exit status 1 if a result was wrong or a program failed, 2 if the command was.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[0]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import OUT, BenchError, run_as_command, save
from ispras import plots
from programs import BENCHES, DEVICES, MODELS, RUNTIMES, Program, SkippedError, Sweep, nvidia_gpu

GPU = Sweep(tuple(2**k for k in range(8, 21, 2)), (1, 4, 16, 64, 256), (1, 2, 4, 8, 16, 32))
EMULATED = Sweep(tuple(2**k for k in range(6, 19, 2)), (1, 2, 4, 8), (1, 2, 4, 8))
PROCESSOR = Sweep(tuple(2**k for k in range(6, 21, 2)), (1, 2, 4), (1, 2, 4))
SWEEPS = {"nvidia": GPU, "emulated": EMULATED, "intelmic": PROCESSOR, "host": PROCESSOR}
RATIO_SIZE = 2**22
RATIO = Sweep((RATIO_SIZE,), (0,), (0,), (1,), 25, 60.0)


def numbers(text: str, low: int) -> tuple[int, ...]:
    """A list with commas; 2^22 may be written for 4194304.  Raises ArgumentTypeError."""
    values = []
    for word in text.split(","):
        base, power, exponent = word.partition("^")
        if not base.isdecimal() or (power and not exponent.isdecimal()):
            raise argparse.ArgumentTypeError(f"'{word}' is no number")
        values.append(int(base) ** int(exponent) if power else int(base))
        if not low <= values[-1] <= 2**32:
            raise argparse.ArgumentTypeError(f"'{word}' is not from {low} to 2^32")
    if len(values) > 64:
        raise argparse.ArgumentTypeError("more than 64 numbers")
    return tuple(values)


def sizes(text: str) -> tuple[int, ...]:
    """Numbers of elements."""
    return numbers(text, 1)


def counts(text: str) -> tuple[int, ...]:
    """Teams or threads; 0 is the runtime's choice."""
    return numbers(text, 0)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").splitlines()[0])
    add = result.add_argument
    add("--device", action="append", choices=DEVICES, help="default: all; nvidia only with a GPU")
    add("--bench", action="append", choices=BENCHES, help="may be repeated, as all these; default: all")
    add("--model", action="append", choices=MODELS, help="default: all")
    stock = "stock: the same program and image under GCC's libgomp and plugin (GPUs only)"
    add("--runtime", action="append", choices=RUNTIMES, help=f"default: gompy; {stock}")
    add("--sizes", type=sizes, metavar="N,…", help="elements; 2^22 is understood")
    add("--teams", type=counts, metavar="N,…", help="0: the runtime's choice")
    add("--threads", type=counts, metavar="N,…", help="in a team; 0: the runtime's choice")
    add("--simd", type=counts, metavar="0,1", help="without, with")
    add("--repeats", type=int, help="at most so many measurements of a point (3 or more)")
    add("--budget", type=float, help="seconds for a point; three measurements are made in any case")
    ratio = f"n = {RATIO_SIZE}, launches as the runtime chooses: their time by the native loop's"
    add("--ratio", action="store_true", help=ratio)
    add(
        "--cpu-time", action="store_true", help="CPU time of all threads (emulated, host), for machines that are shared"
    )
    add("--plot", action="store_true", help="draw PNG and SVG files")
    add("--plot-only", action="store_true", help="draw what was measured before")
    add("--out", type=Path, default=OUT, help="folder for results (default: benchmarks/out)")
    return result


def sweep_of(options: argparse.Namespace, device: str) -> Sweep:
    """A device's sweep with what the command line says otherwise."""
    base = RATIO if options.ratio else SWEEPS[device]
    return Sweep(
        options.sizes or base.sizes,
        options.teams or base.teams,
        options.threads or base.threads,
        options.simd or base.simd,
        options.repeats or base.repeats,
        base.budget if options.budget is None else options.budget,
    )


def measure(options: argparse.Namespace, device: str, directory: Path) -> dict[str, Any]:
    """All runs on one device; their report.  Raises BenchError."""
    sweep = sweep_of(options, device)
    runs: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    environment = {**os.environ, "LC_ALL": "C"}
    for bench in options.bench or BENCHES:
        for model in options.model or MODELS:
            for runtime in options.runtime or ("gompy",):
                program = Program(bench, model, device, runtime)
                try:
                    runs.append(program.run(program.build(directory, environment), sweep, options.cpu_time))
                except SkippedError as reason:
                    skipped.append({"program": str(program), "reason": str(reason)})
                    print(f"  {program!s:44} skipped: {reason}", flush=True)
                else:
                    show(program, runs[-1])
    return {
        "name": f"ispras-ratio-{device}" if options.ratio else f"ispras-{device}",
        "title": f"mul-matr-vec, newton-sqrt, scalar-prod, vector-add on {device}",
        "unit": "s",
        "clock": "cpu" if options.cpu_time else "wall",
        "load": os.getloadavg(),
        "gpu": nvidia_gpu() if device == "nvidia" else {},
        "runs": runs,
        "skipped": skipped,
    }


def show(program: Program, run: dict[str, Any]) -> None:
    """For each size the best launch: its time, the native loop's, their ratio (medians, and lowest times)."""
    for size in sorted({p["n"] for p in run["points"]}):
        best = min((p for p in run["points"] if p["n"] == size), key=plots.seconds)
        native = statistics.median(best["native"])
        lowest = min(best["region"]) / min(best["native"])
        simd = "simd" if best["simd"] else "no simd"
        print(
            f"  {program!s:44} n {size:>9}  {1e3 * plots.seconds(best):10.3f} ms  native {1e3 * native:9.3f} ms"
            f"  ratio {plots.seconds(best) / native:7.2f}, of the lowest {lowest:7.2f}  ({plots.launch(best)}, {simd})",
            flush=True,
        )


def write(report: dict[str, Any], out: Path) -> None:
    """The report as a JSON file."""
    if out == OUT:
        save(report)
    else:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{report['name']}.json").write_text(json.dumps(report, indent=1) + "\n")


def read(device: str, out: Path) -> dict[str, Any]:
    """What was measured before.  Raises BenchError."""
    path = out / f"ispras-{device}.json"
    try:
        report: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise BenchError(f"{path}: {error}; nothing to plot") from None
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, draw."""
    options = parser().parse_args(arguments)
    if options.repeats is not None and not 3 <= options.repeats <= 100000:
        parser().error("--repeats: from 3 to 100000")
    if options.ratio and (options.plot or options.plot_only):
        parser().error("--ratio has no plots")
    if options.cpu_time and set(options.device or DEVICES) - {"emulated", "host"}:
        parser().error("--cpu-time: with --device emulated or host, whose regions run in the process")
    if options.simd and set(options.simd) - {0, 1}:
        parser().error("--simd: 0, 1 or both")
    devices = options.device or [d for d in DEVICES if d != "nvidia" or nvidia_gpu()]
    if options.plot or options.plot_only:
        plots.load()
    with tempfile.TemporaryDirectory(prefix="gompy-ispras-") as name:
        for device in devices:
            if options.plot_only:
                report = read(device, options.out)
            else:
                print(f"{device} (load {os.getloadavg()[0]:.1f})")
                report = measure(options, device, Path(name))
                write(report, options.out)
                if not report["runs"]:
                    print(f"run.py: error: {device}: every program was skipped", file=sys.stderr)
                    return 1
            if options.plot or options.plot_only:
                made = plots.draw(report["runs"], options.out)
                print(f"  {len(made)} plots in {options.out}")
    return 0


if __name__ == "__main__":
    run_as_command(main)
