"""`gompy run --check`: what handlers of signals, and regions, give to system calls is open; faults stay faults."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

HANDLER = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
enum { n = 200000 };
static int a[n];
static volatile int calls, failures;
static int out;
static void
on_alarm (int unused)
{
  calls++;
  failures += pwrite (out, a + n / 2, 4000, 0) != 4000;
}
int
main (void)
{
  struct sigaction action = { .sa_handler = on_alarm };
  struct itimerval timer = { { 0, 3000 }, { 0, 3000 } };
  int x = 0;
  MASK;
  out = open ("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  sigaction (SIGALRM, &action, NULL);
  #pragma omp target enter data map(to: a)
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
  #pragma omp target update from(a[n / 2:1000])
  setitimer (ITIMER_REAL, &timer, NULL);
  while (calls < 100)
    {
      #pragma omp target map(tofrom: x)
      for (int i = 0; i < 5000000; i++)
        __asm__ volatile ("" : "+r" (x));
    }
  memset (&timer, 0, sizeof timer);
  setitimer (ITIMER_REAL, &timer, NULL);
  printf ("%d\\n", failures);
  #pragma omp target exit data map(delete: a)
}
"""
BLOCKED = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
enum { n = 200000, rounds = 20 };
static int a[n];
static int out, pipes[2], failures;
static volatile int waits;
static void
on_alarm (int unused)
{
  failures += pwrite (out, a + n / 2, 4000, 0) != 4000;
  if (waits)
    failures += write (pipes[1], "x", 1) != 1;
  waits = 0;
}
int
main (void)
{
  struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
  struct itimerval timer = { { 0, 20000 }, { 0, 20000 } };
  char c;
  out = open ("out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  failures += pipe (pipes);
  sigaction (SIGALRM, &action, NULL);
  #pragma omp target enter data map(to: a)
  setitimer (ITIMER_REAL, &timer, NULL);
  for (int i = 0; i < rounds; i++)
    {
      #pragma omp target
      for (int j = 0; j < n; j++)
        a[j] = i;
      #pragma omp target update from(a[n / 2:1000])
      waits = 1;
      failures += read (pipes[0], &c, 1) != 1;
    }
  timer = (struct itimerval){ };
  setitimer (ITIMER_REAL, &timer, NULL);
  printf ("%d\\n", failures);
  #pragma omp target exit data map(delete: a)
}
"""
NESTED = """
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
enum { n = 200000 };
static int a[n];
int
main (void)
{
  struct ifconf list = { 4000, { (char *) (a + n / 2) } };
  int plug = socket (AF_INET, SOCK_DGRAM, 0), failed = 0;
  #pragma omp target enter data map(to: a)
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
  failed |= ioctl (plug, SIOCGIFCONF, &list) != 0;
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
  failed |= 2 * (getrandom (a, 20000, 0) != 20000);
  printf ("%d\\n", failed);
  #pragma omp target exit data map(delete: a)
}
"""
NOWHERE = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
enum { n = 200000 };
static int a[n];
int
main (void)
{
  struct query { long words[13]; } *nowhere = (struct query *) 16;
  int maps = open ("/proc/self/maps", O_RDONLY), answer;
  #pragma omp target enter data map(to: a)
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
  answer = ioctl (maps, _IOWR ('f', 17, struct query), nowhere); /* PROCMAP_QUERY */
  printf ("%d\\n", answer == -1 && (errno == EFAULT || errno == ENOTTY));
  #pragma omp target exit data map(delete: a)
}
"""
ASKED = """
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
enum { n = 200000 };
static int a[n];
struct query { uint64_t size, flags, address, answer[6]; uint32_t device[2], name_size, id_size; uint64_t name, id; };
struct scan { uint64_t size, flags, start, end, walked, found, room, most, inverted, all, any, told; };
int
main (void)
{
  static char elsewhere[4096] __attribute__ ((aligned (4096)));
  volatile int *array = a;
  uint64_t found[3];
  int maps = open ("/proc/self/maps", O_RDONLY), pages = open ("/proc/self/pagemap", O_RDONLY), answer, value = 0;
  struct query query = { .size = sizeof query, .address = (uintptr_t) main };
  struct scan scan = { .size = sizeof scan, .start = (uintptr_t) elsewhere, .end = (uintptr_t) elsewhere + 4096,
                       .found = (uintptr_t) found, .room = 1, .all = 2, .told = 2 };
  elsewhere[0] = 1;
  #pragma omp target enter data map(to: a)
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
  ASK;
  printf ("%d\\n", answer >= 0 || errno == ENOTTY);
  READ;
  #pragma omp target exit data map(delete: a)
  return value;
}
"""
MAPPING = "answer = ioctl (maps, _IOWR ('f', 17, struct query), &query)"  # PROCMAP_QUERY
SCAN = "answer = ioctl (pages, _IOWR ('f', 16, struct scan), &scan)"  # PAGEMAP_SCAN
FAULT = """
#include <stdio.h>
enum { n = 200000 };
static int a[n];
int
main (int argc, char **argv)
{
  int x = 0;
  #pragma omp target enter data map(to: a)
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
  for (int i = 0; i < 3; i++)
    #pragma omp target map(tofrom: x)
    x++;
  puts ("faults");
  fflush (stdout);
  *(volatile int *) (long) (argc - 1) = x;
}
"""
REGION = """
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static int a[2000], b[20000], c[20000];
#pragma omp declare target
static int g[3000], h;
#pragma omp end declare target
int
main (void)
{
  int failed = 0;
  char name[] = "out";
  #pragma omp target enter data map(to: a, b) map(alloc: c)
  h = 7;
  #pragma omp target map(tofrom: failed)
  {
    FILE *file;
    int fd = open (name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    FIRST;
    failed |= write (fd, a + 1000, 4000) != 4000;
    failed |= 2 * (pwrite (fd, g + 50, 4000, 4000) != 4000);
    failed |= 4 * (pread (fd, c, 8000, 0) != 8000 || c[1999] != 0);
    file = fdopen (fd, "w+");
    failed |= 8 * (fwrite (b, 4, 20000, file) != 20000);
    rewind (file);
    failed |= 16 * (fread (c, 4, 20000, file) != 20000 || c[19999] != 0);
    READ;
    fclose (file);
  }
  printf ("%d\\n", failed);
  #pragma omp target exit data map(delete: a, b, c)
}
"""


def checked(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A program on the emulated MIC, under the check."""
    (folder / "a.c").write_text(text)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "a.c"], cwd=folder, check=True)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./a.out"]
    env = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("mask", ["(void) 0", "sigfillset (&action.sa_mask)"], ids=["open", "blocked"])
def test_a_handler_gives_an_array_to_a_system_call(tmp_path: Path, mask: str) -> None:
    """Also while a region runs; a handler that blocks the watch's signals would have ended the program."""
    done = checked(tmp_path, HANDLER.replace("MASK", mask))
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_a_handler_comes_while_a_system_call_blocks(tmp_path: Path) -> None:
    """What the handler gave to a system call of its own was closed then, and nobody had opened it."""
    done = checked(tmp_path, BLOCKED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_a_system_call_that_has_an_array_in_a_structure(tmp_path: Path) -> None:
    done = checked(tmp_path, NESTED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_a_question_for_a_mapping_by_a_structure_that_is_nowhere(tmp_path: Path) -> None:
    """The watch looked at it in its handler, where the kernel would have said EFAULT (ENOTTY before 6.11)."""
    done = checked(tmp_path, NOWHERE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("ask", [MAPPING, SCAN], ids=["a mapping", "pages"])
def test_a_question_for_what_is_elsewhere(tmp_path: Path, ask: str) -> None:
    """The emulated GPU asks both before it copies; the one for guards ended the watch."""
    done = checked(tmp_path, ASKED.replace("ASK", ask).replace("READ", "value = array[5000]"))
    assert done.stderr.count("[stale-host]") == 1, done.stderr
    assert (done.returncode, done.stdout) == (86, "1\n"), done.stderr


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    "ask",
    [
        f"query.name = (uintptr_t) &a[5000]; query.name_size = 4096; {MAPPING}; answer |= query.name_size == 4096",
        f"scan.found = (uintptr_t) &a[5000]; {SCAN}",
    ],
    ids=["name", "pages"],
)
def test_a_question_that_is_answered_into_an_array(tmp_path: Path, ask: str) -> None:
    """Its pages are closed: the kernel said EFAULT where it would have written the mapping's name."""
    done = checked(tmp_path, ASKED.replace("ASK", ask).replace("READ", ""))
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_a_fault_of_a_program_that_was_watched_again_and_again(tmp_path: Path) -> None:
    """The watch took its own handler for the program's, and the fault was handled without an end."""
    done = checked(tmp_path, FAULT)
    assert (done.returncode, done.stdout) == (128 + signal.SIGSEGV, "faults\n"), done.stderr


def test_a_region_gives_memory_to_a_system_call(tmp_path: Path) -> None:
    done = checked(tmp_path, REGION.replace("FIRST;", "").replace("READ;", ""))
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_a_region_writes_out_what_the_host_has_changed(tmp_path: Path) -> None:
    text = REGION.replace("FIRST", "failed |= write (fd, &h, 4) != 4 || lseek (fd, 0, SEEK_SET)").replace("READ;", "")
    done = checked(tmp_path, text)
    assert done.stderr.count("[stale-device]") == 1 and "reads h (byte 0 of 4)" in done.stderr, done.stderr
    assert (done.returncode, done.stdout) == (86, "0\n"), done.stderr


def test_a_region_writes_out_what_nothing_has_written(tmp_path: Path) -> None:
    done = checked(
        tmp_path,
        REGION.replace("FIRST;", "")
        .replace("READ;", "")
        .replace(
            "failed |= write (fd, a",
            "failed |= write (fd, c, 400) != 400;\nfailed |= lseek (fd, 0, SEEK_SET);\nfailed |= write (fd, a",
        ),
    )
    assert done.stderr.count("[unset]") == 1 and "reads c, which nothing has written" in done.stderr, done.stderr


def test_a_string_beside_what_nothing_has_written(tmp_path: Path) -> None:
    """The C library reads whole vectors around it."""
    text = """
#include <stdio.h>
#include <string.h>
int
main (void)
{
  int size = 0;
  char name[] = "out";
  #pragma omp target map(tofrom: size)
  size = strlen (name);
  printf ("%d\\n", size);
}
"""
    done = checked(tmp_path, text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
