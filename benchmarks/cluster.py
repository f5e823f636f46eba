#!/usr/bin/env python3
"""How programs scale over the workers of a Dask cluster, measured on this machine and simulated from that to 1,000.

Three parts.  examples/cluster/dice.c on 1, 2 and 4 workers: by processor time, as this machine may have fewer cores
than workers.  waits.c, whose regions only wait, on 1 to 32 devices: by the clock.  Then a simulation with what these
have cost, held against the second part.  Writes benchmarks/out/cluster.json; --plot FILE draws it.

Exit status: 0; 1 a program failed, 4 workers do less than 3.2 times of one's work, or the simulation is far from what
was measured; 2 usage.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import GOMPCC, HERE, BenchError, checked, run_as_command, save
from ispras.plots import load

DICE = HERE.parent / "examples" / "cluster" / "dice.c"
CHUNKS, DRAWS = 64, 20_000_000
WORKERS = (1, 2, 4)
DEVICES = (1, 2, 4, 8, 16, 32)
WAIT_US, REGIONS_EACH = 20_000, 25
WANTED = 3.2
SIMULATED = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
LENGTHS = (0.01, 0.1, 1.0, 10.0)
NETWORK = 0.0002
"""Seconds there and back of a network between machines: two switches of 10 Gbit/s and their cards."""


def timed(words: list[str], environment: dict[str, str]) -> tuple[str, float, float]:
    """Run a program: its output, seconds by the clock, processor seconds of its own.  Raises BenchError."""
    begin = time.perf_counter()
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchError(f"{' '.join(words)}: exit status {process.returncode}")
    return output, time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def dice_on(count: int, program: str, before: dict[str, str]) -> dict[str, Any]:
    """dice on so many workers: processor seconds of the host's program and of each worker."""
    from gompy.remote import dask

    with dask.local(count) as client:
        devices = dask.Devices(client, count=count)
        with devices.environment() as variables:
            output, wall, host = timed([program, str(CHUNKS), str(DRAWS)], before | variables)
        used = devices.used()
    chunks = [int(n) for n in re.findall(r"device \d+: (\d+) chunks", output)]
    return {
        "workers": count,
        "wall": wall,
        "host": host,
        "used": used,
        "chunks": chunks,
        "says": output.splitlines()[0],
    }


def waits_on(program: str, before: dict[str, str]) -> list[dict[str, Any]]:
    """waits on several numbers of devices, all on four workers or fewer."""
    from gompy.remote import dask

    found = []
    for count in DEVICES:
        workers = min(count, 4)
        with dask.local(workers) as client:
            devices = dask.Devices(client, count=workers, per_worker=count // workers)
            with devices.environment() as variables:
                environment = before | variables
                for wait, each in ((0, 400), (WAIT_US, REGIONS_EACH)):
                    output, _, host = timed([program, str(each * count), str(wait)], environment)
                    found.append(json.loads(output) | {"host": host})
    return found


def costs(waits: list[dict[str, Any]]) -> dict[str, float]:
    """What a region and a device cost: slopes and medians over the numbers of devices."""
    empty = [run for run in waits if run["wait"] == 0]
    waiting = [run for run in waits if run["wait"]]
    one = waiting[0]
    return {
        "start": statistics.median(run["start"] / run["devices"] for run in waits if run["devices"] > 1),
        "host_region": statistics.median(run["host"] / run["regions"] for run in empty),
        "region": empty[0]["seconds"] / empty[0]["regions"],
        "wait": one["seconds"] / one["regions"] - empty[0]["seconds"] / empty[0]["regions"],
    }


def simulate(devices: int, length: float, each: int, cost: dict[str, float], trip: float, start: bool) -> float:
    """The share of the devices' time in which they work.

    devices: how many; length: seconds of a region; each: regions a device; cost: of ``costs``; trip: seconds there and
    back beyond loopback; start: whether the connections count.  One processor of the host does all launches.
    """
    host = devices * cost["start"] if start else 0.0
    ready = [(host, device) for device in range(devices)]
    last = 0.0
    delay = max(cost["region"] - cost["host_region"], 0.0) + trip
    for _ in range(devices * each):
        at, device = heapq.heappop(ready)
        host = max(at, host) + cost["host_region"]
        last = host + delay + length
        heapq.heappush(ready, (last, device))
    return length * each / max(at for at, _ in ready)


def plot(report: dict[str, Any], path: str) -> None:
    """Efficiency over the number of devices."""
    pyplot = load()
    figure, axes = pyplot.subplots(figsize=(7.5, 4.2))
    for length in LENGTHS:
        points = [p for p in report["simulated"] if p["length"] == length]
        name = f"{1e3 * length:g} ms" if length < 1 else f"{length:g} s"
        axes.plot(
            [p["devices"] for p in points], [p["efficiency"] for p in points], label=f"simulated, regions of {name}"
        )
    measured = report["checked"]
    axes.plot(
        [p["devices"] for p in measured], [p["measured"] for p in measured], "ko", label="measured, waits of 20 ms"
    )
    axes.plot(
        [run["workers"] for run in report["dice"]],
        [run["speedup"] / run["workers"] for run in report["dice"]],
        "k^",
        fillstyle="none",
        label="measured, dice, by processor time",
    )
    axes.set(xscale="log", xlabel="devices", ylabel="share of the devices' time that is work", ylim=(0, 1.05))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower left")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def measure(directory: Path) -> dict[str, Any]:
    """All three parts.  Raises BenchError."""
    before = dict(os.environ)
    dice, waits = str(directory / "dice"), str(directory / "waits")
    checked([GOMPCC, "-O2", "-fopenmp", str(DICE), "-o", dice], directory, before)
    checked([GOMPCC, "-O2", "-fopenmp", str(HERE / "waits.c"), "-o", waits], directory, before)
    load_before = os.getloadavg()[0]
    runs = [dice_on(count, dice, before) for count in WORKERS]
    if len({run["says"].partition(", ")[2] for run in runs}) > 1:
        raise BenchError(f"dice: results differ: {[run['says'] for run in runs]}")
    for run in runs:
        run["speedup"] = (runs[0]["host"] + runs[0]["used"][0]) / (run["host"] + max(run["used"]))
    waited = waits_on(waits, before)
    cost = costs(waited)
    compared = [
        {
            "devices": run["devices"],
            "measured": cost["wait"] * REGIONS_EACH / run["seconds"],
            "simulated": simulate(run["devices"], cost["wait"], REGIONS_EACH, cost, 0.0, False),
        }
        for run in waited
        if run["wait"]
    ]
    simulated = [
        {"devices": n, "length": length, "efficiency": simulate(n, length, REGIONS_EACH, cost, NETWORK, True)}
        for length in LENGTHS
        for n in SIMULATED
    ]
    return {
        "name": "cluster",
        "title": "Scaling over a Dask cluster's workers",
        "load": load_before,
        "dice": runs,
        "waits": waited,
        "costs": cost,
        "checked": compared,
        "simulated": simulated,
    }


def show(report: dict[str, Any]) -> bool:
    """The tables; whether all is as it should be."""
    print(f"dice, {CHUNKS} chunks of {DRAWS} draws, load {report['load']:.1f} before")
    for run in report["dice"]:
        used = " ".join(f"{seconds:.2f}" for seconds in run["used"])
        print(
            f"  {run['workers']} workers: {run['speedup']:.2f} times one; processor s: host {run['host']:.3f}, {used}"
        )
    cost = report["costs"]
    print(
        f"costs: a device's start {1e3 * cost['start']:.1f} ms, a region {1e6 * cost['region']:.0f} us, of them the "
        f"host's processor {1e6 * cost['host_region']:.0f} us"
    )
    print("waits of 20 ms: share of the devices' time that is work")
    for point in report["checked"]:
        print(f"  {point['devices']:3} devices: measured {point['measured']:.3f}, simulated {point['simulated']:.3f}")
    print(f"simulated, {REGIONS_EACH} regions a device, start of the devices included:")
    for n in SIMULATED:
        cells = [f"{p['efficiency']:.3f}" for p in report["simulated"] if p["devices"] == n]
        print(
            f"  {n:5} devices: " + "  ".join(f"{1e3 * t:g} ms {cell}" for t, cell in zip(LENGTHS, cells, strict=True))
        )
    good = report["dice"][-1]["speedup"] >= WANTED
    near = all(abs(p["measured"] - p["simulated"]) < 0.1 for p in report["checked"])
    if not good:
        print(f"4 workers do less than {WANTED} times of one's work", file=sys.stderr)
    if not near:
        print("the simulation is more than 0.1 from what was measured", file=sys.stderr)
    return good and near


def main() -> int:
    """Measure, show, save."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plot", metavar="FILE", help="draw what was found: PNG or SVG")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp())
    try:
        report = measure(directory)
        save(report)
        good = show(report)
        if options.plot:
            plot(report, options.plot)
    finally:
        shutil.rmtree(directory)
    return 0 if good else 1


if __name__ == "__main__":
    run_as_command(main)
