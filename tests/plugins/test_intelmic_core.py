"""The core that a device's process leaves where cores are wanted, as gdb reads it."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, needs, paths

PATTERN = Path("/proc/sys/kernel/core_pattern")

WILD = """\
#include <stdlib.h>
#include <string.h>
int table[1000], calls;
#pragma omp declare target (calls)
int main (int count, char **words)
{
  struct { int *p; } s = { malloc (4) };
  int k = 42, by = count > 1 ? words[1][0] : 0;
#pragma omp target map(to: s) map(tofrom: table)
  {
    int *q = s.p;
    calls = 7;
    table[3] = k;
    if (by == 'a')
      abort ();
    *q = k / by;
  }
  return 0;
}
"""


def plain_cores() -> bool:
    """Whether the kernel writes cores into the current folder."""
    try:
        name = PATTERN.read_text().strip()
    except OSError:
        return False
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return name[:1] not in "|/" and bool(name) and (hard == resource.RLIM_INFINITY or hard > 1 << 28)


pytestmark = [has_all, pytest.mark.skipif(not plain_cores(), reason="the kernel writes no cores into the folder")]


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    """A program whose region fails by what its first argument says."""
    made = Tools(bin_folder, tmp_path)
    made.write("wild.c", WILD)
    made.ok("gompcc", "-g", "-fopenmp", "wild.c", "-o", "wild")
    return made


def cored(tools: Tools, *words: str, limit: str = "unlimited") -> tuple[subprocess.CompletedProcess[str], list[Path]]:
    """Run the program with that limit; the cores that are there then."""
    done = tools.run("bash", "-c", f'ulimit -c {limit}; exec ./wild "$@"', "bash", *words)
    images = sorted(tools.work.glob("core.*.image*.so"))
    return done, [*(path for path in sorted(tools.work.glob("core*")) if path not in images), *images]


@pytest.mark.slow(sample=1)
@needs("gdb")
@pytest.mark.parametrize(
    ("word", "signal", "line"),
    [("b", "SIGSEGV, Segmentation fault", 16), ("", "SIGFPE, Arithmetic exception", 16), ("a", "SIGABRT, Aborted", 15)],
)
def test_gdb_opens_it_with_symbols(tools: Tools, word: str, signal: str, line: int) -> None:
    """The region's line and variables, the image's, and mapped data."""
    done, (core, image) = cored(tools, *([word] if word else []))
    assert done.returncode == 1 and f"(wild.c:{line})" in done.stderr
    commands = (
        "up-silently 0",
        "backtrace",
        "frame function main._omp_fn.0",
        "print table[3]",
        "print calls",
        "print k",
    )
    words = [word for command in commands for word in ("-ex", command)]
    program = os.path.join(paths.LIBDIR, "offload_target_main")
    env = {**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}
    command = [shutil.which("gdb") or "gdb", "-q", "-nx", "-batch", *words, program, str(core)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, env=env).stdout
    assert f"Program terminated with signal {signal}." in shown, shown
    assert f"wild.c:{line}\n" in shown and "main._omp_fn.0" in shown
    assert shown.endswith("$1 = 42\n$2 = 7\n$3 = 42\n"), shown
    assert image.stat().st_size > 1000


def test_the_message_is_the_same(tools: Tools) -> None:
    """As without a core."""
    with_core, found = cored(tools)
    assert len(found) == 2
    for path in found:
        path.unlink()
    without, none = cored(tools, limit="0")
    assert none == []
    assert with_core.stderr == without.stderr and "division by zero" in without.stderr
