"""The programs of the benchmarks: how each is built for a device, the environment it runs in, what it prints."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from common import GCC, GOMPCC, BenchError, checked

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BENCHES = ("mul-matr-vec", "newton-sqrt", "scalar-prod", "vector-add")
MODELS = ("openmp", "openacc", "cuda")
DEVICES = ("nvidia", "emulated", "intelmic", "host")
RUNTIMES = ("gompy", "stock")
# The oldest architecture with atomic additions of doubles; the oldest that CUDA 13 knows.
CUDA_ARCHITECTURES = ("sm_60", "sm_75")
RUN_LIMIT = 3600.0
CPU_TIME = "ISPRAS_CPU_TIME"
"""The variable with which main.c measures CPU time."""


class SkippedError(Exception):
    """A program that cannot be built or run here; the text is the reason."""


@dataclass(frozen=True)
class Sweep:
    """The points of one run: sizes in elements, teams and threads (0: the runtime chooses), simd 0 or 1."""

    sizes: tuple[int, ...]
    teams: tuple[int, ...]
    threads: tuple[int, ...]
    simd: tuple[int, ...] = (0, 1)
    repeats: int = 20
    budget: float = 0.05

    def arguments(self) -> list[str]:
        """For main.c."""
        lists = [",".join(map(str, values)) for values in (self.sizes, self.teams, self.threads, self.simd)]
        return [*lists, str(self.repeats), str(self.budget)]


@dataclass(frozen=True)
class Program:
    """One kernel in one model for one device under one runtime."""

    bench: str
    model: str
    device: str
    runtime: str = "gompy"

    def __str__(self) -> str:
        return f"{self.bench}, {self.model}, {self.device}, {self.runtime}"

    def build(self, directory: Path, environment: dict[str, str]) -> Path:
        """The executable, made in a folder.  Raises SkippedError, BenchError."""
        self._possible()
        include = f"-I{HERE}"
        native = directory / f"{self.bench}.o"
        if not native.exists():
            checked(
                [GCC, "-O2", include, "-c", str(HERE / self.bench / "native.c"), "-o", str(native)],
                directory,
                environment,
            )
        target = {"nvidia": "nvptx-none", "emulated": "nvptx-none", "intelmic": "intelmic", "host": ""}[self.device]
        executable = directory / f"{self.bench}-{self.model}-{target or 'host'}"
        if executable.exists():
            return executable
        sources = [str(HERE / "main.c"), str(native), str(HERE / f"{self.model}.c")]
        if self.model == "cuda":
            ptx = self._ptx(directory, environment)
            command = [GCC, "-O2", f'-DPTX="{ptx}"', include, *sources, "-ldl"]
        else:
            compiler, offload = (GOMPCC, target) if target else (GCC, "disable")
            kernel = str(HERE / self.bench / f"{self.model}.c")
            command = [compiler, "-O2", f"-f{self.model}", f"-foffload={offload}", include, *sources, kernel]
        checked([*command, "-lm", "-o", str(executable)], directory, environment)
        return executable

    def _possible(self) -> None:
        gpu = self.device in ("nvidia", "emulated")
        if self.model == "cuda" and not gpu:
            raise SkippedError(f"no CUDA on {self.device}")
        if self.model == "cuda" and self.runtime != "gompy":
            raise SkippedError("CUDA has no offloading runtime")
        if self.model == "cuda" and not shutil.which("nvcc"):
            raise SkippedError("nvcc is not in PATH")
        if self.runtime == "stock" and not gpu:
            raise SkippedError(f"the stock runtime has no plugin for {self.device}")
        if self.model != "cuda" and gpu:
            accel = _output([GCC, "-print-prog-name=accel/nvptx-none/mkoffload"])
            if not Path(accel).is_absolute():
                raise SkippedError("gcc-12-offload-nvptx is not installed")

    def _ptx(self, directory: Path, environment: dict[str, str]) -> Path:
        ptx = directory / f"{self.bench}.ptx"
        source = str(HERE / self.bench / "cuda.cu")
        for architecture in CUDA_ARCHITECTURES:
            command = ["nvcc", "-ptx", "-O3", f"-arch={architecture}", f"-I{HERE}", source, "-o", str(ptx)]
            try:
                checked(command, directory, environment)
                break
            except BenchError:
                if architecture == CUDA_ARCHITECTURES[-1]:
                    raise
        return ptx

    def environment(self) -> dict[str, str]:
        """What the program runs in.  The device is never chosen by the runtime, a region never runs elsewhere."""
        result = {name: value for name, value in os.environ.items() if name not in ("GOMP_DEBUG", CPU_TIME)} | {
            "LC_ALL": "C"
        }
        if self.device == "host":
            return result | {"OMP_TARGET_OFFLOAD": "disabled", "ACC_DEVICE_TYPE": "host"}
        result["OMP_TARGET_OFFLOAD"] = "mandatory"
        if self.device in ("nvidia", "emulated"):
            result["GOMPY_CUDA"] = "real" if self.device == "nvidia" else "emulated"
        if self.device == "emulated" and (self.model == "cuda" or self.runtime == "stock"):
            folder = checked([str(Path(GOMPCC).parent / "gompy"), "config", "--cuda-libdir"], ROOT, result).strip()
            result["LD_LIBRARY_PATH"] = f"{folder}:{result.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        if self.runtime == "stock":
            # Before libgompy in the search order: the same program and image, driven by GCC's runtime and plugin.
            result["LD_PRELOAD"] = _output([GCC, "-print-file-name=libgomp.so.1"])
        return result

    def run(self, executable: Path, sweep: Sweep, cpu_time: bool = False) -> dict[str, Any]:
        """Run a sweep; who ran, the device's name, the points.  `cpu_time`: that of the process, not the clock's.

        Raises BenchError if the program fails (wrong results included) or ran elsewhere, SkippedError if the device's
        driver is too old for nvcc's PTX.
        """
        command = [str(executable), *sweep.arguments()]
        try:
            done = subprocess.run(
                command,
                env=self.environment() | ({CPU_TIME: "1"} if cpu_time else {}),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=RUN_LIMIT,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BenchError(f"{self}: {error}") from None
        if done.returncode:
            if self.model == "cuda" and "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" in done.stderr:
                raise SkippedError("the driver is older than nvcc: it refuses its PTX")
            raise BenchError(f"{self}: exit status {done.returncode}\n{done.stderr.rstrip()}")
        head, *rest = [json.loads(line) for line in done.stdout.splitlines()]
        if bool(head["on_host"]) != (self.device == "host"):
            raise BenchError(f"{self}: regions ran {'on the host' if head['on_host'] else 'on a device'}")
        return {
            **asdict(self),
            "device_name": head["device"],
            "points": [line for line in rest if "region" in line],
            "sizes": [line for line in rest if "to_device" in line],
        }


def _output(command: Sequence[str]) -> str:
    """A command's standard output, empty if it can't be run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def nvidia_gpu() -> dict[str, str]:
    """Name, driver and memory of the machine's first GPU by nvidia-smi; empty without one."""
    query = ["name", "driver_version", "memory.total"]
    answer = _output(["nvidia-smi", f"--query-gpu={','.join(query)}", "--format=csv,noheader", "--id=0"])
    values = [value.strip() for value in answer.split(",")]
    return dict(zip(query, values, strict=True)) if len(values) == len(query) else {}
