"""The device that shares the program's memory (GOMPY_SHARED_MEMORY), on programs of stock gcc without device code."""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_tools import Run, compile_program, run

PROGRAM = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef MASK
extern void GOMP_offload_register_ver (unsigned, const void *, int, const void *);
static struct { unsigned long mask; void *data[2]; } masked = {MASK};
static void *table[6];
__attribute__ ((constructor)) static void reg (void) { GOMP_offload_register_ver (0x30000, table, 6, &masked); }
#endif
static int global = 1;
static int where (void) { return omp_is_initial_device () ? -1 : omp_get_device_num (); }
static int limit (void) { return omp_get_thread_limit (); }
int main (void)
{
  int *heap = calloc (8, sizeof *heap), mapped = 1, own = 2, seen[6] = {0};
  printf ("%d %d %d\n", omp_get_num_devices (), omp_get_default_device (), where ());
  #pragma omp target map(to: mapped, global) firstprivate(own, heap)
  {
    heap[0] = own++ + where ();
    mapped = 5;
    global = 6;
    #pragma omp parallel num_threads(3)
    heap[1 + omp_get_thread_num ()] = where () + 10;
    #pragma omp parallel num_threads(2)
    #pragma omp single
    for (int i = 0; i < 3; i++)
      #pragma omp task
      heap[4 + i] = where () + 20;
    omp_set_default_device (7);
    heap[7] = omp_get_default_device ();
  }
  for (int i = 0; i < 8; i++)
    printf ("%d ", heap[i]);
  printf ("%d %d %d\n", mapped, own, global);
  #pragma omp target teams num_teams(2) thread_limit(3) map(seen)
  {
    seen[omp_get_team_num ()] = where () + omp_get_num_teams ();
    seen[2 + omp_get_team_num ()] = limit ();
  }
  #pragma omp target nowait map(seen)
  seen[4] = where () + 30;
  #pragma omp taskwait
  #pragma omp target device(omp_get_initial_device ()) map(seen)
  seen[5] = where ();
  printf ("%d %d %d %d %d %d, %d %d\n", seen[0], seen[1], seen[2], seen[3], seen[4], seen[5], where (),
          omp_target_is_present (heap, 0));
}
"""


def go(folder: Path, *words: str, **environment: str) -> Run:
    """Build and run."""
    return run(folder, compile_program(folder, PROGRAM, *words), plugins=None, **environment)


@pytest.mark.parametrize("mask", ["", "0x220", "0x600", "0x2b0"])
def test_regions_share_memory(tmp_path: Path, mask: str) -> None:
    """Every thread of a region knows where it is; maps are the variable itself, firstprivate is a copy."""
    words = [f"-DMASK={mask}"] if mask else []
    done = go(tmp_path, *words, GOMPY_SHARED_MEMORY="1", OMP_TARGET_OFFLOAD="mandatory")
    assert (done.rc, done.out) == (0, "1 0 -1\n2 10 10 10 20 20 20 0 5 2 6\n2 2 3 3 30 -1, -1 1\n"), done.err
    why = "number 1 is the host: the only device is number 0"
    assert done.stats.startswith(f"regions: 3 on device 0 (shared), 1 on the host: {why}")


def test_without_the_request(tmp_path: Path) -> None:
    """One line says why no device fits, and how to have one; a value that is none is told."""
    done = go(tmp_path, "-DMASK=0x620", GOMPY_SHARED_MEMORY="0")
    assert done.rc == 0 and done.out.startswith("0 0 -1\n")
    text = (
        "'omp requires unified_shared_memory, self_maps' is not fulfilled there; GOMPY_SHARED_MEMORY=1 gives a device"
    )
    assert done.err.count(text) == 1
    done = go(tmp_path, GOMPY_SHARED_MEMORY="yes")
    assert done.rc == 0 and "GOMPY_SHARED_MEMORY=yes: neither 0 nor 1; ignored" in done.err
