"""``make check-faults``: every call to the system that gompy makes fails once, in ten programs on both devices.

Each run ends right (the right output, on the device or on the host), or with lines of libgomp's on stderr and status 1.
Nothing is left: no process, no file.  inject.c says which calls are reached.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = 10
LONGEST = 30  # seconds; a run takes a tenth of one
CALLS = (
    *(
        "malloc",
        "calloc",
        "realloc",
        "mmap64",
        "mprotect",
        "memfd_create",
        "open64",
        "read",
        "write",
        "pread64",
        "pwrite64",
    ),
    *("pipe2", "ftruncate64", "posix_spawn", "posix_spawnp", "pthread_create", "execve", "dlopen"),
)
BEGINNINGS = ("libgomp: ", "libgompy: ", "libcuda (gompy): ", "offload_target_main: error: ")
DEVICES = {
    "intelmic": ("-foffload=x86_64-intelmicemul-linux-gnu", ("host", "device")),
    "nvptx": ("-foffload=nvptx-none", ("host",)),
}


@dataclass(frozen=True)
class Fault:
    """One run: which call of which process of a program fails."""

    device: str
    program: int
    where: str
    call: str
    number: int

    def __str__(self) -> str:
        return f"{self.device} program {self.program}: {self.call} number {self.number} in the {self.where}"


@dataclass
class Workplace:
    """Where programs are, and what they print."""

    folder: Path
    compiler: str
    expected: dict[tuple[str, int], str] = field(default_factory=dict)
    runs: int = 0  # with a fault that was reached

    def program(self, device: str, number: int) -> Path:
        """A compiled program."""
        return self.folder / f"{device}{number}"

    def environment(self, run: Path) -> dict[str, str]:
        """The environment of a run whose files are in a folder of its own."""
        clean = {
            k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP", "OFFLOAD_", "ACC_", "FAULT_"))
        }
        return clean | {
            "GOMPY_CUDA": "emulated",
            "GOMPY_CUDA_MEMORY": "256M",
            "OFFLOAD_EMUL_MEM": "1G",
            "XDG_CACHE_HOME": str(run / "cache"),
            "TMPDIR": str(run),
            "OMP_NUM_THREADS": "2",
            "LC_ALL": "C",
        }

    def prepare(self, chosen: Sequence[tuple[str, int]]) -> None:
        """Compile, and run each once: afterwards the cache of compiled PTX has what they need."""
        library = self.folder / "inject.so"
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-w", HERE / "inject.c", "-o", library], check=True)
        for device, number in chosen:
            program = self.program(device, number)
            model = "-fopenacc" if number == 9 else "-fopenmp"
            words = [
                self.compiler,
                "-O1",
                model,
                DEVICES[device][0],
                f"-DPROGRAM={number}",
                HERE / "programs.c",
                "-o",
                program,
            ]
            subprocess.run(words, check=True, env=self.environment(self.folder))
            done = subprocess.run(
                [program],
                env=self.environment(self.folder),
                capture_output=True,
                text=True,
                timeout=LONGEST,
                check=True,
            )
            self.expected[device, number] = done.stdout


def left_processes(mark: str) -> list[int]:
    """Processes that have the run's folder in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def judge(place: Workplace, fault: Fault, done: subprocess.CompletedProcess[str]) -> str:
    """What is wrong with how a run ended, "" if nothing is."""
    expected = place.expected[fault.device, fault.program]
    if done.returncode == 0:
        return "" if done.stdout == expected else f"wrong output {done.stdout!r}"
    if done.returncode != 1:
        return f"status {done.returncode}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if not lines or not any(line.startswith(BEGINNINGS) for line in lines):
        return "no message"
    if len(lines) > 4:
        return "too many lines"
    if any(word in done.stderr for word in ("(null)", "Traceback", "Success")):
        return "a message without a reason"
    # A GPU has no stderr: libgomp there writes its last words to standard output (libgomp/config/nvptx/error.c).
    printed = re.sub(r"\n?libgomp: .*\n", "", done.stdout) if fault.device == "nvptx" else done.stdout
    return "" if expected.startswith(printed) else f"wrong output {done.stdout!r}"


def inject(place: Workplace, fault: Fault) -> tuple[bool, str]:
    """Run with a fault.  Returns whether the call was reached, and what went wrong."""
    run = Path(tempfile.mkdtemp(prefix="run-", dir=place.folder))
    mark = run / "mark"
    env = place.environment(run) | {
        "LD_PRELOAD": "../inject.so",  # the loader splits it at blanks, which the place may have
        "FAULT_CALL": f"{fault.call}:{fault.number}",
        "FAULT_WHERE": fault.where,
        "FAULT_MARK": str(mark),
    }
    known = {path.name for path in (place.folder / "cache").rglob("*")}
    if fault.device == "nvptx":
        shutil.copytree(place.folder / "cache", run / "cache")
    try:
        done = subprocess.run(
            [place.program(fault.device, fault.program)],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
            cwd=run,
        )
        wrong = judge(place, fault, done)
        said = done.stderr
    except subprocess.TimeoutExpired as error:
        wrong, said = "it hangs", str(error.stderr)
    end = time.monotonic() + 3
    while (left := left_processes(str(mark))) and time.monotonic() < end:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, 9)
    if left:
        wrong = wrong or "a process is left"
    hit = mark.exists()
    files = [path.name for path in run.iterdir() if path.name not in ("mark", "cache")]
    # new results of the compiler of PTX are no leavings, its temporary files are
    files += [path.name for path in (run / "cache").rglob(".*") if path.name not in known]
    if files:
        wrong = wrong or f"files are left: {' '.join(files)}"
    shutil.rmtree(run)
    return hit, f"{fault}: {wrong}\n{said}" if wrong else ""


def faults_of(place: Workplace, device: str, program: int, where: str, call: str, numbers: Sequence[int]) -> list[str]:
    """All faults of one call of a program, up to the first number that is not reached, or these numbers only."""
    wrong = []
    counted: Iterator[int] | Sequence[int] = numbers or iter(range(1, 100000))
    for number in counted:
        hit, text = inject(place, Fault(device, program, where, call, number))
        if text:
            print(f"FAIL: {text}", flush=True)
            wrong.append(text)
        if not hit:
            break
        place.runs += 1
    return wrong


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=[*DEVICES], action="append")
    parser.add_argument("--program", type=int, choices=range(PROGRAMS), action="append")
    parser.add_argument("--call", choices=CALLS, action="append")
    parser.add_argument("--number", type=int, action="append", default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--compiler", default=str(ROOT / ".venv" / "bin" / "gompcc"))
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gompy-faults-"))
    try:
        place = Workplace(folder, options.compiler)
        chosen = [(d, p) for d in options.device or DEVICES for p in options.program or range(PROGRAMS)]
        place.prepare(chosen)
        work = [(d, p, where, c) for c in options.call or CALLS for d, p in chosen for where in DEVICES[d][1]]
        with ThreadPoolExecutor(options.jobs) as pool:
            wrong = [t for found in pool.map(lambda w: faults_of(place, *w, options.number), work) for t in found]
        print(f"{place.runs} faults, {len(wrong)} ended wrong")
    finally:
        shutil.rmtree(folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
