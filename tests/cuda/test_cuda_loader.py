"""Libraries whose constructors use the GPU, loaded while other threads compile kernels: nobody waits for ever."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from cuda_tools import LIBRARY as DRIVER
from cuda_tools import has_driver

pytestmark = has_driver

USE = r"""
#include <stdio.h>
#include <stdlib.h>
extern int cuInit (unsigned), cuDevicePrimaryCtxRetain (void **, int), cuCtxSetCurrent (void *);
extern int cuModuleLoadData (void **, const void *), cuModuleGetFunction (void **, void *, const char *);
extern int cuLaunchKernel (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                           void **, void **), cuCtxSynchronize (void);

static void
use (int number)
{
  void *context, *module, *kernel;
  char text[300];
  snprintf (text, sizeof text, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k () "
            "{ .reg .u32 %%a; mov.u32 %%a, %d; ret; }", number);
  if (cuInit (0) || cuDevicePrimaryCtxRetain (&context, 0) || cuCtxSetCurrent (context)
      || cuModuleLoadData (&module, text) || cuModuleGetFunction (&kernel, module, "k")
      || cuLaunchKernel (kernel, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0) || cuCtxSynchronize ())
    abort ();
}
"""
LIBRARY = USE + "static __attribute__ ((constructor)) void begin (void) { use (NUMBER); }\n"
MAIN = (
    "#include <dlfcn.h>\n#include <pthread.h>\n"
    + USE
    + r"""
static pthread_barrier_t together;

static void *
launch (void *number)
{
  pthread_barrier_wait (&together);
  use (10 + *(int *) number);
  return NULL;
}

static void *
load (void *number)
{
  char name[40];
  snprintf (name, sizeof name, "./lib%d.so", *(int *) number);
  pthread_barrier_wait (&together);
  return dlopen (name, RTLD_NOW);
}

int
main (void)
{
  pthread_t threads[6];
  int numbers[6];
  pthread_barrier_init (&together, NULL, 6);
  for (int i = 0; i < 6; i++)
    {
      numbers[i] = i / 2;
      pthread_create (threads + i, NULL, i % 2 ? launch : load, numbers + i);
    }
  for (int i = 0; i < 6; i++)
    pthread_join (threads[i], NULL);
  puts ("all");
}
"""
)


def test_constructors_that_launch(tmp_path: Path) -> None:
    """The compiler's lock is never held by a thread that waits for the loader's."""
    flags = [str(DRIVER), "-lpthread", "-ldl"]
    (tmp_path / "lib.c").write_text(LIBRARY)
    (tmp_path / "main.c").write_text(MAIN)
    for number in range(3):
        words = ["gcc", "-shared", "-fPIC", f"-DNUMBER={number}", "lib.c", "-o", f"lib{number}.so", *flags]
        subprocess.run(words, cwd=tmp_path, check=True)
    subprocess.run(["gcc", "main.c", "-o", "main", *flags], cwd=tmp_path, check=True)
    folder = {"LD_LIBRARY_PATH": str(DRIVER.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(["./main"], cwd=tmp_path, env=os.environ | folder, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "all\n", "")


WAITS = r"""
#include <semaphore.h>
#include <time.h>
extern sem_t begun, over;
static __attribute__ ((constructor)) void
begin (void)
{
  struct timespec limit;
  clock_gettime (CLOCK_REALTIME, &limit);
  limit.tv_sec += 60;
  sem_post (&begun);
  if (sem_timedwait (&over, &limit))
    abort ();
}
"""
LAUNCHES = (
    "#include <dlfcn.h>\n#include <pthread.h>\n#include <semaphore.h>\n"
    + USE
    + r"""
sem_t begun, over;

static void *
launch (void *unused)
{
  (void) unused;
  sem_wait (&begun);
  use (1);
  sem_post (&over);
  return NULL;
}

int
main (void)
{
  pthread_t thread;
  void *context, *module;
  if (cuInit (0) || cuDevicePrimaryCtxRetain (&context, 0) || cuCtxSetCurrent (context)
      || cuModuleLoadData (&module, ".version 7.0\n.target sm_70\n.address_size 64\n"))
    abort ();
  pthread_create (&thread, NULL, launch, NULL);
  puts (dlopen ("./waits.so", RTLD_NOW) ? "launched" : dlerror ());
  pthread_join (thread, NULL);
}
"""
)


def test_a_first_launch_does_not_wait_for_the_loader(tmp_path: Path) -> None:
    """A constructor has its lock, and may wait for the thread that launches, or for a lock that this one has.

    The executor is loaded with the first module, under no lock.
    """
    flags = [str(DRIVER), "-lpthread", "-ldl"]
    (tmp_path / "waits.c").write_text("#include <stdlib.h>\n" + WAITS)
    (tmp_path / "main.c").write_text(LAUNCHES)
    subprocess.run(["gcc", "-shared", "-fPIC", "waits.c", "-o", "waits.so"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-rdynamic", "main.c", "-o", "main", *flags], cwd=tmp_path, check=True)
    folder = {"LD_LIBRARY_PATH": str(DRIVER.parent), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(["./main"], cwd=tmp_path, env=os.environ | folder, capture_output=True, text=True, timeout=100)
    assert ran.stdout == "launched\n", ran
