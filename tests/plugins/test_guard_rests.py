"""GOMPY_CHECK on the emulated MIC, without time for what costs much (gompy_check_less): freed blocks stay open."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN
from test_intelmic_guards import built
from test_intelmic_guards import run as run_case

BIN = Path(sys.executable).parent
if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

CASES = """#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PAGE 4096
static char *
filled (size_t size)
{
  char *block = omp_target_alloc (size, 0);
#pragma omp target is_device_ptr(block)
  for (size_t i = 0; i < size; i++)
    block[i] = 1;
  return block;
}
static void
touch (char *block, long at)
{
#pragma omp target is_device_ptr(block)
  block[at]++;
}
int main (int argc, char **argv)
{
  const char *what = argv[1];
  int n = atoi (argv[2]), sum = 0;
  char *heap = calloc (16, PAGE), *other = calloc (16, PAGE), *block, *next, *many[300];
  void (*less) (int, int);
#pragma omp target map(tofrom: sum)
  sum++;
  less = (void (*) (int, int)) dlsym (dlopen (argv[3], RTLD_NOW | RTLD_NOLOAD), "gompy_check_less");
  less (0, 1);
#define IS(name) else if (strcmp (what, name) == 0)
  if (0);
  IS ("in it") {
    block = filled (800);
    omp_target_free (block, 0);
    touch (block, 0);
  }
  IS ("after it") {
    block = filled (n);
    omp_target_free (block, 0);
    less (0, 0);
    touch (block, n - 1);
  }
  IS ("used after it") {
    block = filled (n);
    less (0, 0);
    touch (block, 0);
    omp_target_free (block, 0);
    touch (block, 0);
  }
  IS ("many") {
    for (int i = 0; i < 300; i++)
      many[i] = filled (800);
    for (int i = 0; i < 300; i++)
      omp_target_free (many[(i * 7) % 300], 0);
    less (0, 0);
    touch (many[n], 0);
  }
  IS ("again") {
    block = filled (n);
    omp_target_free (block, 0);
    next = filled (n);
    printf ("%d", block == next);
    omp_target_free (next, 0);
    less (0, 0);
    next = filled (n);
    printf ("%d\\n", block == next);
  }
  IS ("shorter") {
    block = filled (3 * PAGE);
    omp_target_free (block, 0);
    next = filled (PAGE);
    printf ("%d\\n", block == next);
    fflush (stdout);
    touch (next, n);
    omp_target_free (next, 0);
    block = filled (3 * PAGE);
    touch (block, n + PAGE);
  }
  IS ("between") {
#pragma omp target map(tofrom: heap[0:5 * PAGE])
    for (int i = 0; i < 5 * PAGE; i++)
      heap[i]++;
#pragma omp target map(tofrom: heap[0:PAGE], other[0:PAGE])
    { heap[n] = 1; other[PAGE - 1] = 1; }
    printf ("%d\\n", other[PAGE - 1]);
#pragma omp target map(tofrom: heap[0:5 * PAGE])
    for (int i = 0; i < 5 * PAGE; i++)
      heap[i]++;
    printf ("%d\\n", heap[5 * PAGE - 1]);
  }
  IS ("unset") {
    block = filled (PAGE);
    omp_target_free (block, 0);
    less (0, 0);
    block = omp_target_alloc (PAGE, 0);
#pragma omp target is_device_ptr(block) map(from: sum)
    sum = block[n];
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("rests"), CASES)


def run(program: Path, what: str, n: int, **env: str) -> subprocess.CompletedProcess[str]:
    """A case, checked."""
    return run_case(program, what, str(n), PLUGIN, **env)


def fault(done: subprocess.CompletedProcess[str]) -> str:
    """What is said of the address that the program has ended by."""
    found = re.search(r"signal 11 \(Segmentation fault\): address 0x[0-9a-f]+ is (.*)\n", done.stderr)
    assert done.returncode == 1 and found, done.stdout + done.stderr
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", found[1])


def test_a_freed_block_is_open_meanwhile(program: Path) -> None:
    done = run(program, "in it", 0)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("size", [800, 3 << 20])
@pytest.mark.parametrize("what", ["after it", "used after it"])
def test_it_is_closed_as_there_is_time_again(program: Path, what: str, size: int) -> None:
    at = size - 1 if what == "after it" else 0
    assert fault(run(program, what, size)) == f"{at} bytes into a freed block of {size} bytes"


@pytest.mark.parametrize("n", [0, 7, 150, 299])
def test_more_of_them_than_stay_open_are_closed_too(program: Path, n: int) -> None:
    """The first two are those of which nothing is known any more, in either case."""
    told = "memory of the device that is not in use" if n < 8 else "0 bytes into a freed block of 800 bytes"
    assert fault(run(program, "many", n)) == told


@pytest.mark.parametrize("size", [1, 800, 40000, 1 << 20, 5 << 20])
def test_a_freed_block_is_given_out_again_at_once_meanwhile_alone(program: Path, size: int) -> None:
    done = run(program, "again", size)
    assert (done.returncode, done.stdout, done.stderr) == (0, "10\n", "")


def test_what_is_given_out_again_ends_where_it_ends(program: Path) -> None:
    done = run(program, "shorter", 4095)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    for n, past in ((4096, 0), (3 * 4096 - 1, 2 * 4096 - 1)):
        done = run(program, "shorter", n)
        assert done.stdout == "1\n"
        assert fault(done) == f"{past} bytes past the end of a block of 4096 bytes"


def test_so_do_mapped_objects_that_are_where_another_was(program: Path) -> None:
    done = run(program, "between", 4095)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n2\n", "")
    assert "0 bytes past the end of the 4096 bytes that are mapped" in fault(run(program, "between", 4096))


def test_what_nothing_has_written_is_told_again_after_it(program: Path) -> None:
    done = run(program, "unset", 0)
    assert done.returncode == 0
    assert "is read, which nothing has written there" in done.stderr


def test_little_memory_is_all_to_be_had(program: Path) -> None:
    """Blocks that are open stand in nobody's way."""
    done = run(program, "again", 20 << 20, OFFLOAD_EMUL_MEM="64M")
    assert (done.returncode, done.stderr) == (0, "")
