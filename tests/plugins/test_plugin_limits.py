"""What plugins say of what a device cannot do: after a fork, and of launches that are too large."""

from __future__ import annotations

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
