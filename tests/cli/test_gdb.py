"""gdb with a program and its device together: ``gompy run --under gdb``, ``info offload``, ``offload print``."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from cuda_tools import needs_cuda_compiler
from driver_tools import ROOT, Tools, has_all, needs
from llvm_tools import LIBDIR, TARGET, needs_clang
from nvptx_tools import has_compiler

pytestmark = [has_all, needs("gdb")]


@pytest.fixture(scope="module")
def built(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Tools:
    tools = Tools(bin_folder, tmp_path_factory.mktemp("gdb"))
    # Without HOME gdb warns that it has no place for its cache.
    tools.env |= {"LC_ALL": "C", "DEBUGINFOD_URLS": "", "XDG_CACHE_HOME": str(tools.work / "cache")}
    shutil.copy(ROOT / "examples/diagnosis/halves.c", tools.work)
    tools.ok("gompcc", "-g", "-fopenmp", "halves.c", "-o", "halves")
    return tools


def gdb(tools: Tools, *commands: str, program: str = "./halves", options: tuple[str, ...] = ()) -> str:
    """What gdb prints for a script; addresses and process numbers as words."""
    tools.write("script", "\n".join(("set width 0", *commands)) + "\n")
    done = tools.run("gompy", "run", *options, "--under", "gdb -q -nx -batch -x script", program)
    text = re.sub(r"0x[0-9a-f]+", "ADDRESS", done.stdout + done.stderr)
    return re.sub(r"process [0-9]+", "process PID", text)


def parts(shown: str) -> list[str]:
    """What stands between the lines ``---``, three pieces; all of it where a command failed and ended the script."""
    pieces = shown.split("---\n")
    assert len(pieces) == 3, shown
    return pieces


@pytest.mark.slow
def test_a_region_with_its_variables(built: Tools) -> None:
    shown = gdb(built, "offload run", "info locals", "backtrace 1", "continue")
    assert '2.3 "offload_target_" hit Breakpoint 1.' in shown, shown
    assert "17\t    double local = 0;\n" in shown
    assert "data = {8, 16, 24, 32}\nsum = 0\nn = 4\n" in shown
    assert re.search(r"#0 +main\._omp_fn\.0 \(\) at .*halves\.c:17\n", shown)
    assert "sum 40, rounds 10\n" in shown and "[Inferior 1 (process PID) exited normally]" in shown


def test_a_region_without_maps(built: Tools) -> None:
    """Where nothing is set up gdb is in the body at once: none of it has run.  GCC 16 has that with maps, too."""
    built.write(
        "count.c",
        "int count;\n#pragma omp declare target (count)\nint main (void)\n{\n#pragma omp target\n  {\n"
        "    count = 3;\n    count++;\n  }\n  return 0;\n}\n",
    )
    built.ok("gompcc", "-g", "-fopenmp", "count.c", "-o", "count")
    shown = gdb(built, "offload run", "print count", "next", "print count", program="./count")
    assert "7\t    count = 3;\n$1 = 0\n8\t    count++;\n$2 = 3\n" in shown, shown


@pytest.mark.slow
def test_a_region_of_optimized_code(built: Tools) -> None:
    """One statement, at which its function begins: gdb stays there.  The host's pointer has no value any more."""
    built.write(
        "gone.c",
        "#include <stdlib.h>\nint main (void)\n{\n  double *v = calloc (8, sizeof *v), sum = 0;\n"
        "#pragma omp target map(tofrom: v[0:8], sum)\n  sum = v[0] + 3;\n  return sum != 3;\n}\n",
    )
    built.ok("gompcc", "-O2", "-g", "-fopenmp", "gone.c", "-o", "gone")
    shown = gdb(built, "offload run", "info offload", "offload host", "print v", program="./gone")
    assert "region main._omp_fn.0 at gone.c:6 on the device, thread 2.3\n" in shown, shown
    assert re.search(r"^  (\*v|host) ADDRESS, 64 bytes -> ADDRESS, count 1$", shown, re.M), shown
    assert "$1 = <optimized out>\n" in shown, shown


def test_args_as_gdb_has_it(built: Tools) -> None:
    built.write("script", "offload run\nprint n\ncontinue\n")
    done = built.run("gompy", "run", "--under", "gdb -q -nx -batch -x script --args", "./halves")
    assert '2.3 "offload_target_" hit Breakpoint 1.' in done.stdout and "$1 = 4\n" in done.stdout
    assert "sum 40, rounds 10\n" in done.stdout


def test_info_offload(built: Tools) -> None:
    shown = gdb(built, "offload run", "echo ---\\n", "info offload", "echo ---\\n", "continue")
    before, between, after = parts(shown)
    assert between == (
        "device 0 (intelmic): running, inferior 2, process PID, regions launched: 1\n"
        "  rounds ADDRESS, 4 bytes -> ADDRESS, image\n"
        "  sum ADDRESS, 8 bytes -> ADDRESS, count 1\n"
        "  data ADDRESS, 32 bytes -> ADDRESS, count 1\n"
        "region main._omp_fn.0 at halves.c:17 on the device, thread 2.3\n"
    )
    assert "17\t" in before and "sum 40" in after


def test_info_offload_passes_a_breakpoint_on_its_way(built: Tools) -> None:
    """The stop there is not taken for the trap that ends the description, and ends nothing."""
    places = ("break *(long) &gompy_describe_and_trap", "break gompy_describe_offload")
    stop = ("offload run", "offload host", *places, "echo ---\\n")
    _, between, after = parts(gdb(built, *stop, "info offload", "echo ---\\n", "delete", "continue"))
    assert "device 0 (intelmic): running" in between, between
    assert "  sum ADDRESS, 8 bytes -> ADDRESS, count 1\n" in between
    assert "sum 40" in after


def test_offload_print(built: Tools) -> None:
    """The device's copy, while the host's is another; the frame that was selected stays selected."""
    shown = gdb(
        built,
        *("offload run", "break halves.c:23", "continue", "next", "echo ---\\n"),
        *("offload print data", "offload print data[2]", "offload print rounds", "print local"),
        *("offload host", "print data", "print rounds"),
    ).split("---\n")[1]
    assert shown.startswith(
        "device 0 ADDRESS: data = {4, 8, 12, 16}\n"
        "device 0 ADDRESS: data[2] = 12\n"
        "device 0 ADDRESS: rounds = 11\n"
        "$1 = 40\n"
    )
    assert re.search(r"#[0-9]+ +ADDRESS in main \(\) at halves\.c:15\n", shown)
    assert shown.endswith("$2 = {8, 16, 24, 32}\n$3 = 10\n")


FORTRAN = """program rows
  implicit none
  real(8), allocatable, target :: a(:,:)
  real(8), pointer :: odd(:)
  character(5) :: word = "local"
  allocate (a(2, 3))
  a = 2
  odd => a(1, :)
  !$omp target map(tofrom: a, word)
  a(2, 3) = 5
  word(1:1) = "v"
  !$omp end target
  print *, sum (a), odd(1), word
end program
"""


@needs("gfortran")
def test_offload_print_of_fortran(built: Tools) -> None:
    """Arrays with descriptors, too, by which gdb 13 itself ends.

    Where libc has no debug information, gdb takes all for Fortran's, the words of its extension, too.
    """
    built.write("rows.f90", FORTRAN)
    built.ok("gompfortran", "-g", "-fopenmp", "rows.f90", "-o", "rows")
    wanted = ("offload print a", "offload print a(1,2)", "offload print word", "offload print odd(1:2)")
    run = ("set debug-file-directory /none", "offload run", "next", "next")
    shown = gdb(built, *run, "echo ---\\n", *wanted, program="./rows")
    assert shown.split("---\n")[1].startswith(
        "device 0 ADDRESS: a = ((2, 2) (2, 2) (2, 5))\ndevice 0 ADDRESS: a(1,2) = 2\ndevice 0 ADDRESS: word = 'vocal'\n"
    )
    assert "offload print: odd(1:2): its elements are not side by side: print one at a time\n" in shown


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("offload print n", "offload print: n (host ADDRESS, 4 bytes) is not mapped"),
        ("offload print data[0] + 1", "offload print: data[0] + 1 is no variable: it has no address"),
        ("offload print", "offload print: which expression of the host?"),
        ("offload print missing", 'offload print: No symbol "missing" in current context.'),
    ],
)
def test_what_cannot_be_printed(built: Tools, command: str, error: str) -> None:
    shown = gdb(built, "offload run", command)
    if command == "offload print n":  # firstprivate: its value travels, it has no copy
        assert "is not mapped" in shown
    assert error in shown


def test_before_the_program_runs(built: Tools) -> None:
    assert "The program is not being run." in gdb(built, "info offload")


@pytest.mark.slow
def test_options_are_the_programs(built: Tools) -> None:
    """What gompy run sets is set in the program, and not in gdb."""
    shown = gdb(built, "show environment GOMPY_CHECK", "offload run", "continue", options=("--check",))
    assert "GOMPY_CHECK = 1\n" in shown and "sum 40" in shown
    shown = gdb(built, "offload run", "info inferiors", "continue", options=("--device", "host"))
    assert "Breakpoint 1, main._omp_fn.0 () at " in shown and "offload_target_main" not in shown


@pytest.mark.slow
def test_a_fault_stops_in_the_region(built: Tools) -> None:
    """gdb is where the region is, and knows the pointer that was not mapped."""
    built.write(
        "wild.c",
        "#include <stdlib.h>\nint main (void)\n{\n  struct { int *p; } s = { malloc (4) };\n"
        "#pragma omp target map(to: s)\n  *s.p = 1;\n  return 0;\n}\n",
    )
    built.ok("gompcc", "-g", "-fopenmp", "wild.c", "-o", "wild")
    shown = gdb(built, "run", "print s", "info offload", program="./wild")
    assert "received signal SIGSEGV" in shown and "$1 = {p = ADDRESS}" in shown
    assert "region main._omp_fn.0 at wild.c:6 on the device" in shown


@pytest.mark.slow
@has_compiler
def test_the_emulated_gpu(built: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """gdb stops where the region is launched; the device's copies are in the program's own process."""
    built.ok("gompcc", "-g", "-fopenmp", "-foffload=nvptx-none", "halves.c", "-o", "gpu")
    monkeypatch.setitem(built.env, "XDG_CACHE_HOME", str(tmp_path))  # the kernel is compiled now, by another process
    shown = gdb(
        built,
        *("offload run", "echo ---\\n", "info offload", "offload print data", "offload print rounds", "print n"),
        *("echo ---\\n", "continue"),
        program="./gpu",
        options=("--device", "nvptx"),
    )
    before, between, after = parts(shown)
    assert re.search(r"#[0-9]+ +ADDRESS in main \(\) at halves\.c:15\n15\t", before), before
    assert between == (
        "device 0 (nvptx): running, inferior 1, process PID, regions launched: 1\n"
        "  rounds ADDRESS, 4 bytes -> ADDRESS, image\n"
        "  sum ADDRESS, 8 bytes -> ADDRESS, count 1\n"
        "  data ADDRESS, 32 bytes -> ADDRESS, count 1\n"
        "region main._omp_fn.0 on the device\n"
        "device 0 ADDRESS: data = {8, 16, 24, 32}\n"
        "device 0 ADDRESS: rounds = 10\n"
        "$1 = 4\n"
    )
    assert "sum 40, rounds 10\n" in after and "[Inferior 1 (process PID) exited normally]" in after


@pytest.mark.slow
@has_compiler
def test_inside_a_kernel(built: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A line of a region that the emulated GPU runs: frames, lanes, registers by their PTX names, the next line."""
    built.write(
        "lanes.c",
        "int main (void)\n{\n  int x[64];\n#pragma omp target map(from: x)\n  for (int i = 0; i < 64; i++)\n    {\n"
        "      int three = 3 * i;\n      x[i] = three;\n      x[i]++;\n    }\n"
        '  __builtin_printf ("%d\\n", x[63]);\n}\n',
    )
    built.ok("gompcc", "-O0", "-g", "-fopenmp", "-foffload=nvptx-none", "lanes.c", "-o", "gpu")
    monkeypatch.setitem(built.env, "XDG_CACHE_HOME", str(tmp_path))
    shown = gdb(
        built,
        *("break lanes.c:8", "run", "echo ---\\n", "bt 1", "info line", "offload lanes", "print warp->blocks"),
        *("info locals", "bt", "echo ---\\n", "next", "offload print x", "delete", "continue"),
        program="./gpu",
        options=("--device", "nvptx"),
    )
    before, inside, after = parts(shown)
    assert re.search(r" in gompy_begin \(\)(.*\n)+#.* ptx_launch \(\)", inside), inside
    assert "8\t      x[i] = three;" in before
    assert re.search(r"#0  main\$_omp_fn\$\S+ \(.*\) at \S*lanes\.c:8\n", inside), inside
    assert 'Line 8 of "' in inside and "= {1, 1, 1}\n" in inside
    assert re.search(
        r"^main\$_omp_fn\$\S+: block \(0,0,0\), warp 0, threads? \(0,0,0\).*, lanes ADDRESS$", inside, re.M
    )
    assert re.search(r"^r\d+ = \{?\d+", inside, re.M), inside
    assert "device 0 ADDRESS: x = {" in after
    assert "9\t      x[i]++;" in after and "\n190\n" in after


VARIABLES = r"""
#include <cuda_runtime.h>
enum color { red, green = 5, blue };
union both { int i; float f; };
struct base { int b; };
struct node : base { node *next; short s[2][3]; unsigned flag : 3; unsigned rest : 7; color c; both u; };
template <class T> __device__ __attribute__ ((noinline)) T twice (T value, int more)
{
  T result = value + value;
  return result + more;
}
__global__ void work (float *a, int n)
{
  int i = threadIdx.x;
  node one = {};
  one.b = i; one.s[1][2] = 7; one.flag = 5; one.rest = 99; one.c = blue; one.u.f = 1.5f;
  double values[3] = { 1.0 * i, 2.5, 3 };
  bool even = i % 2 == 0;
  for (int k = 0; k < 1; k++)
    {
      int i = 1000 + k;
      a[k] = twice (values[1], one.b) + i;
    }
  if (even)
    a[i] = n;
}
int main ()
{
  float *a;
  if (cudaMalloc (&a, 64 * 4))
    return 1;
  work <<<1, 32>>> (a, 60);
  return cudaDeviceSynchronize ();
}
"""


@pytest.mark.slow
@needs_cuda_compiler
def test_variables_of_a_kernel(built: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """clang's at -O0: of the first active lane, or of one that is selected; types as the source has them."""
    built.write("v.cu", VARIABLES)
    built.ok("gompy", "cuda", "cc", "-g", "-O0", "v.cu", "-o", "cuda")
    monkeypatch.setitem(built.env, "XDG_CACHE_HOME", str(tmp_path))
    shown = gdb(
        built,
        *("break v.cu:22", "run", "echo ---\\n", "bt 1", "offload lanes 6", "print one", "print values", "print even"),
        *("print i__21", "ptype one.u", "set var values[0] = 42", "print values", "info locals", "echo ---\\n"),
        *("break v.cu:10", "continue", "bt 1", "print result", "offload lanes 3", "print more", "delete 2"),
        *("break v.cu:25", "continue", "offload lanes", "print i", "print n", "continue"),
        program="./cuda",
        options=(),
    )
    _, kernel, function = parts(shown)
    assert "#0  _Z4workPfi (a=ADDRESS, n=60) at " in kernel and ", variables of lane 6\n" in kernel
    one = "{<base> = {b = 6}, next = 0x0, s = {{0, 0, 0}, {0, 0, 7}}, flag = 5, rest = 99, c = blue, u = "
    assert one in kernel.replace("next = ADDRESS", "next = 0x0") and "u = {i = 1069547520, f = 1.5}}\n" in kernel
    for line in ("= {6, 2.5, 3}", "= true", "= 1000", "type = union both {", "= {42, 2.5, 3}", "i = 6"):
        assert line in kernel, line
    assert "\nr1 = " not in kernel
    assert "(value=2.5, more=0) at " in function and "= 5\n" in function and re.search(r"^\$\d+ = 3$", function, re.M)
    assert "lanes ADDRESS, variables of lane 6\n" in function and re.search(r"^\$\d+ = 60$", function, re.M)


@pytest.mark.slow(sample=1)
@needs_clang
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_region_by_clang(built: Tools, level: str) -> None:
    """The region, in the function that clang has its body in, if it is not inlined; the device's copies."""
    words = ["clang-16", level, "-g", "-fopenmp", f"-fopenmp-targets={TARGET}", "halves.c", "-o", "clang"]
    subprocess.run(words, check=True, cwd=built.work)
    built.env["LD_LIBRARY_PATH"] = str(LIBDIR)
    shown = gdb(
        built,
        *("offload run", "info args", "echo ---\\n", "info offload", "offload print data", "offload host"),
        *("echo ---\\n", "continue"),
        program="./clang",
    )
    before, between, after = parts(shown)
    body = "_debug__" if level == "-O0" else ""
    assert re.search(rf"hit (Temporary b|B)reakpoint .*, __omp_offloading_\w+_main_l15{body} ", before), before
    assert "data = @ADDRESS: {8, 16, 24, 32}\n" in before
    assert "  data ADDRESS, 32 bytes -> ADDRESS, count 1\n" in between
    assert re.search(r"region __omp_offloading_\w+_main_l15\w* at halves\.c:\d+ on the device, thread 2\.3\n", between)
    assert "device 0 ADDRESS: data = {8, 16, 24, 32}\n" in between
    assert re.search(r"#[0-9]+ +ADDRESS in main \(.*\) at halves\.c:15\n15\t", between), between
    assert "sum 40, rounds 10\n" in after and "[Inferior 1 (process PID) exited normally]" in after


def test_programs_without_device_code_for_it(built: Tools) -> None:
    built.ok("gompcc", "-fopenmp", "-g", "-foffload=disable", "halves.c", "-o", "none")
    done = built.run("gompy", "run", "--under", "gdb", "./none")
    assert (done.returncode, done.stderr) == (
        126,
        "gompy run: error: ./none: it has no code for a device whose process gdb can look into\n",
    )
    done = built.run("gompy", "run", "--under", "gdb 'x", "./halves")
    assert (done.returncode, done.stderr) == (2, "gompy run: error: --under gdb 'x: No closing quotation\n")


def test_a_user_at_a_terminal(built: Tools) -> None:
    """Without a script gdb runs to the first region and leaves the user there."""
    pid, master = pty.fork()
    if not pid:
        os.chdir(built.work)
        words = ["gompy", "run", "--under", "gdb -q -nx", "./halves"]
        os.execvpe(words[0], words, {**built.env, "TERM": "dumb"})
    seen, sent, end = b"", 0, time.monotonic() + 60
    steps = [(b"17\t", b"info locals\n"), (b"n = 4", b"continue\n"), (b"sum 40", b"quit\n")]
    try:
        while time.monotonic() < end:
            ready, _, _ = select.select([master], [], [], 0.2)
            if ready:
                try:
                    seen += os.read(master, 4096)
                except OSError:
                    break  # gdb has ended
            elif sent < len(steps) and steps[sent][0] in seen and seen.rstrip().endswith(b"(gdb)"):
                os.write(master, steps[sent][1])
                sent += 1
    finally:
        os.close(master)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert sent == len(steps), seen.decode("utf-8", "replace")
