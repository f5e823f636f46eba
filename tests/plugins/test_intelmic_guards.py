"""GOMPY_CHECK on the emulated MIC: accesses beyond blocks and mapped objects, to freed blocks, and of unset memory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN

BIN = Path(sys.executable).parent
if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

CASES = """#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int table[10];
struct pair { short n; char text[13]; double *values; };
int main (int argc, char **argv)
{
  const char *what = argv[1];
  int n = atoi (argv[2]), sum = 0, *heap = calloc (1000, sizeof (int));
  char stack[13] = "";
  double *block;
  struct pair p = { 3, "", calloc (10, sizeof (double)) };
#define IS(name) else if (strcmp (what, name) == 0)
  if (0);
  IS ("heap") {
#pragma omp target map(tofrom: heap[0:100])
    heap[n] = 7;
    printf ("%d\\n", heap[n]);
  }
  IS ("middle") {
#pragma omp target map(tofrom: stack, heap[0:100], table)
    { stack[12] = 1; table[9] = 1; heap[n] = 7; }
    printf ("%d\\n", heap[n] + stack[12] + table[9]);
  }
  IS ("chars") {
#pragma omp target map(tofrom: stack)
    stack[n] = 1;
    printf ("%d\\n", stack[12]);
  }
  IS ("global") {
#pragma omp target map(tofrom: table)
    table[n] = 1;
    printf ("%d\\n", table[9]);
  }
  IS ("attached") {
#pragma omp target map(tofrom: p.n) map(to: p.values) map(tofrom: p.values[0:10])
    { p.values[n] = 5; p.n++; }
    printf ("%d %g\\n", p.n, p.values[9]);
  }
  IS ("alloc") {
    block = omp_target_alloc (800, 0);
#pragma omp target is_device_ptr(block) map(from: sum)
    { block[n] = 3; sum = block[n]; }
    omp_target_free (block, 0);
    printf ("%d\\n", sum);
  }
  IS ("freed") {
    block = omp_target_alloc (800, 0);
    omp_target_free (block, 0);
#pragma omp target is_device_ptr(block)
    block[n] = 3;
  }
  IS ("many freed") {
    /* of pages that have been open; more of them than changes can wait for a region */
    char *many[1000];
    for (int i = 0; i < 1000; i++)
      {
        many[i] = omp_target_alloc (800, 0);
        if (i % 100 == 99)
#pragma omp target firstprivate(many, i)
          for (int k = i - 99; k <= i; k++)
            many[k][0] = 1;
      }
    for (int i = 0; i < 1000; i++)
      omp_target_free (many[i], 0);
    block = (double *) many[n];
#pragma omp target is_device_ptr(block)
    block[10] = 3;
  }
  IS ("unset") {
#pragma omp target map(alloc: heap[0:10]) map(from: sum)
    sum = heap[0];
    printf ("%x\\n", sum);
  }
  IS ("wild") {
    block = omp_target_alloc (800, 0);
#pragma omp target is_device_ptr(block)
    block[1 << 24] = 3;
  }
  IS ("often") {
    for (int i = 0; i < n; i++)
      {
        char *one = omp_target_alloc (i * 37 % 5000, 0);
        if (i % 3 == 0)
          omp_target_free (one, 0);
#pragma omp target map(to: stack[0:i % 13]) map(tofrom: sum)
        sum++;
      }
    printf ("%d\\n", sum);
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("guards"), CASES)


def built(folder: Path, cases: str) -> Path:
    """All cases in one program."""
    (folder / "cases.c").write_text(cases)
    made = folder / "cases"
    subprocess.run([BIN / "gompcc", "-fopenmp", "-g", "-O1", "-w", "-o", made, "cases.c"], check=True, cwd=folder)
    return made


def run(program: Path, *words: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A case, checked unless told otherwise."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_", "GOMPY_"))}
    clean["GOMPY_CHECK"] = "1"
    return subprocess.run([program, *words], capture_output=True, text=True, env=clean | env, timeout=60, check=False)


def fault(done: subprocess.CompletedProcess[str]) -> str:
    """What is said of the address; the program must have ended because of it, in a region with a line."""
    assert done.returncode == 1, done.stdout + done.stderr
    found = re.fullmatch(
        r"\nlibgomp: device 0 \(intelmic\): region main\._omp_fn\.\d+ \(cases\.c:\d+\): "
        r"signal 11 \(Segmentation fault\): address 0x[0-9a-f]+ is (.*)\n",
        done.stderr,
    )
    assert found, done.stderr
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", found[1])


@pytest.mark.parametrize(
    ("words", "stdout"),
    [
        (("heap", "99"), "7\n"),
        (("middle", "99"), "9\n"),
        (("chars", "12"), "1\n"),
        (("global", "9"), "1\n"),
        (("attached", "9"), "4 5\n"),
        (("alloc", "99"), "3\n"),
        (("often", "1000"), "1000\n"),
    ],
)
def test_what_is_right_runs(program: Path, words: tuple[str, str], stdout: str) -> None:
    """The last element of everything may be used, with and without the check."""
    for check in ("1", "0", ""):
        done = run(program, *words, GOMPY_CHECK=check)
        assert (done.returncode, done.stdout, done.stderr) == (0, stdout, "")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("heap", "100"), "0 bytes past the end of the 400 bytes that are mapped from the host's ADDRESS (its heap)"),
        (("heap", "200"), "400 bytes past the end of the 400 bytes that are mapped from the host's ADDRESS (its heap)"),
        (("middle", "100"), "0 bytes past the end of the 400 bytes that are mapped from the host's ADDRESS (its heap)"),
        (("chars", "13"), "0 bytes past the end of the 13 bytes that are mapped from the host's ADDRESS (its stack)"),
        (
            ("global", "10"),
            "0 bytes past the end of the 40 bytes that are mapped from the host's ADDRESS (its variable table)",
        ),
        (("attached", "10"), "0 bytes past the end of the 80 bytes that are mapped from the host's ADDRESS (its heap)"),
        (("alloc", "100"), "0 bytes past the end of a block of 800 bytes"),
        (("freed", "10"), "80 bytes into a freed block of 800 bytes"),
        (("many freed", "999"), "80 bytes into a freed block of 800 bytes"),
        (("many freed", "800"), "80 bytes into a freed block of 800 bytes"),
        (("wild", "0"), "memory of the device that is not in use"),
    ],
)
def test_what_is_wrong_is_found(program: Path, words: tuple[str, str], text: str) -> None:
    """One element too far, a freed block, a wild pointer: the message has the distance and whose memory it is."""
    assert fault(run(program, *words)) == text


def test_without_the_check_they_go_unnoticed(program: Path) -> None:
    """So it is the check that finds them."""
    for words in (("heap", "100"), ("alloc", "100"), ("freed", "10")):
        assert run(program, *words, GOMPY_CHECK="0").returncode == 0


def test_unset_memory_is_no_zero(program: Path) -> None:
    """What a region reads without having been given it can be told."""
    assert run(program, "unset", "0").stdout == "cbcbcbcb\n"


READS = """#include <stdlib.h>
int main (void)
{
  int *a = malloc (64), sum = 0;
  #pragma omp target map(alloc: a[0:16]) map(tofrom: sum)
  sum += a[3];
  a[0] = 1;
  #pragma omp target enter data map(to: a[0:16])
  a[0] = 2;
  #pragma omp target map(to: a[0:16]) map(tofrom: sum)
  sum += a[0];
  #pragma omp target exit data map(delete: a[0:16])
}
"""


def test_doubtful_reads_are_told_at_once(tmp_path: Path) -> None:
    """The plugin's lines come when the region has ended; the report of `gompy run` follows at the program's end."""
    (tmp_path / "reads.c").write_text(READS)
    subprocess.run([BIN / "gompcc", "-fopenmp", "-g", "reads.c", "-o", "reads"], check=True, cwd=tmp_path)
    done = run(BIN / "gompy", "run", "--check", tmp_path / "reads")
    lines = [re.sub(r"0x[0-9a-f]+", "ADDRESS", line) for line in done.stderr.splitlines() if line[:8] == "libgomp:"]
    assert lines == [
        "libgomp: device 0 (intelmic): region main._omp_fn.0 (reads.c:6): address ADDRESS is read, which nothing has "
        "written there",
        "libgomp: device 0 (intelmic): region main._omp_fn.1 (reads.c:11): address ADDRESS is read, which the host has "
        "changed since it was copied there",
    ]


def test_openacc(tmp_path: Path) -> None:
    """acc_malloc, data clauses and copies into the middle of a large block."""
    (tmp_path / "acc.c").write_text("""#include <openacc.h>
#include <stdlib.h>
int main (int argc, char **argv)
{
  int n = atoi (argv[1]);
  char *host = calloc (1 << 20, 1), *block = acc_malloc (1 << 20);
  acc_memcpy_to_device (block + 200000, host, 1000);
  acc_memcpy_to_device (block + 1, host, (1 << 20) - 1);
#pragma acc parallel deviceptr(block)
  block[(1 << 20) - 1 + n] = 1;
#pragma acc parallel copy(host[0:1000])
  host[999 + n] = 1;
  acc_memcpy_to_device (block + 200000, host, 1 << 20);
}
""")
    subprocess.run([BIN / "gompcc", "-fopenacc", "-o", "acc", "acc.c"], check=True, cwd=tmp_path)
    right, wrong = run(tmp_path / "acc", "0"), run(tmp_path / "acc", "1")
    assert "libgomp: invalid size" in right.stderr
    assert "0 bytes past the end of a block of 1048576 bytes" in wrong.stderr


def test_a_device_that_is_started_again(tmp_path: Path) -> None:
    """What was freed on the device of before is no concern of the new one: no block is given out twice."""
    (tmp_path / "again.c").write_text("""#include <openacc.h>
#include <stdio.h>
int main (void)
{
  void *kept[10], *p;
  for (int i = 0; i < 10; i++)
    acc_free (acc_malloc (100));
  acc_shutdown (acc_device_default);
  acc_init (acc_device_default);
  for (int i = 0; i < 10; i++)
    kept[i] = acc_malloc (100);
  for (int i = 0; i < 600; i++)
    {
      p = acc_malloc (100);
      for (int j = 0; j < 10; j++)
        if (kept[j] == p)
          return printf ("twice\\n");
      acc_free (p);
    }
}
""")
    subprocess.run([BIN / "gompcc", "-fopenacc", "-o", "again", "again.c"], check=True, cwd=tmp_path)
    done = run(tmp_path / "again")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
