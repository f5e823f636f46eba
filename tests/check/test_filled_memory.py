"""Memory that the program fills or copies by one instruction, and what a mapping without a copy back leaves behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from test_check_reports import sees_system_calls

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

PROGRAM = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { n = 100000 };
static int a[n] __attribute__ ((aligned (4096))), b[n], c[n];
#define FILL(width, to, value, count) \
  do { void *at = (to); unsigned long left = (count); \
       __asm__ volatile ("rep stos" width : "+D" (at), "+c" (left) : "a" ((long) (value)) : "memory"); } while (0)
#define COPY(width, to, from, count) \
  do { void *at = (to); const void *where = (from); unsigned long left = (count); \
       __asm__ volatile ("rep movs" width : "+D" (at), "+S" (where), "+c" (left) : : "memory"); } while (0)
static void
leave (int *p, int step)
{
  #pragma omp target map(to: p[:n])
  for (int i = 0; i < n; i += step)
    p[i] = i + 1;
}
int
main (void)
{
  char *bytes = (char *) a;
  long sum = 0;
  int *m;
  for (int i = 0; i < n; i++)
    b[i] = -i;
  BODY
  for (int i = 0; i < n; i++)
    sum += b[i];
  printf ("%ld\n", sum);
}
"""
B = -sum(range(100000))

NO_TIME = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
enum { n = 4 << 20, page = 512 };
static volatile long a[n];
static volatile int slow;
int
clock_gettime (clockid_t clock, struct timespec *to)  /* each look at it takes 10 ms */
{
  static long looks;
  int result = (int) syscall (SYS_clock_gettime, clock, to);
  looks += slow && clock == CLOCK_MONOTONIC;
  to->tv_nsec += looks % 100 * 10000000;
  to->tv_sec += looks / 100 + to->tv_nsec / 1000000000;
  to->tv_nsec %= 1000000000;
  return result;
}
int
main (void)
{
  long sum = 0, x = 0;
  #pragma omp target map(to: a)
  for (int i = 0; i < n; i += page)
    a[i] = i + 1;
  slow = 1;
  for (int i = 0; i < n; i += page)
    a[i] = 0;
  #pragma omp target map(tofrom: x)
  x++;
  for (int i = 0; i < n; i += page)
    sum += a[i];
  printf ("%ld\n", sum + x);
}
"""


def check(folder: Path, device: str, body: str) -> subprocess.CompletedProcess[str]:
    """A program with a body, compiled for a device, under the check."""
    (folder / "a.c").write_text(PROGRAM.replace("BODY", body))
    words = ["-foffload=nvptx-none"] if device == "nvptx" else []
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", *words, "a.c"], cwd=folder, check=True, timeout=300)
    command = [BIN / "gompy", "run", "--check", "./a.out"]
    env = {**os.environ, "LC_ALL": "C", "GOMPY_CUDA": "emulated", "OMP_WAIT_POLICY": "passive"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


GOOD = {
    "all": ('leave (a, 1); FILL ("b", a, 7, sizeof a); sum = bytes[0] + bytes[5000] + bytes[sizeof a - 1];', 21),
    "four": ('leave (a, 1); FILL ("l", a, -5, n); for (int i = 0; i < n; i++) sum += a[i];', -500000),
    "two": ('leave (a, 1); FILL ("w", bytes + 1, 0x102, n); sum = bytes[1] * 10 + bytes[2] + bytes[5001];', 23),
    "askew": ('leave (a, 1); FILL ("q", bytes + 3, 9, n / 2 - 1);'
              " sum = bytes[3] + bytes[4091] + bytes[4096 * 9 + 3];", 27),
    "copied": ('leave (a, 1); COPY ("l", a, b, n); for (int i = 0; i < n; i++) sum -= a[i];', -B),
    "onto itself": ('leave (a, 1); FILL ("b", a, 0, 5000); a[0] = 3; COPY ("l", a + 1, a, n - 1);'
                    " for (int i = 0; i < n; i++) sum += a[i];", 300000),
    "calloc": ("for (int i = 0; i < 4; i++) { m = malloc (n * sizeof *m); memset (m, 0, n * sizeof *m); leave (m, 1);"
               " free (m); m = calloc (n, sizeof *m); for (int k = 0; k < n; k++) sum += m[k]; free (m); }", 0),
    "not written": ("leave (a, 2); for (int i = 1; i < n; i += 2) sum += a[i];", 0),
    "page by page": ('leave (a, 1); for (int i = 0; i + 1000 <= n; i += 1000) FILL ("l", a + i, i, 1000);'
                     " for (int i = 0; i < n; i++) sum += a[i];", 1000 * sum(range(0, 100000, 1000))),
    "copied from a device": ("int *d = omp_target_alloc (sizeof a, 0); leave (a, 1);"
                             " omp_target_memcpy (d, c, sizeof a, 0, 0, 0, omp_get_initial_device ());"
                             " omp_target_memcpy (a, d, 40000, 0, 0, omp_get_initial_device (), 0);"
                             " sum = a[0] + a[9999]; omp_target_free (d, 0);", 0),
    "mapped again": ("leave (a, 1);\n#pragma omp target map(tofrom: a)\n  a[0]++;\n  sum = a[0];", 1),
}  # fmt: skip
WRONG = {
    "behind the filled bytes": ('leave (a, 1); FILL ("b", a, 0, 2000); sum = a[500];', 2000),
    "before them": ('leave (a, 1); FILL ("l", a + 3000, 0, n - 3000); sum = a[2999];', 11996),
    "in a page in between": ('leave (a, 1); FILL ("l", a, 0, 50000); FILL ("l", a + 50001, 0, n - 50001);'
                             " sum = a[49999] + a[50001] + a[50000];", 200000),
    "the last": ('leave (a, 1); FILL ("b", a, 0, sizeof a - 4); sum = a[n - 1];', 399996),
    "copied": ('leave (a, 1); COPY ("l", c + 1, a, n - 1); sum = c[5];', 0),
    "moved within": ('leave (a, 1); FILL ("l", a, 0, 8); COPY ("l", a, a + 4, n - 4); sum = 0;', 32),
    "one of two": ("leave (a, 2); sum = a[3] + a[4];", 16),
    "after the end of another": ("leave (a, 1); leave (c, 1); sum = a[n / 2];", 200000),
    "written there later": ("leave (a, 1);\n#pragma omp target map(from: c)\n  for (int i = 0; i < n; i++) c[i] = i;\n"
                            "  sum = c[3] + a[3];", 12),
    "beside a copy": ("int *d = omp_target_alloc (sizeof a, 0); leave (a, 1);"
                      " omp_target_memcpy (d, c, sizeof a, 0, 0, 0, omp_get_initial_device ());"
                      " omp_target_memcpy (a, d, 40000, 0, 0, omp_get_initial_device (), 0);"
                      " sum = a[9999]; sum = a[10000];", 40000),
    "behind bytes of what regions alone write": ("\n#pragma omp target enter data map(alloc: a)\n#pragma omp target\n"
                                                 "  for (int i = 0; i < n; i++) a[i] = i + 1;\n"
                                                 '  FILL ("l", a, 0, 60000); sum = a[61000];\n'
                                                 "#pragma omp target exit data map(delete: a)\n", 244000),
    "after many that are as they were": ("for (int r = 0; r < 600; r++) {\n"
                                         "volatile int *p = m = malloc (20000); memset (m, r, 20000);\n"
                                         "#pragma omp target enter data map(to: m[:5000])\n#pragma omp target\n"
                                         "  for (int i = 0; i < 5000; i++) p[i]++, p[i]--;\n"
                                         "#pragma omp target exit data map(delete: m[:5000])\n"
                                         "  } leave (a, 1); sum = a[3];", 12),
    "after many that the host has written anew": ("for (int r = 0; r < 600; r++) {\n"
                                                  "m = malloc (20000);\n"
                                                  "#pragma omp target enter data map(to: m[:5000])\n"
                                                  "#pragma omp target\n"
                                                  "  for (int i = 0; i < 5000; i++) m[i] = r;\n"
                                                  "#pragma omp target exit data map(delete: m[:5000])\n"
                                                  "  for (int i = 0; i < 5000; i++) m[i] = i - 9;\n"
                                                  "  } leave (a, 1); sum = a[3];", 12),
}  # fmt: skip


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("device", ["intelmic", "nvptx"])
@pytest.mark.parametrize(("body", "value"), GOOD.values(), ids=list(GOOD))
def test_memory_is_written_as_by_the_instruction(tmp_path: Path, device: str, body: str, value: int) -> None:
    done = check(tmp_path, device, body)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{value + B}\n")


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(("body", "byte"), WRONG.values(), ids=list(WRONG))
def test_what_is_left_is_told(tmp_path: Path, body: str, byte: int) -> None:
    """To the byte, also in a page that is filled but for that."""
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    done = check(tmp_path, "intelmic", body)
    assert done.returncode == 86 and done.stderr.count("[stale-host]") == 1, done.stderr
    assert f"the host reads a (byte {byte} of 400000), which device 0 has changed" in done.stderr, done.stderr


def test_what_there_was_no_time_to_look_at_has_no_meaning(tmp_path: Path) -> None:
    """It was compared with what the program had written there since, if that had been there before the region, too."""
    (tmp_path / "a.c").write_text(NO_TIME)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "a.c"], cwd=tmp_path, check=True, timeout=300)
    command = [BIN / "gompy", "run", "--check", "./a.out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "1\n")
