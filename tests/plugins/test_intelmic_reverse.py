"""Reverse offload on the emulated device: `target device (ancestor: 1)` in a region is run by the host."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_tools import Tools, make_wrappers, needs

PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "reverse.c"
LINES = "host 1\ndevice 2\nhost 3\ndevice 4\nhost 5, 5280\n200001061 6121 211407, 6\n40, 120 calls\n"


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """With a gcc that knows the clause, and no way back to the host."""
    made = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    made.env |= {"GOMPY_CC": "gcc-14", "GOMPY_CXX": "g++-14", "GOMPY_FC": "gfortran-14"}
    made.env |= {"OMP_TARGET_OFFLOAD": "mandatory"}
    return made


@needs("gcc-14")
@pytest.mark.parametrize("words", [["-O0"], ["-O2"], ["-g", "-O2", "-flto"]], ids=" ".join)
def test_regions_call_the_host(tools: Tools, words: list[str]) -> None:
    """Output in order; data of all kinds; six threads of three teams; a nowait region; exit in the host's function."""
    tools.ok("gompcc", *words, "-fopenmp", str(PROGRAM), "-o", "program")
    assert tools.ok("./program") == LINES
    assert tools.ok("./program", env={"OFFLOAD_EMUL_NUM": "2", "OMP_DEFAULT_DEVICE": "1"}) == LINES
    assert tools.ok("taskset", "-c", "0", "./program") == LINES
    done = tools.run("./program", "x")
    assert (done.returncode, done.stdout) == (7, "host 1\ndevice 2\nhost 3\n")


@needs("gcc-14")
def test_what_only_the_host_has(tools: Tools) -> None:
    """The host's function calls an object without device code; two units have regions of one name."""
    unit = """
    #pragma omp requires reverse_offload
    extern int plain (int);
    static int work (int x)
    {
      #pragma omp target map(tofrom: x)
      {
        #pragma omp target device(ancestor: 1) map(always, tofrom: x)
        x = plain (x) + NUMBER;
      }
      return x;
    }
    int one_NUMBER (int x) { return work (x); }
    """
    for number in ("1", "2"):
        tools.write(f"unit{number}.c", unit.replace("NUMBER", number))
    tools.write("plain.c", '#include <stdlib.h>\nint plain (int x) { return getenv ("PATH") ? 10 * x : 0; }\n')
    tools.write(
        "main.c",
        "#include <stdio.h>\n#pragma omp requires reverse_offload\nint one_1 (int), one_2 (int);\n"
        'int main (void) { printf ("%d %d\\n", one_1 (3), one_2 (4)); }\n',
    )
    tools.ok("gcc-14", "-O2", "-c", "plain.c")
    tools.ok("gompcc", "-O2", "-fopenmp", "main.c", "unit1.c", "unit2.c", "plain.o", "-o", "program")
    assert tools.ok("./program") == "31 42\n"


@needs("gfortran-14")
def test_fortran(tools: Tools) -> None:
    """An allocatable of the host's, an array and a component of the region's own, output in order."""
    tools.write(
        "program.f90",
        """
program program
  implicit none
  !$omp requires reverse_offload
  type point
    integer :: x, y(2)
  end type point
  integer, allocatable :: a(:)
  integer :: i, total
  a = [(i, i = 1, 6)]
  total = 0
  !$omp target map(tofrom: a, total)
  block
    integer :: own(3)
    type(point) :: p
    own = a(2:4)
    p%x = 1
    p%y = [2, 3]
    print '(a)', 'device'
    !$omp target device(ancestor: 1) map(tofrom: own, p%y) map(always, tofrom: a)
      print '(a,11i3)', 'host', own, p%y, a
      own = own * 10
      p%y = p%y + 1
      a(1) = 7
    !$omp end target
    total = sum (own) + p%x + sum (p%y) * 1000 + a(1) * 100000
  end block
  !$omp end target
  print '(i0,6i3)', total, a
end program program
""",
    )
    tools.ok("gompfortran", "-O1", "-fopenmp", "program.f90", "-o", "program")
    assert tools.ok("./program") == "device\nhost  2  3  4  2  3  1  2  3  4  5  6\n707091  7  2  3  4  5  6\n"
