"""omp_target_is_accessible: a device's own memory is accessible there, as GCC 16 has it."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, has_all, make_wrappers, needs
from nvptx_tools import has_compiler

pytestmark = [has_all, needs("gcc")]
PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "accessible.c"
NVPTX = pytest.param("nvptx-none", marks=[has_compiler, has_driver, has_executor])


@pytest.mark.parametrize("target", ["intelmic", NVPTX])
def test_a_devices_memory_is_accessible_there(tmp_path: Path, target: str) -> None:
    """To its block's end; the host's memory is not, NULL is nowhere."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "mandatory"}
    tools.ok("gompcc", "-fopenmp", f"-foffload={target}", str(PROGRAM), "-o", "program")
    assert tools.ok("./program") == "1 1 0 1 0 0\n"


def _knows_default() -> bool:
    """Whether the libgomp that programs find is GCC 15's or newer."""
    try:
        return hasattr(ctypes.CDLL("libgomp.so.1"), "GOMP_interop")
    except OSError:
        return False


@pytest.mark.skipif(not _knows_default(), reason="libgomp.so.1 is older than gcc 15: there is no omp_default_device")
def test_the_default_device_may_be_the_host(tmp_path: Path) -> None:
    """omp_default_device (-5) in routines about memory, where the program has made the host the default."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.write(
        "program.c",
        r"""
        #include <omp.h>
        #include <stdio.h>
        extern int omp_target_is_accessible (const void *, size_t, int);
        int main (void)
        {
          int x = 0;
          omp_set_default_device (omp_get_initial_device ());
          int *p = omp_target_alloc (sizeof x, -5);
          printf ("%d %d %d\n", p != NULL, omp_target_is_present (&x, -5), omp_target_is_accessible (&x, 4, -5));
          omp_target_free (p, -5);
          #pragma omp target
          ;
        }
        """,
    )
    tools.ok("gompcc", "-fopenmp", "program.c", "-o", "program")
    assert tools.ok("./program") == "1 1 1\n"


@pytest.mark.parametrize("target", ["intelmic", NVPTX])
def test_a_link_variable_is_present(tmp_path: Path, target: str) -> None:
    """Without a map, too; another variable is not."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"GOMPY_CUDA": "emulated", "OMP_TARGET_OFFLOAD": "mandatory"}
    tools.write(
        "program.c",
        r"""
        #include <omp.h>
        #include <stdio.h>
        int late[4], other[4];
        #pragma omp declare target link (late)
        int main (void)
        {
          #pragma omp target map(tofrom: late)
          late[1] = 5;
          printf ("%d %d\n", omp_target_is_present (late, 0), omp_target_is_present (other, 0));
        }
        """,
    )
    tools.ok("gompcc", "-fopenmp", f"-foffload={target}", "program.c", "-o", "program")
    assert tools.ok("./program") == "1 0\n"
