"""`gompy run --check`: a program that ends without a word, and a log that ends before the program."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from gompy.check.log import RECORD, read_log

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
CUT = "the log of mappings and copies ended early"

READS = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main (void)
{
  static int a[64];
  #pragma omp target enter data map(to: a)
  #pragma omp target map(alloc: a)
  a[5]++;
  int wrong = a[5];
  END;
}
"""
MANY = """
#include <stdio.h>
#include <sys/resource.h>
int main (void)
{
  int a[64] = { 0 };
  struct rlimit limit = { 100000, 100000 };
  #pragma omp target map(a)
  a[5]++;
  setrlimit (RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 1000; i++)
    {
      #pragma omp target map(a)
      a[5]++;
    }
  printf ("%d\\n", a[5]);
}
"""


CLOSES = """
#include <unistd.h>
int main (void)
{
  static int a[64];
  closefrom (3);
  #pragma omp target enter data map(to: a)
  #pragma omp target map(alloc: a)
  a[5]++;
  return a[5];
}
"""
LEAVES = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int wait = 1;
void *leave (void *p)
{
  usleep (200000);
  exit (3);
}
int main (void)
{
  int x = 0;
  pthread_t t;
  pthread_create (&t, NULL, leave, NULL);
  #pragma omp target map(tofrom: x)
  while (1)
    ((volatile int *) &x)[0]++;
}
"""
PART = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int a[64], b[64];
void *leave (void *p)
{
  while (access ("runs", F_OK))
    usleep (10000);
  #pragma omp target enter data map(to: a[10:20])
  exit (3);
}
int main (void)
{
  pthread_t t;
  pthread_create (&t, NULL, leave, NULL);
  #pragma omp target map(tofrom: a, b)
  {
    close (creat ("runs", 0600));
    while (1)
      ((volatile int *) a)[0] += b[0];
  }
}
"""


def checked(folder: Path, program: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A program built and run under the check."""
    (folder / "a.c").write_text(program)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "a.c"], cwd=folder, check=True)
    words = [BIN / "gompy", "run", "--check", *options, "./a.out"]
    return subprocess.run(
        words, cwd=folder, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "end",
    [
        "_exit (wrong)",
        "quick_exit (0)",
        "kill (getpid (), SIGKILL)",
        "abort ()",
        'execl ("/bin/true", "true", (char *) 0)',
        "close (1); signal (SIGPIPE, SIG_DFL); int p[2]; pipe (p); close (p[0]); write (p[1], p, 1)",
    ],
    ids=["_exit", "quick_exit", "SIGKILL", "abort", "exec", "SIGPIPE"],
)
def test_what_was_found_before_a_sudden_end(tmp_path: Path, end: str) -> None:
    """As of a program before `| head -1`, which SIGPIPE ends: such a finding was in memory still, and lost."""
    done = checked(tmp_path, READS.replace("END", end))
    assert done.stderr.splitlines()[0] == (
        "a.c:12: error: the host reads a (byte 20 of 256), which device 0 has changed, and which has not been copied "
        "back since [stale-host]"
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (86, "gompy run: --check: 1 error")


@pytest.mark.parametrize("most", [100000, 0])
def test_a_log_that_ends_before_the_program(tmp_path: Path, most: int) -> None:
    """What was not looked at may be wrong: that is told, and is no success; also if no byte may be written (0)."""
    done = checked(tmp_path, MANY.replace("100000", str(most)), "--check-json", "found")
    assert (done.returncode, done.stdout) == (86, "1001\n")
    assert done.stderr.splitlines() == [
        "libgompy: the log of mappings and copies ends here: File too large",
        f"gompy run: --check: {CUT}; what came later was not looked at",
    ]
    found = json.loads((tmp_path / "found").read_text())
    assert (found["unchecked"], found["findings"]) == (CUT, [])


def test_a_log_without_room_for_one_record() -> None:
    """Its file has one byte, which says so."""
    whole = RECORD.pack(1, 0, -1, 0, 0, 0, 0, 0, 0, 0, b"", 1, 0)
    assert [read_log(data).cut for data in (b"", b"\0", whole, whole[:-4] + b"\1\0\0\0")] == [False, True, False, True]


def test_a_program_that_closes_all_descriptors(tmp_path: Path) -> None:
    """As daemons do.  The log's is one of them; it ended there."""
    done = checked(tmp_path, CLOSES, "--check-json", "found")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (86, "gompy run: --check: 2 errors")
    found = json.loads((tmp_path / "found").read_text())
    assert (found["unchecked"], [f["kind"] for f in found["findings"]]) == ("", ["stale-host", "still-mapped"])


def test_a_thread_that_ends_the_program_while_a_region_runs(tmp_path: Path) -> None:
    """No exit data is missing for what the region has mapped for itself."""
    done = checked(tmp_path, LEAVES)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_a_part_of_what_such_a_region_has_mapped(tmp_path: Path) -> None:
    """An enter data has named it, too: its exit data is missing."""
    done = checked(tmp_path, PART, "--check-json", "found")
    found = json.loads((tmp_path / "found").read_text())["findings"]
    assert (done.returncode, [(f["kind"], f["variable"]) for f in found]) == (86, [("still-mapped", "a")])
