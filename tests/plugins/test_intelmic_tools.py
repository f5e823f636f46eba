"""Debuggers and profilers on the emulated device: gdb sees a region's variables, perf its name."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN
from test_intelmic_programs import BIN, build, run

from gompy.objects.elf import SHT_NOBITS, STT_FUNC, open_object

if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)
needs_gdb = pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")

C = r"""#pragma omp declare target
__attribute__ ((noinline)) static int twice (int value)
{
  int result = 2 * value;
  return result;
}
#pragma omp end declare target
int main (void)
{
  int a[4] = { 10, 11, 12, 13 }, n = 4, sum = 0;
#pragma omp target map(tofrom: a, sum) firstprivate(n)
  {
    int local = 0;
    for (int i = 0; i < n; i++)
      local += a[i];
    sum = twice (local);
  }
  return sum != 92;
}
"""
CXX = r"""struct Work
{
  int weight;
  int run (int *data, int count)
  {
    int total = 0, w = weight;
#pragma omp target map(to: data[:count]) map(tofrom: total)
    {
      for (int i = 0; i < count; i++)
        total += data[i];
      total += w;
    }
    return total;
  }
};
int main ()
{
  int data[4] = { 1, 2, 3, 4 };
  auto more = [&] (int by) {
    int out = 0;
#pragma omp target map(from: out)
    {
      int inner = by + 1;
      out = inner;
    }
    return out;
  };
  return Work { 100 }.run (data, 4) + more (5) != 116;
}
"""
FORTRAN = """program main
  implicit none
  integer :: a(4)
  a = [10, 20, 30, 40]
  call work (a)
contains
  subroutine work (b)
    integer, intent(inout) :: b(4)
    integer :: i, local
    !$omp target map(tofrom: b) private(local)
    local = 0
    do i = 1, 4
      local = local + b(i)
    end do
    b(1) = local
    !$omp end target
  end subroutine
end program
"""


def debug(program: Path, *commands: str) -> str:
    """What gdb prints for the commands in the device process; ``line`` of the source: a breakpoint there."""
    script = program.parent / "script"
    script.write_text("set debuginfod enabled off\nset breakpoint pending on\n" + "\n".join(commands) + "\n")
    done = run(
        program,
        OFFLOAD_EMUL_RUN=f"gdb -q -nx -batch -x {shlex.quote(str(script))} --args",
        TMPDIR=str(program.parent),
        LC_ALL="C",
    )
    return done.stdout + done.stderr


@needs_gdb
def test_gdb_names_variables_of_a_region(tmp_path: Path) -> None:
    """A local variable, what is mapped, an element of it, what is private, and a function's argument."""
    shown = debug(
        build(tmp_path, C, "-O0"),
        *("break prog.c:16", "break twice", "run", "print local", "print a", "print a[2]", "print n", "print sum"),
        *("continue", "backtrace 2", "print value"),
    )
    for text in ("$1 = 46\n", "$2 = {10, 11, 12, 13}\n", "$3 = 12\n", "$4 = 4\n", "$5 = 0\n", "$6 = 46\n"):
        assert text in shown, shown
    assert re.search(r"#0 +twice \(value=46\) at .*prog\.c:4\n#1 .* in main\._omp_fn.* at .*prog\.c:16\n", shown), shown


@pytest.mark.slow(sample=1)
@needs_gdb
@pytest.mark.parametrize("options", [["-O0", "-gz"], ["-O2", "-g1", "-gdwarf-4"]])
def test_gdb_in_methods_and_lambdas(tmp_path: Path, options: list[str]) -> None:
    """Regions in what is inlined everywhere, as well: names, lines and mapped variables."""
    shown = debug(
        build(tmp_path, CXX, *options, name="prog.cc"),
        *("break prog.cc:11", "break prog.cc:24", "run", "print data[2]", "print count", "print w"),
        *("continue", "backtrace 1", "print by"),
    )
    for text in ("$1 = 3\n", "$2 = 4\n", "$3 = 100\n", "$4 = 5\n"):
        assert text in shown, shown
    assert re.search(r"#0 .*main.*_omp_fn.* at .*prog\.cc:24\n", shown), shown


@needs_gdb
def test_gdb_in_contained_procedures(tmp_path: Path) -> None:
    """Fortran: an array of the caller's, by its own indices."""
    shown = debug(build(tmp_path, FORTRAN, "-O2", name="prog.f90"), "break prog.f90:15", "run", "print b(2)", "bt 1")
    assert "$1 = 20\n" in shown, shown
    assert re.search(r"#0 .*work\.0\._omp_fn.* at .*prog\.f90:15\n", shown), shown


def test_dropped_functions_take_no_room(tmp_path: Path) -> None:
    """What gives a region's variables their scope is addresses only: no byte of host code is in the image."""
    program = build(tmp_path, "static int filler (int x) { volatile int y = x; return y; }\n" + C, "-O0")
    done = run(program, OFFLOAD_EMUL_IMAGES=str(tmp_path))
    assert done.returncode == 0, done.stderr
    image = open_object(str(next(tmp_path.glob("*.so"))))
    places = {s.name: image.sections[s.shndx] for s in image.symbols() if s.type == STT_FUNC}
    assert places["main"].type == SHT_NOBITS
    assert next(s for name, s in places.items() if "_omp_fn" in name).name == ".text"


def test_images_stay_for_profilers(tmp_path: Path) -> None:
    """OFFLOAD_EMUL_IMAGES: the device has mapped files by name, with symbols, that are there after the run."""
    program = build(tmp_path, C, "-O2")
    folder = tmp_path / "images with a blank"
    folder.mkdir()
    for _ in range(2):
        done = run(program, OFFLOAD_EMUL_IMAGES=str(folder), OFFLOAD_EMUL_NUM="2", OMP_DEFAULT_DEVICE="1")
        assert (done.returncode, done.stderr) == (0, "")
    (file,) = folder.iterdir()
    assert file.name == "prog.1-0.so"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "main._omp_fn.0" in {s.name for s in open_object(str(file)).symbols()}
    notes = subprocess.run(["readelf", "-n", file], capture_output=True, text=True, check=True).stdout
    assert "Build ID:" in notes


def test_images_folder_that_is_not_there(tmp_path: Path) -> None:
    """One line, and the program runs."""
    done = run(build(tmp_path, C, "-O2"), OFFLOAD_EMUL_IMAGES=str(tmp_path / "none"))
    assert done.returncode == 0
    assert re.search(
        r"OFFLOAD_EMUL_IMAGES=.*/none: cannot write the image of prog there: No such file or directory\n", done.stderr
    ), done.stderr
    assert done.stderr.strip().count("\n") == 0


def perf_works(folder: Path) -> bool:
    """Whether perf is installed and may count here."""
    if shutil.which("perf") is None:
        return False
    command = ["perf", "record", "-q", "-o", folder / "probe", "true"]
    return not subprocess.run(command, capture_output=True, timeout=60, check=False).returncode


@pytest.mark.slow
def test_perf_names_regions(tmp_path: Path) -> None:
    """A profile of the program and its device, read when both have ended."""
    if not perf_works(tmp_path):
        pytest.skip("perf is not installed, or may not count here")
    program = build(
        tmp_path,
        """int main (void)
{
  double s = 0;
#pragma omp target map(tofrom: s)
  for (long i = 1; i < 100000000; i++)
    s += 1.0 / i;
  return s < 1;
}
""",
        "-O2",
    )
    data = tmp_path / "perf.data"
    with_images = [
        "env",
        f"HOME={tmp_path}",
        f"OFFLOAD_EMUL_IMAGES={tmp_path}",
        "perf",
        "record",
        "-q",
        "-o",
        data,
        program,
    ]
    subprocess.run(with_images, check=True, capture_output=True, timeout=120)
    report = subprocess.run(
        ["perf", "report", "-i", data, "--stdio", "-q"], check=True, capture_output=True, text=True, timeout=120
    ).stdout
    assert re.search(r"prog\.0-0\.so +\[\.\] main\._omp_fn\.0", report), report
