"""`declare target indirect` on the emulated device: jumps at the host's addresses of functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_tools import Tools, make_wrappers, needs

PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "indirect.c"


@needs("gcc-14")
@pytest.mark.parametrize("level", ["-O0", "-Os", "-O2"])
def test_calls_by_the_hosts_pointers(tmp_path: Path, level: str) -> None:
    """Those functions are called, wherever they lie; any other call is told as one of the host's code."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"GOMPY_CC": "gcc-14", "OMP_TARGET_OFFLOAD": "mandatory"}
    tools.ok("gompcc", level, "-fopenmp", str(PROGRAM), "-o", "program")
    assert tools.ok("./program") == "56\n"
    done = tools.run("./program", "x")
    assert done.returncode == 1 and "a call of the host's code at" in done.stderr


MAPPED = """
#pragma omp declare target
extern void *GOMP_target_map_indirect_ptr (void *) __attribute__ ((weak));
#pragma omp end declare target
int main (void)
{
  char here;
  void *before = &here, *after = 0;
  #pragma omp target map(to: before) map(from: after)
  after = GOMP_target_map_indirect_ptr (before);
  return before != after;
}
"""


def test_accelerator_compilers_find_the_hosts_pointers_right(tmp_path: Path) -> None:
    """GCC 14's asks before an indirect call; libgomp's answer is for other devices, and falls off its end."""
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.env |= {"OMP_TARGET_OFFLOAD": "mandatory"}
    (tmp_path / "p.c").write_text(MAPPED)
    tools.ok("gompcc", "-O2", "-fopenmp", "p.c", "-o", "program")
    assert tools.run("./program").returncode == 0
