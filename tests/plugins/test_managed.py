"""ompx_gnu_managed_mem_alloc and ompx_gnu_managed_mem_space of GCC 16, over every libgomp."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, has_all, make_wrappers, needs
from nvptx_tools import has_compiler

pytestmark = [has_all, needs("gcc")]
PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "managed.c"
NVPTX = pytest.param("nvptx-none", marks=[has_compiler, has_driver, has_executor])


@pytest.mark.parametrize("target", ["intelmic", NVPTX])
def test_managed_memory(tmp_path: Path, target: str) -> None:
    """Each routine; at the end a block that is freed while the host is the default device, in libgomp's words."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "mandatory"}
    tools.ok("gompcc", "-fopenmp", f"-foffload={target}", str(PROGRAM), "-o", "program")
    done = tools.run("./program")
    assert (done.returncode, done.stdout) == (1, "good\n"), done.stdout + done.stderr
    message = r"attempted to free managed memory at 0x[0-9a-f]+, but the default device is set to the host device"
    assert re.search(f"^libgomp: {message}$", done.stderr.strip(), re.MULTILINE)


SHARED = """
#include <omp.h>
#include <stdio.h>
int main (void)
{
  int *p = omp_alloc (4000, (omp_allocator_handle_t) 201), there = 0;
  p[999] = 41;
  #pragma omp target is_device_ptr (p) map (from: there)
  { p[999]++; there = !omp_is_initial_device (); }
  printf ("%d %d\\n", p[999], there);
  omp_free (p, (omp_allocator_handle_t) 201);
}
"""


@pytest.mark.parametrize(("shared", "there"), [("1", 1), ("0", 0)])
def test_where_the_device_is_the_program_or_the_host(tmp_path: Path, shared: str, there: int) -> None:
    """A device that shares the program's memory, and no device: malloc's memory serves."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.write("program.c", SHARED)
    tools.ok("gompcc", "-fopenmp", "program.c", "-o", "program")
    env = {"GOMPY_SHARED_MEMORY": "1"} if shared == "1" else {"OMP_TARGET_OFFLOAD": "disabled"}
    assert tools.ok("./program", env=env) == f"42 {there}\n"
