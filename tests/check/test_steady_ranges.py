"""Large arrays that the host leaves alone between regions: their pages are closed for writes, not looked at anew."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from page_access import asks
from test_check_reports import sees_system_calls

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

PROGRAM = (
    r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { n = 200000 };
static int a[n], b[n];
"""
    + asks("readable", "r--p")
    + r"""static int look (void)
{
  int yes = 0, process = getpid ();
  unsigned long address = (unsigned long) (a + n / 2);
  #pragma omp target map(tofrom: yes) map(to: process, address)
  yes = readable (process, address);
  return yes;
}
static void add (void)
{
  #pragma omp target
  for (int i = 0; i < n; i += 64)  /* the device steps through few reads of a page */
    b[i] += a[i];
}
int main (void)
{
  int seen = 0;
  long sum = 0;
  for (int i = 0; i < n; i++)
    a[i] = i % 7;
  #pragma omp target enter data map(to: a, b)
  for (int i = 0; i < 12; i++)
    add ();
  BODY
  #pragma omp target exit data map(from: b) map(delete: a)
  for (int i = 0; i < n; i++)
    sum += b[i];
  printf ("%d %ld\n", seen, sum);
}
"""
)
SUM = sum(i % 7 for i in range(0, 200000, 64))
GOOD = {
    "left alone": ("for (int i = 0; i < 3; i++) seen += look ();", 3, 12 * SUM),
    "read": ("for (int i = 0; i < n; i++) seen += a[i] == 7; add ();", 0, 13 * SUM),
    "written and copied": ("for (int i = 0; i < n; i++) a[i] = 1;\n#pragma omp target update to(a)\n  add ();", 0,
                           12 * SUM + 3125),
    "by one instruction": ("memset (a, 0, sizeof a);\n#pragma omp target update to(a)\n  add ();", 0, 12 * SUM),
    "copied back": ("#pragma omp target\n  a[128000] = 50;\n#pragma omp target update from(a)\n  seen = a[128000];"
                    "  add ();", 50, 13 * SUM + 50 - 128000 % 7),
    "read by the kernel": ('write (open ("out", O_WRONLY | O_CREAT, 0600), a, sizeof a); add ();', 0, 13 * SUM),
    "written by the kernel": ('seen = read (open ("in", O_RDONLY), a + 128000, 40) == 40;\n'
                              "#pragma omp target update to(a)\n  add (); seen += a[128003];", 7,
                              13 * SUM + 6 - 128000 % 7),
}  # fmt: skip
WRONG = {
    "one element": "a[640] = 5; add ();",
    "the last": "a[n - 64] = 5; add ();",
    "all": "memset (a, 1, sizeof a); add ();",
    "twice": "add (); a[128] = 3; add (); a[128000] = 9; add ();",
    "by the kernel": 'seen = read (open ("in", O_RDONLY), a + 128000, 40); add ();',
    "beside what is copied": "a[0] = a[128000] = 9;\n#pragma omp target update to(a[:50000])\n  add ();",
}


def check(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    """A program with a body for the emulated MIC, under the check."""
    (folder / "a.c").write_text(PROGRAM.replace("BODY", body))
    (folder / "in").write_bytes(b"\6\0\0\0" * 10)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-w", "-fopenmp", "a.c"], cwd=folder, check=True, timeout=300)
    command = [BIN / "gompy", "run", "--check", "./a.out"]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(("body", "seen", "value"), GOOD.values(), ids=list(GOOD))
def test_nothing_is_told_of_what_is_right(tmp_path: Path, body: str, seen: int, value: int) -> None:
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    done = check(tmp_path, body)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{seen} {value}\n")


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("body", WRONG.values(), ids=list(WRONG))
def test_what_the_host_changes_is_told(tmp_path: Path, body: str) -> None:
    done = check(tmp_path, body)
    assert done.returncode == 86 and "[stale-device]" in done.stderr, done.stderr
