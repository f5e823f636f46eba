"""What plugins say of what a device cannot do: after a fork, and of launches that are too large."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driver_tools import Tools, has_all
from nvptx_tools import has_compiler

pytestmark = has_all
GPU = {"GOMPY_PLUGINS": "nvptx", "GOMPY_CUDA": "emulated", "GOMPY_CUDA_MEMORY": "256M"}
VIRTUAL = {"GOMPY_PLUGINS": "python", "GOMPY_PYTHON_DEVICE": "gompy.virtual:Virtual"}
FORKS = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main (void) {
  int a = 0;
  #pragma omp target map(a)
  a++;
  if (!fork ()) {
    #pragma omp target map(a)
    a++;
    _exit (a);
  }
  int status;
  wait (&status);
  printf ("%d %d\\n", a, WEXITSTATUS (status));
}
"""
SENT = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main (void) {
  int device = 0, child;
  #pragma omp target map(from: device)
  device = getpid ();
  child = fork ();
  if (child == 0) {
    while (access ("begun", F_OK) != 0)
      usleep (1000);
    kill (device, SIGSEGV);
    _exit (0);
  }
  printf ("%d\\n", child);
  fflush (stdout);
  #pragma omp target
  for (close (open ("begun", O_CREAT | O_WRONLY, 0600));;)
    pause ();
}
"""
FULL = """
#include <stdlib.h>
int main (void) {
  char *p = malloc (1 << 26);
  #pragma omp target enter data map(alloc: p[:1 << 26])
}
"""
WIDE = """
#include <stdio.h>
#include <stdlib.h>
int main (int argc, char **argv) {
  int workers = atoi (argv[1]), a[8] = {0};
  #pragma acc parallel loop num_workers(workers) vector_length(64) copy(a)
  for (int i = 0; i < 8; i++) {
    #pragma acc loop worker vector
    for (int j = 0; j < 8; j++)
      a[i] = i;
  }
  printf ("%d\\n", a[7]);
}
"""
BARRIERS = (
    "The Nvidia accelerator has insufficient barrier resources to launch 'main._omp_fn.0' with num_workers = 16 and "
    "vector_length = 64; recompile the program with 'num_workers = x' on that offloaded region or '-fopenacc-dim=:x:' "
    "where x <= 15; or, recompile the program with 'vector_length = 32' on that offloaded region or "
    "'-fopenacc-dim=::32'."
)
THREADS = (
    "The Nvidia accelerator has insufficient resources to launch 'main._omp_fn.0' with num_workers = 32 and "
    "vector_length = 64; recompile the program with 'num_workers = x and vector_length = y' on that offloaded region "
    "or '-fopenacc-dim=:x:y' where x * y <= 1024."
)


@pytest.mark.parametrize(
    ("env", "target", "text"),
    [
        ({}, "intelmic", "device 0 (intelmic): not usable in a forked child of a program that has used devices"),
        pytest.param(
            *(GPU, "nvptx-none", "device 0 (nvptx): not usable in a forked child of a program that has used devices"),
            marks=has_compiler,
        ),
        (
            *(VIRTUAL, "intelmic"),
            'device plugin "python": not usable in a forked child of a program that has used devices',
        ),
    ],
    ids=["intelmic", "nvptx", "python"],
)
def test_a_forked_child(bin_folder: Path, tmp_path: Path, env: dict[str, str], target: str, text: str) -> None:
    """Its region runs on the host, and the parent's device goes on."""
    tools = Tools(bin_folder, tmp_path)
    tools.write("forks.c", FORKS)
    tools.ok("gompcc", "-fopenmp", f"-foffload={target}", "forks.c", "-o", "forks")
    done = tools.run("./forks", env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 2\n", f"\nlibgomp: {text}\n")


@has_compiler
def test_more_workers_than_a_block_has_room_for(bin_folder: Path, tmp_path: Path) -> None:
    tools = Tools(bin_folder, tmp_path)
    tools.write("wide.c", WIDE)
    tools.ok("gompcc", "-O1", "-w", "-fopenacc", "-foffload=nvptx-none", "wide.c", "-o", "wide")
    assert tools.ok("./wide", "4", env=GPU) == "7\n"
    for workers, text in ((16, BARRIERS), (32, THREADS)):
        done = tools.run("./wide", str(workers), env=GPU)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"\nlibgomp: {text}\n\n")


def test_a_signal_that_another_process_sends(bin_folder: Path, tmp_path: Path) -> None:
    """Its region is named, though the kernel gives the signal to another thread."""
    tools = Tools(bin_folder, tmp_path)
    tools.write("sent.c", SENT)
    tools.ok("gompcc", "-fopenmp", "sent.c", "-o", "sent")
    done = tools.run("./sent", env={"GOMPY_PLUGINS": "intelmic"})
    what = f"signal 11 (Segmentation fault), sent by process {done.stdout.strip()}"
    assert done.returncode == 1
    assert done.stderr == f"\nlibgomp: device 0 (intelmic): region main._omp_fn.1: {what}\n"


def test_more_than_the_device_has(bin_folder: Path, tmp_path: Path) -> None:
    tools = Tools(bin_folder, tmp_path)
    tools.write("full.c", FULL)
    tools.ok("gompcc", "-fopenmp", "full.c", "-o", "full")
    done = tools.run("./full", env={"GOMPY_PLUGINS": "intelmic", "OFFLOAD_EMUL_MEM": "16M"})
    first, second = re.sub("0x[0-9a-f]+", "0x…", done.stderr).split("\n\n")
    assert done.returncode == 1
    assert first == "\nlibgomp: device 0 (intelmic): no 67108864 bytes left of 16777216"
    assert second == (
        "libgomp: device memory allocation fail: a block of 67108864 bytes, the largest object in it is "
        "[0x…..0x…) of 67108864 bytes\n"
    )
