"""System calls of the host that have nothing to do with watched memory: what it reads is watched beyond them."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_check_reports import sees_system_calls
from test_watched_host import check

# The registers behind a call's arguments have addresses of the array: programs have such in them by chance.
CALLS = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main (void)
{
  static int a[100000];
  void *p = a + 50000;
  long at[2];
#pragma omp target enter data map(to: a)
#pragma omp target
  for (int i = 0; i < 100000; i++)
    a[i] = i;
  if (CALL)
    return 2;
  printf ("%d\\n", a[50000]);
#pragma omp target exit data map(delete: a)
}
"""
PASSED = {
    "getpid": "syscall (SYS_getpid, p, p, p, p, p, p) != getpid ()",
    "close": "syscall (SYS_close, -1, p, p, p, p, p) == 0",
    "clock_gettime": "syscall (SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, at, p, p, p, p) != 0",
    "openat": 'syscall (SYS_openat, AT_FDCWD, "nothing", O_RDONLY, p, p, p) >= 0',
    "futex": "syscall (SYS_futex, at, 1, 1, p, p, p) != 0",
    "getdents64": "syscall (SYS_getdents64, -1, at, sizeof at, p, p, p) != -1",
    "clock_gettime into the same page": "syscall (SYS_clock_gettime, CLOCK_MONOTONIC, a + 50004, p, p, p, p) != 0",
}


@pytest.mark.parametrize("call", PASSED)
def test_registers_that_are_no_arguments_end_no_watch(tmp_path: Path, call: str) -> None:
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    done = check(tmp_path, "intelmic", CALLS.replace("CALL", PASSED[call]))
    assert done.returncode == 86 and done.stderr.count("[stale-host]") == 1, done.stderr


def test_a_call_that_writes_into_watched_memory_is_made_with_it_open(tmp_path: Path) -> None:
    done = check(tmp_path, "intelmic", CALLS.replace("CALL", "syscall (SYS_clock_gettime, CLOCK_MONOTONIC, p) != 0"))
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr
