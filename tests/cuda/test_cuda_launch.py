"""What a launch asks of the operating system: a kernel that does nothing is over sooner than one system call."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cuda_tools import LIBRARY, has_driver, has_executor

pytestmark = [
    has_driver,
    has_executor,
    pytest.mark.usefixtures("plain"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc"),
]

PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char text[] =
  ".version 6.0\n.target sm_60\n.address_size 64\n"
  ".visible .entry nothing ()\n{\n  bar.sync 0;\n  ret;\n}\n"
  ".visible .entry wrong (.param .u64 place)\n{\n  .reg .u64 %d<2>;\n  .reg .u32 %r<2>;\n"
  "  ld.param.u64 %d1, [place];\n  ld.global.u32 %r1, [%d1];\n  st.global.u32 [%d1], %r1;\n  ret;\n}\n";

static int (*init) (unsigned), (*device_get) (int *, int), (*create) (void **, unsigned, int), (*synchronize) (void);
static int (*load) (void **, const void *), (*function) (void **, void *, const char *), (*push) (void *);
static int (*launch) (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                      void **);
static volatile sig_atomic_t calls;

static void
count (int number)
{
  calls++;
}

static void
own (int number)
{
  _exit (77);
}

static void
watch (void)
{
  struct sock_filter code[] = {
    BPF_STMT (BPF_LD | BPF_W | BPF_ABS, offsetof (struct seccomp_data, nr)),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_sigaltstack, 1, 0),
    BPF_JUMP (BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 0, 1),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    BPF_STMT (BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { sizeof code / sizeof *code, code };
  signal (SIGSYS, count);
  if (prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    exit (66);
  syscall (SYS_getpid);
  if (calls != 1)
    exit (66);
  calls = 0;
}

static void *module, *nothing, *wrong;
static void *context;

static void
run (void *kernel, void **parameters)
{
  if (launch (kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL) != 0)
    exit (2);
}

static void *
signal_stack (void)
{
  stack_t own = { 0 };
  sigaltstack (NULL, &own);
  return own.ss_flags & SS_DISABLE ? NULL : own.ss_sp;
}

/* Launches until one is not done by the stream's thread: what signal stack this thread has then.  */
static void *
on_thread (void *unused)
{
  push (context);
  while (!signal_stack ())
    {
      run (nothing, NULL);
      synchronize ();
    }
  return signal_stack ();
}

static void
fault (void)
{
  unsigned long long place = 16;
  void *parameters[] = { &place };
  run (wrong, parameters);
  printf ("%d\n", synchronize ());
}

int
main (int argc, char **argv)
{
  void *library = dlopen (argv[1], RTLD_NOW);
  int device;
  if (!library)
    return 3;
#define FIND(to, name) *(void **) &to = dlsym (library, name)
  FIND (init, "cuInit"); FIND (device_get, "cuDeviceGet"); FIND (create, "cuCtxCreate_v2");
  FIND (synchronize, "cuCtxSynchronize"); FIND (load, "cuModuleLoadData"); FIND (function, "cuModuleGetFunction");
  FIND (launch, "cuLaunchKernel"); FIND (push, "cuCtxPushCurrent_v2");
  if (init (0) || device_get (&device, 0) || create (&context, 0, device) || load (&module, text)
      || function (&nothing, module, "nothing") || function (&wrong, module, "wrong"))
    return 4;
  run (nothing, NULL);
  synchronize ();
  if (!strcmp (argv[2], "calls"))
    {
      on_thread (NULL);
      watch ();
      for (int i = 0; i < 200; i++)
        {
          run (nothing, NULL);
          synchronize ();
        }
      printf ("%d\n", (int) calls);
    }
  else if (!strcmp (argv[2], "handler"))
    {
      signal (SIGSEGV, own);
      fault ();
    }
  else if (!strcmp (argv[2], "threads"))
    {
      void *own = on_thread (NULL), *other = NULL;
      pthread_t thread;
      pthread_create (&thread, NULL, on_thread, NULL);
      pthread_join (thread, &other);
      printf ("%d %d\n", other != NULL && other != own, signal_stack () == own);
    }
  else
    {
      fesetround (FE_DOWNWARD);
      feraiseexcept (FE_INEXACT);
      run (nothing, NULL);
      synchronize ();
      printf ("%d %d\n", fegetround () == FE_DOWNWARD, fetestexcept (FE_ALL_EXCEPT) == FE_INEXACT);
    }
  return 0;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program, compiled."""
    source = tmp_path / "launch.c"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "-w", source, "-o", tmp_path / "launch", "-lm", "-ldl", "-pthread"], check=True)
    return tmp_path / "launch"


def ran(program: Path, what: str) -> subprocess.CompletedProcess[str]:
    """The program's run, with a cache of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(program.parent / "cache")}
    return subprocess.run([program, LIBRARY, what], capture_output=True, text=True, env=environment)


def test_a_launch_asks_neither_for_the_process_nor_for_signal_stacks(program: Path) -> None:
    done = ran(program, "calls")
    if done.returncode == 66:
        pytest.skip("system calls cannot be watched here")
    assert (done.returncode, done.stdout) == (0, "0\n")


def test_a_new_kernel_s_fault_is_the_driver_s_whatever_handler_the_program_has_set(program: Path) -> None:
    done = ran(program, "handler")
    assert (done.returncode, done.stdout) == (0, "700\n")


def test_each_thread_that_runs_a_kernel_has_a_signal_stack(program: Path) -> None:
    done = ran(program, "threads")
    assert (done.returncode, done.stdout) == (0, "1 1\n")


def test_rounding_and_exceptions_of_the_program_stay(program: Path) -> None:
    done = ran(program, "modes")
    assert (done.returncode, done.stdout) == (0, "1 1\n")
