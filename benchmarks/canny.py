#!/usr/bin/env python3
"""The two figures of the FOTV paper (Álvarez et al., IWOMP 2021), of real runs of examples/canny on this machine.

Time over resolution: on the virtual device with OpenCL, with and without the copies, and on the emulated MIC as the
native device.  Frame time over frame number, while the device is changed from local to remote and back; the remote one
is a server of this machine behind a relay that delays by 0.5 ms each way.  All devices have one thread: threads that
wait for each other would measure what else the machine does.  Writes benchmarks/out/canny.json; --plot FOLDER draws
canny-resolution.svg and canny-swap.svg there.

Exit status: 0; 1 a program failed, or its pictures are not the host's; 2 usage.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from common import BIN, GOMPCC, HERE, OUT, BenchError, checked, run_as_command, save
from ispras.plots import load
from relay import Relay
from remote import DELAY, served

CANNY = HERE.parent / "examples" / "canny"
PHOTO = CANNY / "dandelion.jpg"
SIZES = ((160, 120), (320, 240), (640, 480), (960, 720), (1280, 960), (1920, 1440))
FRAMES, WARM = 12, 2
SHOW = (640, 480)
SWAPS = ((50, "remote:0"), (100, "intelmic"))
LAST = 150
RUNS = 5
PYTHON = {"GOMPY_PLUGINS": "python", "OMP_TARGET_OFFLOAD": "mandatory"}
Frame = tuple[int, float, float, float]
"""Its number, milliseconds, those of its stages, seconds since the start."""


def build(directory: Path, environment: dict[str, str]) -> None:
    """The program, and kernels of its regions in cl/."""
    sources = [str(path) for path in (HERE / "frames.c", CANNY / "canny.c", CANNY / "jpeg.c")]
    command = [GOMPCC, "-O2", "-fopenmp", "--save-regions=json", *sources, "-lm", "-o", "frames"]
    checked(command, directory, environment)
    checked([str(BIN / "gompy"), "regions", "--kernels", "cl", "json"], directory, environment)


def frame_of(line: str) -> Frame:
    """A line of the program's."""
    number, total, stages, at = line.split()
    return int(number), float(total), float(stages), float(at)


def resolutions(directory: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Milliseconds a frame, medians, for each size and device."""
    virtual = environment | PYTHON | {"GOMPY_PYTHON_DEVICE": "gompy.virtual:Virtual", "GOMPY_VIRTUAL": "opencl"}
    devices = {"opencl": virtual | {"GOMPY_KERNELS": "cl"}, "native": environment | {"OMP_TARGET_OFFLOAD": "mandatory"}}
    found = []
    for width, height in SIZES:
        point: dict[str, Any] = {"width": width, "height": height}
        for name, variables in devices.items():
            command = ["./frames", str(PHOTO), str(width), str(height), str(FRAMES)]
            frames = [frame_of(line) for line in checked(command, directory, variables).splitlines()][WARM:]
            point[name] = statistics.median(frame[1] for frame in frames)
            point[f"{name}_without_copies"] = statistics.median(frame[2] for frame in frames)
        found.append(point)
    return found


def swapping(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """The frames of one run, and what each change of the device said."""
    said = []
    with served(directory, environment) as port, closing(Relay(port, DELAY)) as relay:
        variables = {
            "GOMPY_PYTHON_DEVICE": "gompy.virtual:Swap",
            "GOMPY_SWAP_MEMORY": "64M",
            "GOMPY_REMOTE": f"127.0.0.1:{relay.port}",
            "GOMPY_REMOTE_TOKEN_FILE": "token",
        }
        command = ["./frames", str(PHOTO), *map(str, SHOW), str(LAST)]
        with subprocess.Popen(
            command, cwd=directory, env=environment | PYTHON | variables, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            frames = []
            for line in process.stdout:
                frames.append(frame_of(line))
                for after, backend in SWAPS:
                    if frames[-1][0] == after - 1:
                        ask = [str(BIN / "gompy"), "device", "swap", str(process.pid), "0", backend]
                        said.append({"after": after, "said": checked(ask, directory, environment).strip()})
        if process.returncode:
            raise BenchError(f"frames: exit status {process.returncode} while its device was changed")
    return {"size": SHOW, "frames": frames, "swaps": said}


def phases(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Medians of the frames before, between and after the changes, and the longest frame of each."""
    frames = report["swap"]["frames"]
    ends = [0, *(after for after, _ in SWAPS), LAST]
    names = ["intelmic", *(name for _, name in SWAPS)]
    found = []
    for name, first, last in zip(names, ends, ends[1:], strict=False):
        times = [frame[1] for frame in frames[first:last]]
        found.append({"backend": name, "median": statistics.median(times), "longest": max(times)})
    return found


def plot(report: dict[str, Any], folder: Path) -> None:
    """Both figures."""
    pyplot = load()
    pyplot.rcParams["svg.hashsalt"] = "gompy"
    figure, axes = pyplot.subplots(figsize=(7, 3.8))
    pixels = [p["width"] * p["height"] / 1e6 for p in report["resolution"]]
    for key, label, style in (
        ("opencl", "virtual device, OpenCL (PoCL), with copies", "o-"),
        ("opencl_without_copies", "the same without copies", "o--"),
        ("native", "native offload, emulated MIC", "s-"),
    ):
        axes.plot(pixels, [p[key] for p in report["resolution"]], style, label=label)
    axes.set(xlabel="resolution, millions of pixels", ylabel="ms a picture", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / "canny-resolution.svg", metadata={"Date": None})
    figure, axes = pyplot.subplots(figsize=(7, 3.8))
    frames = report["swap"]["frames"]
    axes.plot([frame[0] for frame in frames], [frame[1] for frame in frames], linewidth=1)
    for (after, name), before in zip(SWAPS, ["intelmic", *(name for _, name in SWAPS)], strict=False):
        axes.axvline(after, color="grey", linestyle=":")
        axes.annotate(f"{before} → {name}", (after, 1), xycoords=("data", "axes fraction"), fontsize=8, va="top")
    axes.set(xlabel="picture", ylabel="ms", ylim=(0, None))
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(folder / "canny-swap.svg", metadata={"Date": None})


def show(report: dict[str, Any]) -> None:
    """The tables."""
    print(f"ms a picture, medians of {FRAMES - WARM}, load {report['load']:.1f} before")
    print(f"  {'size':>12} {'opencl':>9} {'without copies':>15} {'native':>9} {'without copies':>15}")
    for p in report["resolution"]:
        size = f"{p['width']} x {p['height']}"
        print(
            f"  {size:>12} {p['opencl']:9.1f} {p['opencl_without_copies']:15.1f} "
            f"{p['native']:9.1f} {p['native_without_copies']:15.1f}"
        )
    changed = " and ".join(str(after) for after, _ in SWAPS)
    print(f"{SHOW[0]} x {SHOW[1]}, {LAST} pictures, the device changed after {changed}; the shortest of {RUNS} runs")
    for swap in report["swap"]["swaps"]:
        print(f"  {swap['said']}")
    for phase in phases(report):
        print(f"  {phase['backend']:>10}: median {phase['median']:.1f} ms, longest {phase['longest']:.1f} ms")


def main() -> int:
    """Measure, show, save, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plot", metavar="FOLDER", type=Path, help="draw the figures there")
    parser.add_argument("--saved", action="store_true", help="draw what the last run has saved")
    options = parser.parse_args()
    one_thread = {"OMP_NUM_THREADS": "1", "POCL_MAX_PTHREAD_COUNT": "1"}
    environment = {**os.environ, **one_thread, "PYTHONPATH": str(HERE.parent)}
    if options.saved:
        report = json.loads((OUT / "canny.json").read_text())
    else:
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder)
            build(directory, environment)
            report = {"name": "canny", "load": os.getloadavg()[0]}
            report["resolution"] = resolutions(directory, environment)
            runs = [swapping(directory, environment) for _ in range(RUNS)]
            # Other work on the machine only adds to a run's time.
            report["swap"] = min(runs, key=lambda run: sum(frame[1] for frame in run["frames"]))
        save(report)
    show(report)
    if options.plot:
        plot(report, options.plot)
    return 0


if __name__ == "__main__":
    run_as_command(main)
