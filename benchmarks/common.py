"""What all benchmarks share: the compilers, running a command, writing what was measured."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ispras.plots import NoPlotsError

HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
BIN = Path(sys.executable).parent
GOMPCC = str(BIN / "gompcc")
GCC = os.environ.get("GOMPY_CC", "gcc")
CLANG = os.environ.get("GOMPY_CLANG", "clang-16")
LIMIT_S = 300
"""Of a command."""
THREADS = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
"""Of OpenMP programs that kernels on the emulated GPU are compared with."""


class BenchError(Exception):
    """A command failed; the text names it and what it said."""


def run_as_command(main: Callable[[], int], takes: str | None = None) -> NoReturn:
    """End the process with what ``main`` returns: with one line and 1 if something stops it, 130 if an interrupt.

    ``takes``: what its arguments are, for ``--help``; empty: it has none.  None: it looks at them itself.
    """
    if takes is not None:
        _look_at(sys.argv[1:], takes)
    try:
        sys.exit(main())
    except (BenchError, NoPlotsError, OSError) as error:
        print(f"{Path(sys.argv[0]).name}: error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _look_at(words: list[str], takes: str) -> None:
    """Answer --help; end with 2 where there are arguments and none is taken."""
    name = Path(sys.argv[0]).name
    if {"-h", "--help"} & set(words):
        about = sys.modules["__main__"].__doc__ or ""
        print(f"usage: {name} {takes}".rstrip() + f"\n\n{about.strip()}")
        sys.exit(0)
    if words and not takes:
        print(f"{name}: error: it takes no arguments", file=sys.stderr)
        sys.exit(2)


def checked(command: Sequence[str], directory: Path, environment: dict[str, str]) -> str:
    """Run a command; its standard output.  Raises BenchError."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{shlex.join(command)}: {error}") from None
    if done.returncode:
        raise BenchError(f"{shlex.join(command)}: exit status {done.returncode}\n{done.stderr}".rstrip())
    return done.stdout


def timed(command: Sequence[str], directory: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Run a command; its seconds by the clock and of the processor, with what it has waited for.  Raises BenchError.

    It is waited for in the kernel: subprocess looks once in a millisecond, then two, for one that has a time limit.
    And it is started without what subprocess does in the child before, 0.2 ms.
    """
    with tempfile.TemporaryFile("w+") as said, contextlib.chdir(directory):
        ends = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
        ends += [(os.POSIX_SPAWN_DUP2, said.fileno(), n) for n in (1, 2)]
        begin = time.perf_counter()
        try:
            child = os.posix_spawnp(
                command[0], command, environment, file_actions=ends, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
            )
        except OSError as error:
            raise BenchError(f"{shlex.join(command)}: {error}") from None
        watched = os.pidfd_open(child)
        ended = select.poll()
        ended.register(watched, select.POLLIN)
        in_time = ended.poll(1000 * LIMIT_S)
        seconds = time.perf_counter() - begin
        if not in_time:
            os.kill(child, signal.SIGKILL)
        os.close(watched)
        _, status, used = os.wait4(child, 0)
        if not in_time:
            raise BenchError(f"{shlex.join(command)}: not over after {LIMIT_S} seconds")
        said.seek(0)
        if code := os.waitstatus_to_exitcode(status):
            raise BenchError(f"{shlex.join(command)}: exit status {code}\n{said.read()}".rstrip())
    return seconds, used.ru_utime + used.ru_stime


def with_before(words: list[str]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The rows of the report that ``--before FILE`` names, and the words behind it.  Raises BenchError."""
    if words[:1] != ["--before"]:
        return {}, words
    if len(words) < 2:
        raise BenchError("--before: which file?")
    try:
        return dict(json.loads(Path(words[1]).read_text())["rows"]), words[2:]
    except (ValueError, KeyError, TypeError):
        raise BenchError(f"{words[1]}: it is no report of this benchmark") from None


def llvm_environment(environment: dict[str, str]) -> dict[str, str]:
    """An environment in which clang's libomptarget finds its plugins: not each distribution has them where ld.so looks.

    Raises BenchError if there is no clang.
    """
    named = Path(checked([CLANG, "-print-file-name=libomptarget.so"], HERE, environment).strip())
    resources = Path(checked([CLANG, "-print-resource-dir"], HERE, environment).strip())  # LIB/clang/VERSION
    folder = named.parent if named.is_absolute() else resources.parent.parent
    if not (folder / "libomptarget.so").exists():
        return environment
    paths = [str(folder.resolve()), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
    return {**environment, "LD_LIBRARY_PATH": ":".join(paths)}


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def show_head(report: dict[str, Any], figures: str, skipped: dict[str, str]) -> None:
    """What stands above a table: the report's title, what its figures are, the load, why something is not there.

    ``figures``: "" if the title says so; ``skipped``: by a member of the report, the reason or "", what that is.
    """
    print(f"\n{report['title']}" + (f" ({figures})" if figures else ""))
    print(f"  load average before and after: {report['load'][0]:.1f}, {report['load'][1]:.1f}")
    for member, what in skipped.items():
        if report[member]:
            print(f"  {what} skipped: {report[member]}")


def save(report: dict[str, Any]) -> None:
    """Write a report to benchmarks/out/NAME.json."""
    OUT.mkdir(exist_ok=True)
    report |= {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "machine": platform.machine(), "cores": os.cpu_count()}
    (OUT / f"{report['name']}.json").write_text(json.dumps(report, indent=1) + "\n")
