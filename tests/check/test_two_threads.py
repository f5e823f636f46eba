"""`gompy run --check`: regions that two threads of the program launch at once keep their own names and lines."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from driver_calls import DECLARED

from gompy.abi.check_log import Entry, Op
from gompy.check.analysis import Analysis
from gompy.check.log import Event, Frame, Log
from gompy.driver import paths
from gompy.records import replace

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

TWO = """
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t both;
static int *a, *b;
static void
first (void)
{
  int sum = 0;
  #pragma omp target map(alloc: a[:100]) map(tofrom: sum)
  {
    for (int k = 0; k < 30000000; k++)
      __asm__ volatile ("");
    sum += a[7];
  }
}
static void
second (void)
{
  int sum = 0;
  #pragma omp target map(alloc: b[:100]) map(tofrom: sum)
  {
    for (int k = 0; k < 30000000; k++)
      __asm__ volatile ("");
    sum += b[9];
  }
}
static void *
other (void *unused)
{
  pthread_barrier_wait (&both);
  second ();
  return unused;
}
int
main (void)
{
  pthread_t thread;
  a = malloc (100 * sizeof *a);
  b = malloc (100 * sizeof *b);
  #pragma omp target
  ;
  pthread_barrier_init (&both, NULL, 2);
  pthread_create (&thread, NULL, other, NULL);
  pthread_barrier_wait (&both);
  first ();
  pthread_join (thread, NULL);
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("device", ["intelmic", "nvptx"])
def test_each_thread_has_its_own_region(tmp_path: Path, device: str) -> None:
    (tmp_path / "two.c").write_text(TWO)
    options = ["-foffload=nvptx-none"] if device == "nvptx" else []
    words = [BIN / "gompcc", "-g", "-O1", "-fopenmp", "-pthread", *options, "two.c"]
    subprocess.run(words, cwd=tmp_path, check=True)
    command = [BIN / "gompy", "run", "--device", device, "--check", "./a.out"]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 86, done.stderr
    assert sorted(re.findall(r"two\.c:(\d+): error: region (\w+)\._omp_fn\.0 .* reads (\w)", done.stderr)) == [
        ("14", "first", "a"),
        ("25", "second", "b"),
    ]
    assert sorted(re.findall(r"two\.c:(\d+): note: region (\w+)\._omp_fn\.0 begins", done.stderr)) == [
        ("10", "first"),
        ("21", "second"),
    ]


ASKED = (
    DECLARED
    + r"""
#include <pthread.h>
#include <stdio.h>

static const char ptx[] = ".version 6.3\n.target sm_35\n.address_size 64\n"
  ".visible .entry far ()\n{\n.reg .u64 %p;\n.reg .u32 %v;\nmov.u64 %p, 64;\nld.global.u32 %v, [%p];\n"
  "st.global.u32 [%p], %v;\nret;\n}\n";
static void *context, *kernel;
static unsigned threads;
static __thread unsigned number;

unsigned
gompy_check_thread (void)
{
  if (number == 0)
    number = ++threads;
  return number;
}

void
gompy_check_text (unsigned thread, const char *text)
{
  printf ("%u: %s\n", thread, text);
}

static void *
other (void *unused)
{
  gompy_check_thread ();
  cuCtxSetCurrent (context);
  cuLaunchKernel (kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
  return unused;
}

int
main (void)
{
  void *module;
  pthread_t thread;
  gompy_check_thread ();
  cuInit (0);
  cuDevicePrimaryCtxRetain (&context, 0);
  cuCtxSetCurrent (context);
  cuModuleLoadData (&module, ptx);
  cuModuleGetFunction (&kernel, module, "far");
  pthread_create (&thread, NULL, other, NULL);
  pthread_join (thread, NULL);
  cuCtxSynchronize ();
}
"""
)


def test_a_kernel_is_of_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    """The program stands for libgompy here: another thread than that one is sure to run the kernel."""
    (tmp_path / "asked.c").write_text(ASKED)
    words = ["gcc", "-rdynamic", "-pthread", "asked.c", "-o", "asked", "-L", paths.CUDALIBDIR, "-l:libcuda.so.1"]
    subprocess.run(words, cwd=tmp_path, check=True)
    env = {**os.environ, "LD_LIBRARY_PATH": paths.CUDALIBDIR, "GOMPY_CHECK": "memory"}
    done = subprocess.run([tmp_path / "asked"], env=env, capture_output=True, text=True, check=True)
    assert re.findall(r"^(\d+): launch failed: .*0x40", done.stdout, re.MULTILINE) == ["2"], done.stdout + done.stderr


def launched(device: int, thread: int, pc: int) -> Event:
    frame = Frame(pc, 0, 0, b"")
    return Event(Op.LAUNCH, 0, device, 0, 0, 0, 0, 0, 0, "", b"", frame, thread)


def test_the_last_launch_is_that_of_the_thread() -> None:
    """In an order of records that no program makes twice."""
    events = [launched(0, 1, 100), launched(1, 2, 200), launched(0, 2, 300), launched(1, 3, 400)]
    found = []
    for thread in (1, 2, 3, 4):  # the last one has launched nothing: it is a driver's own
        analysis = Analysis(Log(events))
        analysis.run()
        analysis.now.thread = thread
        device, event = analysis.now.launch_of()
        assert event is not None and event.frame is not None
        found.append((device, event.frame.pc))
    assert found == [(0, 100), (0, 300), (1, 400), (1, 400)]


def mapped(device: int, start: int, what: str) -> Event:
    return Event(Op.ENTRY, 0, device, Entry.NEW, 0, start, 8, 0, 0, what, b"", None, 1)


def test_a_mapping_is_made_for_the_region_of_its_device() -> None:
    """Not for the thread's next one on another device, nor by a data directive for a region behind it."""
    launches = [replace(launched(device, 1, 100), where=500 + device) for device in (1, 0)]
    events = [mapped(0, 64, "target data"), mapped(0, 128, "acc_copyin"), mapped(0, 256, ""), *launches]
    analysis = Analysis(Log(events))
    analysis.run()
    assert {start: mapping.region for (_, start), mapping in analysis.now.live.items()} == {64: 0, 128: 0, 256: 500}
