"""device_marks.h alone: signals as a program gets them, and as a busy virtual machine gives them."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "gompy/plugins/intelmic/protocol.h"
#include "gompy/plugins/intelmic/device_marks.h"

static int lost, steps;
static struct mic_guards none;

int
mic_is_image_code (uintptr_t pc)
{
  return pc != 0;  /* all of it is: no library reads here */
}

static void
on_signal (int signo, siginfo_t *info, void *context)
{
  unsigned mark;
  if (signo == SIGTRAP && lost)
    info->si_code = TRAP_BRKPT;  /* as without DR6.BS */
  steps += signo == SIGTRAP;
  if (!mic_marked_fault (signo, info, context, &mark))
    {
      printf ("not ours: signal %d\n", signo);
      fflush (stdout);
      _exit (1);
    }
  if (mark)
    printf ("mark %u\n", mark);
}

int
main (int count, char **words)
{
  struct sigaction a;
  volatile char *page = mmap (NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static unsigned char marks[4096];
  memset (marks, MIC_MARK_GOOD, sizeof marks);
  marks[100] = MIC_MARK_GOOD + 1;
  lost = count > 1;
  memset (&a, 0, sizeof a);
  a.sa_sigaction = on_signal;
  a.sa_flags = SA_SIGINFO;
  sigaction (SIGSEGV, &a, NULL);
  sigaction (SIGTRAP, &a, NULL);
  static struct mic_outer outer;
  mic_watch_marks (marks, (void *) page, 4096, &outer);
  mic_begin_marked (&none);
  int sum = page[0] + page[1];  /* a good byte of a doubtful page: a step each */
  sum += page[100];
  printf ("%d steps, sum %d\n", steps, sum);
  fflush (stdout);
  if (count > 2)
    __asm__ ("int3");
  return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the marks are those of x86-64")
@pytest.mark.parametrize("words", [(), ("lost",), ("lost", "int3")])
def test_a_step_ends_whatever_code_its_signal_has(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The kernel's si_code comes from DR6, which a virtual machine may have lost; a region's own trap is no step."""
    source = tmp_path / "marks.c"
    source.write_text(PROGRAM)
    built = tmp_path / "marks"
    subprocess.run(["gcc", "-O1", "-fopenmp", f"-I{ROOT}", str(source), "-o", str(built)], check=True)
    done = subprocess.run([str(built), *words], capture_output=True, text=True, check=False)
    shown = "mark 2\n2 steps, sum 0\n"
    assert done.stdout == (shown + "not ours: signal 5\n" if "int3" in words else shown)
    assert done.returncode == ("int3" in words)


def printed(folder: Path, text: str) -> str:
    """What a program prints that has the marks' code in it."""
    (folder / "marks.c").write_text(text)
    command = ["gcc", "-O1", "-fopenmp", "-Wall", "-Werror", "-I", str(ROOT), "marks.c", "-o", "marks"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run([folder / "marks"], capture_output=True, text=True, check=True, timeout=60).stdout


READS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "gompy/plugins/intelmic/protocol.h"
#include "gompy/plugins/intelmic/device_marks.h"

static struct mic_guards none;

int
mic_is_image_code (uintptr_t pc)
{
  return pc != 0;
}

static void
on_signal (int signo, siginfo_t *info, void *context)
{
  unsigned mark;
  if (!mic_marked_fault (signo, info, context, &mark))
    _exit (1);
}

int
main (void)
{
  struct sigaction a;
  volatile char *page = mmap (NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static unsigned char marks[4096], writable[1], whole[1];
  static struct mic_outer outer;
  int before;
  memset (marks, MIC_MARK_GOOD, sizeof marks);
  marks[100] = MIC_MARK_UNSET;
  memset (&a, 0, sizeof a);
  a.sa_sigaction = on_signal;
  a.sa_flags = SA_SIGINFO;
  sigaction (SIGSEGV, &a, NULL);
  mic_watch_marks (marks, (void *) page, 4096, &outer);
  mic_marked_pages = (struct mic_pages){ marks, whole, writable, (char *) page, 1, &none.stay_open };
  mic_steps = MIC_STEPS;  /* none are left: the page is given up */
  mic_begin_marked (&none);
  before = page[0];
  before = mic_may_be_written (&mic_marked_pages, 0, 4096);
  page[1] = 1;
  printf ("%d %d\n", before, mic_may_be_written (&mic_marked_pages, 0, 4096));
  return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the marks are those of x86-64")
def test_a_page_that_is_given_up_at_a_read_is_open_to_reads(tmp_path: Path) -> None:
    """The end of an array that is only read may lie beside what is unset: it was taken for written, and watched."""
    assert printed(tmp_path, READS) == "0 1\n"


ALONE = (
    READS[: READS.index("  volatile char *page")]
    + r"""
  enum { size = 6 * 4096 };
  volatile char *memory = mmap (NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static unsigned char marks[size], writable[6], whole[6];
  static struct mic_outer outer;
  static const unsigned char is[6] = { MIC_MARK_GOOD, MIC_MARK_CLOSED, MIC_MARK_GOOD, MIC_MARK_GOOD, MIC_MARK_CLOSED,
                                       MIC_MARK_GOOD };
  for (int i = 0; i < 6; i++)
    whole[i] = MIC_PAGE_ALL + is[i];
  memset (&a, 0, sizeof a);
  a.sa_sigaction = on_signal;
  a.sa_flags = SA_SIGINFO;
  sigaction (SIGSEGV, &a, NULL);
  mic_watch_marks (marks, (void *) memory, size, &outer);
  mic_marked_pages = (struct mic_pages){ marks, whole, writable, (char *) memory, 1, &none.stay_open };
  mic_begin_marked (&none);
  for (int i = 0; i < 6; i++)
    if (is[i] == MIC_MARK_GOOD)
      (void) memory[i * 4096];
  for (int i = 0; i < 6; i++)
    printf ("%d ", mic_may_be_written (&mic_marked_pages, i * 4096, 4096));
  return 0;
}
"""
)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the marks are those of x86-64")
def test_a_page_that_is_read_is_open_to_writes_where_it_is_alone(tmp_path: Path) -> None:
    """A region that reads and writes one number takes one fault; arrays that are only read need not be looked at."""
    assert printed(tmp_path, ALONE).split() == ["1", "0", "0", "0", "0", "1"]
