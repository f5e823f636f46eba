"""Output of host and device comes in the order of the program, when stdout is a pipe or a file too."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from nvptx_tools import has_compiler

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

C = """
#include <stdio.h>
int main (void)
{
  for (int i = 0; i < 3; i++)
    {
      printf ("host %d\\n", i);
      #pragma omp target firstprivate (i)
      printf ("device %d\\n", i);
    }
  printf ("partial ");
  #pragma omp target nowait
  printf ("line\\n");
  #pragma omp taskwait
  printf ("end\\n");
}
"""
C_OUTPUT = "host 0\ndevice 0\nhost 1\ndevice 1\nhost 2\ndevice 2\npartial line\nend\n"

CXX = """
#include <iostream>
#include <ostream>
#pragma omp declare target
#include <stdio.h>
#pragma omp end declare target
int main ()
{
  std::cout << "host\\n";
  #pragma omp target
  puts ("device");
  std::cout << "end\\n";
}
"""

FORTRAN = """
integer function inside ()
  inside = 1
  !$omp target map(tofrom: inside)
  inside = inside + 1
  !$omp end target
end function
program main
  integer, external :: inside
  integer :: i
  do i = 1, 2
    print '(a, i0)', 'host ', i
    !$omp target firstprivate(i)
    print '(a, i0)', 'device ', i
    !$omp end target
  end do
  print '(a, i0)', 'inside ', inside ()
  !$omp target
  print '(a)', 'last'
  !$omp end target
  print '(a)', 'end'
end program
"""
FORTRAN_OUTPUT = "host 1\ndevice 1\nhost 2\ndevice 2\ninside 2\nlast\nend\n"

ACC = """
#include <stdio.h>
int main (void)
{
  printf ("host\\n");
  #pragma acc parallel async
  printf ("device\\n");
  #pragma acc wait
  printf ("end\\n");
}
"""

CASES = {
    "c": ("gompcc", ".c", C, C_OUTPUT, "-fopenmp"),
    "cxx": ("gompc++", ".cc", CXX, "host\ndevice\nend\n", "-fopenmp"),
    "fortran": ("gompfortran", ".f90", FORTRAN, FORTRAN_OUTPUT, "-fopenmp"),
    "acc": ("gompcc", ".c", ACC, "host\ndevice\nend\n", "-fopenacc"),
}


def output(tmp_path: Path, name: str, *options: str, where: str = "pipe", **env: str) -> str:
    """What a program writes to its standard output, a pipe or a file."""
    compiler, suffix, text, _, model = CASES[name]
    source = tmp_path / f"prog{suffix}"
    source.write_text(text)
    subprocess.run([BIN / compiler, model, "-O1", *options, source, "-o", tmp_path / "prog"], check=True)
    environment = os.environ | {"OMP_TARGET_OFFLOAD": "mandatory"} | env
    if where == "pipe":
        done = subprocess.run([tmp_path / "prog"], stdout=subprocess.PIPE, text=True, env=environment, timeout=60)
        assert done.returncode == 0
        return done.stdout
    with (tmp_path / "out").open("w") as file:
        subprocess.run([tmp_path / "prog"], stdout=file, check=True, env=environment, timeout=60)
    return (tmp_path / "out").read_text()


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("name", CASES)
def test_in_the_order_of_the_program(tmp_path: Path, name: str) -> None:
    """C's buffer, C++'s streams on it, libgfortran's unit 6; a launch inside of a print statement does not hang."""
    assert output(tmp_path, name, "-foffload=intelmic", ACC_DEVICE_TYPE="intelmic") == CASES[name][3]


def test_in_a_file(tmp_path: Path) -> None:
    """A file is written by both processes at one offset."""
    assert output(tmp_path, "c", "-foffload=intelmic", where="file") == C_OUTPUT


@has_compiler
def test_on_the_emulated_gpu(tmp_path: Path) -> None:
    """The driver prints into the host's own stdout."""
    assert output(tmp_path, "c", "-foffload=nvptx-none", GOMPY_CUDA="emulated") == C_OUTPUT
