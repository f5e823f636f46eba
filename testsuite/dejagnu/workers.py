"""DejaGnu's processes: several runtest side by side, each in a work directory, sharing the tests as GCC's own do.

Each process goes through all .exp files and takes the tests that no other has taken (GCC_RUNTEST_PARALLELIZE_DIR,
gcc/testsuite/lib/gcc-defs.exp); GCC's contrib/dg-extract-results.py makes one libgomp.sum and libgomp.log of theirs.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dejagnu import site

BAD = ("FAIL", "XPASS", "UNRESOLVED", "ERROR")
_RESULT = re.compile(r"(PASS|FAIL|XPASS|XFAIL|UNRESOLVED|UNTESTED|UNSUPPORTED|ERROR|WARNING): (.*)")
_RUNNING = re.compile(r"Running \S+/(libgomp\.[^/]+)/\S+\.exp")


class WorkerError(Exception):
    """DejaGnu did not do its work; the text says what it said last."""


@dataclass
class Progress:
    """What the processes have said so far.  total: tests to run, 0 if unknown; taken: handed out; counts by status."""

    total: int
    report: Callable[[str], None]
    interval: float = 15.0
    taken: int = 0
    directory: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    begin: float = field(default_factory=time.monotonic)
    last: float = 0.0

    def line(self, text: str) -> None:
        """Take in a line of a process; bad results are shown at once."""
        running = _RUNNING.match(text)
        if running:
            self.directory = running[1]
        result = _RESULT.match(text)
        if result:
            self.counts[result[1]] += 1
            if result[1] in BAD:
                self.report(text.rstrip())

    def show(self, force: bool = False) -> None:
        """A line with the numbers, every `interval` seconds."""
        now = time.monotonic()
        if not force and now - self.last < self.interval:
            return
        self.last = now
        seconds = int(now - self.begin)
        numbers = ", ".join(f"{n} {status}" for status, n in sorted(self.counts.items(), key=lambda item: -item[1]))
        of = f"/{self.total}" if self.total else ""
        self.report(
            f"[{seconds // 60}:{seconds % 60:02}] test {self.taken}{of}, {self.directory}: {numbers or 'none yet'}"
        )


def command(srcdir: Path, flags: Sequence[str]) -> list[str]:
    """The runtest command; `flags` are RUNTESTFLAGS."""
    return ["runtest", "--tool", "libgomp", "--srcdir", str(srcdir), "--all", *flags]


def environment(where: site.Site, claims: Path) -> dict[str, str]:
    """The environment of runtest: ours, the device's, and where its twin processes meet."""
    result = {**os.environ, **site.environment(where)}
    for name in ("GOMPY_STATS", "GOMPY_CUDA_STATS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "RUNTESTFLAGS"):
        result.pop(name, None)
    result["DEJAGNU"] = str(site.GLOBAL)
    result["GCC_RUNTEST_PARALLELIZE_DIR"] = str(claims)
    # A test that ends by a signal leaves no core file in the work directory, wherever the machine would put one.
    return result


def run(where: site.Site, work: Path, jobs: int, flags: Sequence[str], progress: Progress) -> list[Path]:
    """Run `jobs` processes below `work` (which is emptied); their work directories.  Raises WorkerError, OSError."""
    shutil.rmtree(work, ignore_errors=True)
    claims = work / "claims"
    claims.mkdir(parents=True)
    folders = [work / f"worker{number}" for number in range(jobs)]
    processes: list[subprocess.Popen[bytes]] = []
    tails: dict[int, bytes] = {}
    said: list[str] = []
    try:
        with selectors.DefaultSelector() as waiting:
            for folder in folders:
                folder.mkdir()
                site.write(where, folder)
                process = subprocess.Popen(
                    command(where.srcdir, flags),
                    cwd=folder,
                    env=environment(where, claims),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                processes.append(process)
                assert process.stdout is not None
                waiting.register(process.stdout.fileno(), selectors.EVENT_READ)
            while waiting.get_map():
                for key, _ in waiting.select(1.0):
                    data = os.read(key.fd, 1 << 16)
                    if not data:
                        waiting.unregister(key.fd)
                        continue
                    *lines, rest = (tails.get(key.fd, b"") + data).split(b"\n")
                    tails[key.fd] = rest
                    for line in lines:
                        text = line.decode(errors="replace")
                        said = [*said[-9:], text]
                        progress.line(text)
                progress.taken = sum(1 for _ in claims.iterdir())
                progress.show()
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    progress.show(force=True)
    for folder, process in zip(folders, processes, strict=True):
        text = (folder / "libgomp.sum").read_text(errors="replace") if (folder / "libgomp.sum").exists() else ""
        if process.returncode not in (0, 1) or "=== libgomp Summary ===" not in text:
            last = next((line.strip() for line in reversed(said) if line.strip()), "nothing")
            raise WorkerError(f"runtest ended with status {process.returncode}; it said last: {last}")
    return folders


def merge(contrib: Path, folders: Sequence[Path], out: Path) -> None:
    """One libgomp.sum and libgomp.log of those of all processes, by GCC's own script.  Raises WorkerError."""
    out.mkdir(parents=True, exist_ok=True)
    for kind, options in (("sum", []), ("log", ["-L"])):
        parts = [folder / f"libgomp.{kind}" for folder in folders]
        target = out / f"libgomp.{kind}"
        if len(parts) == 1:
            shutil.copyfile(parts[0], target)
            continue
        for part in parts:
            # The script knows the spelling of DejaGnu before 1.6.3.
            data = part.read_bytes()
            if data.startswith(b"Test run by"):
                part.write_bytes(b"Test Run By" + data.removeprefix(b"Test run by"))
        with target.open("wb") as stream:
            words = [sys.executable, str(contrib / "dg-extract-results.py"), *options, *map(str, parts)]
            done = subprocess.run(words, stdout=stream, stderr=subprocess.PIPE)
        if done.returncode:
            last = (done.stderr.decode(errors="replace").strip().splitlines() or ["no reason"])[-1]
            raise WorkerError(f"{contrib}/dg-extract-results.py: {last}")
