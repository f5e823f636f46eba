"""``gompy run --show-maps``: the words for each outcome.  docs/diagnosis.md shows OpenMP's, and a test compares it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all

pytestmark = has_all

OPENACC = r"""#include <openacc.h>
#include <stdlib.h>
struct pair { int first; double second; };
int main (int argc, char **argv)
{
  struct pair p = { 1, 2 };
  int grid[2][3] = { { 0 } };
  int *part = malloc (40 * sizeof *part);
#pragma acc data copy (grid) create (part[8:16])
  {
#pragma acc parallel present (grid) copyin (p)
    grid[1][1] = p.first;
#pragma acc update self (grid)
  }
  acc_copyin (part, 160);
  if (argc > 1)
    abort ();
  acc_delete (part, 160);
  return 3;
}
"""
LINES = """\
queue.c:9 map(alloc: part[8:16]) host # -> device #, new, count 1
queue.c:9 map(tofrom: grid) host # -> device #, new, count 1, 24 bytes to
queue.c:11 map(to: p) host # -> device #, new, count 1, 16 bytes to
queue.c:11 map(present: grid) host # -> device #, present, count 2
queue.c:11 region main._omp_fn.0 on device 0
queue.c:11 map(to: p) host # <- device #, removed
queue.c:11 map(present: grid) host # <- device #, kept, count 1
queue.c:13 update from(grid) host # <- device #, updated, count 1, 24 bytes from
queue.c:13 map(alloc: part[8:16]) host # <- device #, removed
queue.c:13 map(tofrom: grid) host # <- device #, removed, 24 bytes from
queue.c:15 map(to: part[0:40]) host # -> device #, new, count 1, 160 bytes to
queue.c:18 map(release: part[0:40]) host # <- device #, removed
"""


@pytest.fixture(scope="module")
def built(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    tools = Tools(bin_folder, tmp_path_factory.mktemp("maps"))
    tools.env |= {"LC_ALL": "C"}
    tools.write("queue.c", OPENACC)
    tools.ok("gompcc", "-g", "-fopenacc", "queue.c", "-o", "queue")
    tools.ok("gompcc", "-fopenacc", "queue.c", "-o", "plain")
    return tools


def shown(tools: Tools, *words: str) -> tuple[int, list[str]]:
    done = tools.run("gompy", "run", "--show-maps", *words)
    return done.returncode, re.sub(r"0x[0-9a-f]+", "#", done.stderr).splitlines()


def test_openacc(built: Tools) -> None:
    """The exit status is the program's."""
    status, lines = shown(built, "./queue")
    assert (status, lines) == (3, LINES.splitlines())


def test_what_came_before_a_fault(built: Tools) -> None:
    status, lines = shown(built, "./queue", "abort")
    assert status == 134
    assert lines[:5] == LINES.splitlines()[:5]


def test_without_debug_information(built: Tools) -> None:
    """Sizes instead of names, no places."""
    status, lines = shown(built, "./plain")
    assert (status, lines[0]) == (3, "map(alloc: 64 bytes) host # -> device #, new, count 1")


def test_a_program_without_a_device(built: Tools) -> None:
    built.write("none.c", "int main (void)\n{\n#pragma omp target if (0)\n;\nreturn 0; }")
    built.ok("gompcc", "-g", "-fopenmp", "none.c", "-o", "none")
    reason = "the host was asked for (if clause, or number of the initial device)"
    assert shown(built, "./none") == (0, [f"none.c:3 region main._omp_fn.0 on the host: {reason}"])


WAITS = """
#include <stdio.h>
#include <stdlib.h>
double *field;
int main (void)
{
  field = malloc (80);
#pragma omp target enter data map(alloc: field[0:10])
  getchar ();
#pragma omp target exit data map(delete: field[0:10])
#pragma omp target
  ;
  return 0;
}
"""


def test_a_directive_is_told_while_the_program_runs(built: Tools) -> None:
    """Also by the name of a global pointer, whose value is read in the program."""
    built.write("waits.c", WAITS)
    built.ok("gompcc", "-g", "-fopenmp", "waits.c", "-o", "waits")
    command = ["gompy", "run", "--show-maps", "./waits"]
    with subprocess.Popen(
        command, cwd=built.work, env=built.env, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None and child.stderr is not None
        line = child.stderr.readline()  # the program waits for us
        child.stdin.write("\n")
        child.stdin.close()
        rest = child.stderr.read()
    assert line.startswith("waits.c:8 map(alloc: field[0:10]) host 0x") and line.endswith("new, count 1\n")
    assert rest.startswith("waits.c:10 map(delete: field[0:10])") and child.returncode == 0


@pytest.mark.parametrize("option", ["--check", "--under=gdb"])
def test_what_it_does_not_go_with(built: Tools, option: str) -> None:
    status, lines = shown(built, option, "./queue")
    assert (status, lines[-1]) == (2, "gompy run: error: --show-maps goes with neither --check nor --under")
