"""`gompy run --check`: the watch's handlers of signals, and those of others: set before, meanwhile, or over them."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from driver_calls import DECLARED

from gompy.driver import paths

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

TRAP = """
#include <signal.h>
#include <stdio.h>
enum { n = 100000 };
static int a[n];
static int pages[2000];
static volatile int traps[2000];
static void
on_trap (int signo)
{
  traps[1000] += signo == SIGTRAP;
}
int
main (void)
{
  struct sigaction action = { .sa_handler = on_trap, .sa_flags = SA_ONSTACK };
  sigaction (SIGTRAP, &action, NULL);
  #pragma omp target enter data map(to: a)
  #pragma omp target
  for (int i = 0; i < n; i++)
    a[i] = i;
  __asm__ volatile ("int3");
  printf ("%d\\n", traps[1000] + pages[0]);
  #pragma omp target exit data map(from: a)
}
"""
KERNELS = (
    DECLARED
    + r"""
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static const char ptx[] = ".version 6.3\n.target sm_35\n.address_size 64\n.visible .entry one ()\n{\nret;\n}\n";
enum { n = 100000, rounds = 20 };
static sigjmp_buf away;
static void
on_fault (int signo)
{
  printf ("handler\n");
  fflush (stdout);
  if (CAUGHT)
    siglongjmp (away, 1);
  signal (signo, SIG_DFL);
}
int
main (void)
{
  struct sigaction action = { .sa_handler = on_fault, .sa_flags = SA_ONSTACK };
  int *a = malloc (n * sizeof *a);
  void *context, *module, *kernel, *stream;
  if (HANDLER)
    sigaction (SIGSEGV, &action, NULL);
  cuInit (0);
  cuDevicePrimaryCtxRetain (&context, 0);
  cuCtxSetCurrent (context);
  cuModuleLoadData (&module, ptx);
  cuModuleGetFunction (&kernel, module, "one");
  cuStreamCreate (&stream, 1);
  for (int i = 0; i < n; i++)
    a[i] = i;
  #pragma omp target enter data map(to: a[:n])
  for (int k = 0; k < rounds; k++)
    {
      #pragma omp target
      for (int i = 0; i < n; i++)
        a[i] = i;
      cuLaunchKernel (kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
      cuCtxSynchronize ();
    }
  #pragma omp target exit data map(from: a[:n])
  printf ("end\n");
  fflush (stdout);
  for (volatile int k = 0; k < CAUGHT + 1; k++)
    if (sigsetjmp (away, 1) == 0)
      *(volatile int *) 8 = 1;
}
"""
)


def run(folder: Path, text: str, device: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A program under the check; a hang is an error."""
    (folder / "a.c").write_text(text)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "a.c", *options], cwd=folder, check=True)
    command = [BIN / "gompy", "run", "--device", device, "--check", "./a.out"]
    env = {**os.environ, "LC_ALL": "C", "LD_LIBRARY_PATH": paths.CUDALIBDIR, "GOMPY_CUDA": "emulated"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)


def kernels(folder: Path, handler: int, caught: int) -> subprocess.CompletedProcess[str]:
    """The program that launches kernels itself between its regions: the emulated GPU's threads set their handlers."""
    given = [f"-DHANDLER={handler}", f"-DCAUGHT={caught}", f"-L{paths.CUDALIBDIR}", "-l:libcuda.so.1"]
    return run(folder, KERNELS, "nvptx", "-foffload=nvptx-none", *given)


def test_a_trap_of_the_programs_own(tmp_path: Path) -> None:
    """It does not happen again by itself, as a fault does: the watch took it."""
    done = run(tmp_path, TRAP, "intelmic")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_a_fault_after_kernels_beside_the_watch(tmp_path: Path) -> None:
    """The executor's handler handed it to the watch's, which was over and waited for it to happen again, for ever."""
    done = kernels(tmp_path, 0, 0)
    assert (done.returncode, done.stdout) == (128 + signal.SIGSEGV, "end\n"), done.stderr


def test_a_handler_of_the_programs_is_still_found(tmp_path: Path) -> None:
    done = kernels(tmp_path, 1, 0)
    assert (done.returncode, done.stdout) == (128 + signal.SIGSEGV, "end\nhandler\n"), done.stderr


def test_a_handler_may_leave_by_longjmp(tmp_path: Path) -> None:
    done = kernels(tmp_path, 1, 1)
    assert (done.returncode, done.stdout) == (0, "end\nhandler\nhandler\n"), done.stderr
