"""Does an accelerator compiler understand the host compiler's objects?  A probe object and small programs tell."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gompy.abi.gcc import REQUIRES_FILE
from gompy.accel import tags
from gompy.accel.errors import AccelError
from gompy.accel.host import Host
from gompy.objects.elf import ElfError, open_object
from gompy.objects.entrynames import table_names


def device_command(host: Host, lto1: Path, objects: list[Path], output: Path) -> list[str]:
    """The host's gcc, made to run another lto1: -B finds it first."""
    words = [*host.command, f"-B{lto1.parent}/", "-xlto", "-c", "-O2", "-fopenmp", "-fPIC", "-foffload-abi=lp64"]
    return [*words, *map(str, objects), "-o", str(output)]


def device_object(host: Host, lto1: Path, objects: list[Path], output: Path) -> None:
    """Compile the offload streams of some objects.  AccelError with the compiler's own first line if that fails."""
    env = {**os.environ, REQUIRES_FILE: f"{output}.requires"}
    done = subprocess.run(device_command(host, lto1, objects, output), env=env, capture_output=True, text=True)
    if done.returncode:
        raise AccelError(f"{lto1}: {meaning(done.stderr)}")


def meaning(text: str) -> str:
    """What a failed lto1 says, with the cause where it is known."""
    line = tags.first_line(text)
    for needle in ("LTO_tags out of range", "bytecode stream: expected tag", "is not in the expected range"):
        if needle in text:
            return (
                f"misreads the host compiler's streams ({line}): the tree codes of the two differ, "
                "that is, their sources had other front ends or are of other versions"
            )
    return line


def check(host: Host, lto1: Path) -> None:
    """Compile the probe object; its tables must come out in the host's order.  AccelError if they do not."""
    with tempfile.TemporaryDirectory(prefix="gompy-") as name:
        folder = Path(name)
        plain = tags.probe_object(host, folder)
        output = folder / "device.o"
        device_object(host, lto1, [plain], output)
        try:
            expected, found = table_names(open_object(str(plain))), table_names(open_object(str(output)))
        except ElfError as error:
            raise AccelError(f"cannot read {error}") from None
    if found != expected:
        raise AccelError(f"{lto1}: the probe object's tables are {expected} on the host, {found} on the device")


@dataclass(frozen=True)
class Program:
    """A test program: its language's wrapper, plain compiler and source; it must print ``expected``."""

    title: str
    wrapper: str
    variable: str
    compiler: str
    suffix: str
    text: str
    expected: str
    libraries: tuple[str, ...] = ()


C_PROGRAM = """\
#include <stdio.h>
#include <omp.h>
int table[64];
#pragma omp declare target link(table)
#pragma omp declare target
int scale = 3;
int on_host(void) { return 1; }
int on_device(void) { return 0; }
#pragma omp declare variant(on_device) match(device={kind(nohost)})
int where(void) { return on_host(); }
#pragma omp end declare target
int main(void)
{
  int sum = 0, host = 1, chosen = 1;
  for (int i = 0; i < 64; i++) table[i] = i;
  #pragma omp target map(tofrom: sum, host, chosen) map(to: table)
  {
    host = omp_is_initial_device();
    chosen = where();
    #pragma omp parallel for reduction(+: sum)
    for (int i = 0; i < 64; i++) sum += scale * table[i];
  }
  printf("%d %d %d\\n", sum, host, chosen);
}
"""
CXX_PROGRAM = """\
#include <cstdio>
#include <omp.h>
#pragma omp declare target
struct Shape { virtual int area() const { return 1; } virtual ~Shape() {} };
struct Square : Shape { int side; Square(int s) : side(s) {} int area() const override { return side * side; } };
template <typename T> T twice(T value) { return value + value; }
#pragma omp end declare target
int main()
{
  int area = 0, host = 1;
  #pragma omp target map(from: area, host)
  {
    Square square(5);
    const Shape &shape = square;
    area = twice(shape.area()) + 1;
    host = omp_is_initial_device();
  }
  std::printf("%d %d\\n", area, host);
}
"""
FORTRAN_PROGRAM = """\
program test
  use omp_lib
  implicit none
  integer :: i, total
  logical :: host
  integer, allocatable :: values(:)
  allocate (values(100))
  values = [(i, i = 1, 100)]
  total = 0
  host = .true.
  !$omp target teams distribute parallel do reduction(+: total) map(tofrom: total) map(to: values)
  do i = 1, 100
    total = total + values(i)
  end do
  !$omp target map(from: host)
  host = omp_is_initial_device()
  !$omp end target
  if (host) then
    print '(i0,a)', total, ' 1'
  else
    print '(i0,a)', total, ' 0'
  end if
end program
"""
PROGRAMS = (
    Program("C: declare target link, declare variant", "gompcc", "GOMPY_CC", "gcc", ".c", C_PROGRAM, "6048 0 0"),
    Program("C++: templates, virtual functions", "gompc++", "GOMPY_CXX", "g++", ".cc", CXX_PROGRAM, "51 0"),
    Program("Fortran: allocatables, teams", "gompfortran", "GOMPY_FC", "gfortran", ".f90", FORTRAN_PROGRAM, "5050 0"),
)


def compiler_of(program: Program, host: Host) -> str:
    """The plain compiler of the same version for a program's language; "" if there is none."""
    for name in (f"{program.compiler}-{host.major}", program.compiler):
        path = shutil.which(name)
        if path:
            done = subprocess.run([path, "-dumpfullversion"], capture_output=True, text=True)
            if done.stdout.strip() == host.version:
                return path
    return ""


def programs(host: Host, wrapper: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Compile each program with the plain compiler, link it with ours, run it: pairs (title, what is wrong or "").

    ``wrapper``: how each of gompcc, gompc++, gompfortran is called.  A program whose compiler is missing is left out.
    """
    env = {**os.environ, "GOMPY_ACCEL": "true", "OMP_TARGET_OFFLOAD": "mandatory", "LC_ALL": "C"}
    env["OMP_DEFAULT_DEVICE"] = "0"
    for program in PROGRAMS:
        compiler = compiler_of(program, host)
        if not compiler:
            continue
        with tempfile.TemporaryDirectory(prefix="gompy-") as name:
            source, binary = Path(name) / f"test{program.suffix}", Path(name) / "test"
            source.write_text(program.text)
            steps = (
                [compiler, "-O2", "-fopenmp", "-c", str(source), "-o", f"{name}/test.o"],
                [*wrapper[program.wrapper], "-fopenmp", f"{name}/test.o", "-o", str(binary)],
                [str(binary)],
            )
            wrong, output = "", ""
            for step in steps:
                try:
                    done = subprocess.run(
                        step,
                        env=env | {program.variable: compiler},
                        capture_output=True,
                        text=True,
                        timeout=60,
                        cwd=name,
                    )
                except (OSError, subprocess.SubprocessError) as error:
                    wrong = str(error)
                    break
                if done.returncode:
                    wrong = f"{Path(step[0]).name}: {tags.first_line(done.stderr)}"
                    break
                output = done.stdout.strip()
            if not wrong and output != program.expected:
                wrong = f"printed '{output}' instead of '{program.expected}'"
            yield program.title, wrong
