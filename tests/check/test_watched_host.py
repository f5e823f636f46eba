"""What the host reads is watched while its other threads sleep, and system calls pass: any binary, both devices."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from page_access import asks
from test_check_reports import sees_system_calls

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

THREADS = """
#include <stdio.h>
#include <unistd.h>
int a[100000];
int main (void)
{
#pragma omp parallel num_threads(3)
  a[0] = 1;
  usleep (100000);
#pragma omp target enter data map(to: a)
#pragma omp target
  for (int i = 0; i < 100000; i++)
    a[i] = i;
  usleep (100000);
  READ
#pragma omp parallel num_threads(3)
#pragma omp for
  for (int i = 0; i < 100000; i++)
    a[i] = 2;
  printf ("%d\\n", a[3]);
#pragma omp target exit data map(delete: a)
}
"""
CALLS = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
int main (void)
{
  static int a[100000];
  struct timespec t;
  struct rusage used;
  struct tms times_used;
  int fd = open ("data", O_RDONLY), out = open ("out", O_WRONLY | O_CREAT, 0600);
#pragma omp target enter data map(to: a)
#pragma omp target
  for (int i = 0; i < 100000; i++)
    a[i] = i;
  for (int i = 0; i < 4; i++)
    if (read (fd, a + i * 1000, 4000) != 4000)
      return 2;
  if (write (out, a, 16000) != 16000 || a[3999] != 7)
    return 3;
  if (clock_getres (CLOCK_PROCESS_CPUTIME_ID, &t) || getrusage (RUSAGE_SELF, &used) || times (&times_used) < 0)
    return 4;
  if (sbrk (1 << 20) == (void *) -1)
    return 5;
  READ
#pragma omp target exit data map(delete: a)
}
"""


def check(folder: Path, device: str, text: str) -> subprocess.CompletedProcess[str]:
    """A program compiled for a device, under the check."""
    (folder / "a.c").write_text(text)
    words = ["-foffload=nvptx-none"] if device == "nvptx" else []
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", *words, "a.c"], cwd=folder, check=True, timeout=300)
    env = {**os.environ, "LC_ALL": "C", "OMP_WAIT_POLICY": "passive"}
    command = [BIN / "gompy", "run", "--check", "./a.out"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("device", ["intelmic", "nvptx"])
@pytest.mark.parametrize("text", [THREADS, CALLS], ids=["threads", "calls"])
def test_a_stale_read_is_found_and_no_other(tmp_path: Path, device: str, text: str) -> None:
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    import array

    (tmp_path / "data").write_bytes(array.array("i", [7] * 4000).tobytes())
    done = check(tmp_path, device, text.replace("READ", ""))
    assert done.returncode == 0 and "error" not in done.stderr, done.stderr
    # The driver's threads may be awake just then: it is watched the next time.
    runs = []
    for _ in range(1 if device == "intelmic" else 5):
        runs.append(check(tmp_path, device, text.replace("READ", 'printf ("%d\\n", a[50000]);')))
        if runs[-1].returncode == 86:
            break
    assert runs[-1].returncode == 86 and runs[-1].stderr.count("[stale-host]") == 1, runs[-1].stderr


WAITS = """
#include <stdio.h>
#include <unistd.h>
int a[5000];
int main (void)
{
  char c;
#pragma omp target enter data map(to: a)
#pragma omp target
  for (int i = 0; i < 5000; i++)
    a[i] = i;
  puts ("waits");
  fflush (stdout);
  return read (0, &c, 1);
}
"""


def test_a_program_that_waits_for_input_ends_by_a_signal(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(WAITS)
    subprocess.run([BIN / "gompcc", "-fopenmp", "a.c"], cwd=tmp_path, check=True, timeout=300)
    env = {**os.environ, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(tmp_path / "log")}
    program = [str(tmp_path / "a.out")]
    with subprocess.Popen(program, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"waits\n"
        while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            time.sleep(0.01)  # until it waits
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) == -signal.SIGINT
        finally:
            process.kill()


SMALL = """
#include <stdio.h>
#include <stdlib.h>
int main (void)
{
  /* on pages of the heap that the runtime's own memory shares */
  int sum = 0;
  for (int round = 0; round < 20; round++)
    {
      int *p = calloc (8, sizeof *p), *q = calloc (8, sizeof *q);
#pragma omp target enter data map(to: p[:8])
#pragma omp target map(tofrom: q[:8])
      for (int i = 0; i < 8; i++)
        p[i] = q[i] = i;
#pragma omp target update from(p[:8])
      for (int i = 0; i < 8; i++)
        sum += p[i] + q[i];
#pragma omp target map(always, from: p[:8])
      for (int i = 0; i < 8; i++)
        p[i] = 2;
      sum += p[7];
#pragma omp target exit data map(delete: p[:8])
      free (q);
    }
  printf ("%d\\n", sum);
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("device", ["intelmic", "nvptx"])
def test_small_arrays_beside_the_runtimes_own_memory(tmp_path: Path, device: str) -> None:
    done = check(tmp_path, device, SMALL)
    assert (done.returncode, done.stdout) == (0, "1160\n"), done.stderr


BESIDE = """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int a[1000];
static void *longer (void *unused)
{
  #pragma omp target map(tofrom: a)
  for (int k = 0; k < 50000; k++)
    for (int i = 0; i < 1000; i++)
      a[i] += k ^ i;
  return unused;
}
int main (void)
{
  pthread_t thread;
  int b[10] = { 0 };
  pthread_create (&thread, NULL, longer, NULL);
  for (int round = 0; round < 20; round++)
    {
      #pragma omp target map(tofrom: b)
      b[3]++;
      usleep (2000);
    }
  pthread_join (thread, NULL);
  printf ("%d\\n", b[3]);
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("device", ["intelmic", "nvptx"])
def test_a_region_that_ends_while_another_threads_runs(tmp_path: Path, device: str) -> None:
    done = check(tmp_path, device, BESIDE)
    assert (done.returncode, done.stdout) == (0, "20\n"), done.stderr


ANYWHERE = """
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__ ((noinline)) static int use (volatile char *pad)
{
  int a[100], sum = 0;
#pragma omp target data map(alloc: a)
  {
#pragma omp target
    for (int i = 0; i < 100; i++)
      a[i] = i;
#pragma omp target map(tofrom: sum)
    for (int i = 0; i < 100; i++)
      sum += a[i];
  }
  return sum + pad[0];
}
int main (int argc, char **argv)
{
  char number[12];
  int status, wrong = 0;
  if (argc > 1)
    {
      volatile char *pad = alloca (16 * strtoul (argv[1], NULL, 10) + 16);
      pad[0] = 0;
      return use (pad) != 4950;
    }
  for (int i = 0; i < 256; i++)
    {
      snprintf (number, sizeof number, "%d", i);
      if (fork () == 0)
        return execl (argv[0], argv[0], number, NULL);
      wait (&status);
      if (status != 0)
        fprintf (stderr, "offset %d: %d\\n", i, status);
      wrong += status != 0;
    }
  return wrong != 0;
}
"""


@pytest.mark.slow
def test_arrays_end_anywhere_on_the_stack(tmp_path: Path) -> None:
    """The runtime's stack may be in the page of a watched array: a fault there let system calls end the program."""
    (tmp_path / "anywhere.c").write_text(ANYWHERE)
    words = [BIN / "gompcc", "-g", "-fopenmp", "anywhere.c", "-o", "anywhere"]
    subprocess.run(words, cwd=tmp_path, check=True, env={**os.environ, "GOMPY_ACCEL": "gcc"})
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./anywhere"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


HELD = (
    """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { n = 200000 };
static int a[n], other[n];
"""
    + asks("closed", "---p")
    + """static void write_some (void)
{
  if (write (open ("out", O_WRONLY | O_CREAT | O_TRUNC, 0600), a + n / 2, 4000) != 4000)
    abort ();
}
static int middle_is_closed (void)
{
  int yes = 0, process = getpid ();
  unsigned long address = (unsigned long) (a + n / 2);
  #pragma omp target map(tofrom: yes) map(to: process, address)
  yes = closed (process, address);
  return yes;
}
int main (void)
{
  int sum = 0, twice[3];
  #pragma omp target enter data map(to: a, other)
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = other[i] = i;
  for (int i = 0; i < 3; i++)
    printf ("%d ", middle_is_closed ());
  #pragma omp target update from(a[n / 2:1000])
  for (int i = 0; i < 1000; i++)
    sum += a[n / 2 + i];
  printf ("%d ", sum);
  #pragma omp target if(0)
  write_some ();
  #pragma omp target update from(a, other)
  twice[0] = a[7] + other[n - 7];
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = 1;
  #pragma omp target exit data map(from: a) map(delete: other)
  printf ("%d %d\\n", twice[0], a[n / 2]);
  READ
}
"""
)


def test_watched_pages_stay_closed_while_a_region_runs(tmp_path: Path) -> None:
    """Copies and regions on the host have them all the same, also in system calls."""
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    done = check(tmp_path, "intelmic", HELD.replace("READ", ""))
    assert (done.returncode, done.stderr) == (0, "")
    sum_of_some = sum(range(100000, 101000))
    assert done.stdout == f"1 1 1 {sum_of_some} 200000 1\n"


def test_pages_beside_those_that_the_program_uses_stay_closed(tmp_path: Path) -> None:
    """The first pages were opened by an access, and with them all of the array around the next regions."""
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    # The region writes what is there: its pages are written, and nothing is newer.
    text = HELD.replace("a[i] = other[i] = i;", "a[i] = other[i] = 0;").replace("READ", "")
    done = check(tmp_path, "intelmic", text.replace("middle_is_closed ());", "middle_is_closed () + a[0]);"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 1 1 0 0 1\n", "")


def test_what_stayed_closed_is_still_watched(tmp_path: Path) -> None:
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    text = HELD.replace("  #pragma omp target update from(a[n / 2:1000])\n", "")
    done = check(tmp_path, "intelmic", text.replace("READ", ""))
    assert done.returncode == 86 and done.stderr.count("[stale-host]") == 1, done.stderr


OPENED = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static int opened;
int
open (const char *path, int flags, ...)
{
  opened += strncmp (path, "/proc/self/task", 15) == 0;
  return syscall (SYS_openat, -100, path, flags, 0600);
}
int open64 (const char *path, int flags, ...) __attribute__ ((alias ("open")));
int
main (void)
{
  int a[100] = { 0 };
  #pragma omp target data map(tofrom: a)
  for (int i = 0; i < 60; i++)
    {
      #pragma omp target teams distribute parallel for
      for (int j = 0; j < 100; j++)
        a[j]++;
    }
  printf ("%d %d\n", opened, a[7]);
}
"""


@pytest.mark.slow
def test_states_of_the_drivers_threads_stay_open(tmp_path: Path) -> None:
    """Whether they sleep is asked behind each region; their files are looked for again where others are there."""
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    done = check(tmp_path, "nvptx", OPENED)
    opened, value = done.stdout.split()
    assert (done.returncode, value) == (0, "60"), done.stderr
    assert 0 < int(opened) < 60


FRAMES = """
#include <stdio.h>
__attribute__ ((noinline)) static int
called (int d, volatile int *p)
{
  volatile char room[200];
  room[0] = d;
  room[199] = d;
  return *p + room[0] + room[199];
}
int main (void)
{
  int n = 0, a[16], sum = 0;
  for (int i = 0; i < 16; i++)
    a[i] = i;
  #pragma omp target data map(to: a)
  {
    #pragma omp target map(always, from: n)
    {
      for (int i = 0; i < 16; i++)
        a[i] += 5;
      n = 1;
    }
    for (int k = 0; k < 150; k++)
      sum += called (k, &n);
    sum += a[8];
    printf ("%d\\n", sum);
  }
}
"""


def test_an_array_on_the_stack_beside_the_frames_of_many_calls(tmp_path: Path) -> None:
    """They use its page more than 600 times, which was all that a page might take."""
    (tmp_path / "beside.c").write_text(FRAMES)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "beside.c"], cwd=tmp_path, check=True)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./a.out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 86, done.stderr
    assert "beside.c:26: error: the host reads a (byte 32 of 64)" in done.stderr


DEFERRED = """
#include <stdio.h>
int main (void)
{
  volatile long c;
  long a[100], b[40];
  for (int i = 0; i < 100; i++) a[i] = i;
  for (int i = 0; i < 40; i++) b[i] = i;
  #pragma omp target data map(from: a) map(tofrom: b)
  {
    #pragma omp target update from(a)
    #pragma omp target nowait map(tofrom: a) depend(inout: a[0])
    for (int i = 0; i < 40; i++) { for (volatile int k = 0; k < 100000; k++); b[i]++; }
    #pragma omp target update from(a) nowait depend(inout: a[0])
    READ; /* the fifteenth line */
    #pragma omp taskwait
  }
  printf ("%ld\\n", b[39]);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "c = a[50]"], ids=["no-read", "read"])
def test_a_frame_that_is_kept_for_later_is_not_read_by_the_program(tmp_path: Path, text: str) -> None:
    """A deferred construct has the function's frame copied, with the array in it, while that is watched.

    It is watched where all other threads sleep at the right moment: in some of the runs.
    """
    told: set[str] = set()
    for _ in range(20 if text else 8):
        done = check(tmp_path, "intelmic", DEFERRED.replace("READ", text))
        assert done.stdout == "40\n"
        told.update(line for line in done.stderr.splitlines() if ": error: " in line)
        if text and told:
            break
    assert all(line.startswith("a.c:15:") for line in told), told
    assert bool(told) == bool(text) or not sees_system_calls()
