"""Whole programs on the emulated device: compiled by gompcc and its sisters, run, and looked at from outside."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN, PROGRAM, devices_of, gone
from page_faults import page_faults
from plugin_tools import DEATHS

BIN = Path(sys.executable).parent
if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)


def build(folder: Path, source: str, *options: str, name: str = "prog.c") -> Path:
    """Compile a program with the wrapper of its language."""
    path = folder / name
    path.write_text(source)
    wrapper = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}[path.suffix]
    program = path.with_suffix(".exe")
    subprocess.run([BIN / wrapper, "-fopenmp", "-g", *options, "-o", program, path], check=True, cwd=folder)
    return program


def run(program: Path, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
    """Run it with a clean set of OpenMP variables and these."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_"))}
    return subprocess.run([program], capture_output=True, text=True, env=clean | env, timeout=timeout, check=False)


def test_forgotten_map_is_explained(tmp_path: Path) -> None:
    """The message names the region, the line and whose the address is."""
    program = build(
        tmp_path,
        """#include <stdlib.h>
int main (void)
{
  int *p = malloc (400);
#pragma omp target is_device_ptr (p)
  {
    p[3] = 1;
  }
  return 0;
}
""",
    )
    done = run(program)
    assert done.returncode == 1
    assert re.search(
        r"device 0 \(intelmic\): region main\._omp_fn\.0 \(prog\.c:7\): signal 11 \(Segmentation fault\): "
        r"address 0x[0-9a-f]+ is not mapped on the device: it is the host's \(its heap\); was a map clause forgotten\?",
        done.stderr,
    ), done.stderr


def test_exit_as_the_last_instruction(tmp_path: Path) -> None:
    """Behind a call that does not return the image's code may end: the line is found nevertheless."""
    program = build(
        tmp_path,
        """#include <stdio.h>
#include <stdlib.h>
int main (void)
{
#pragma omp target
  { printf ("half a line"); exit (3); }
}
""",
    )
    done = run(program)
    assert (done.returncode, done.stdout) == (1, "half a line")
    assert done.stderr == (
        "\nlibgomp: device 0 (intelmic): region main._omp_fn.0 (prog.c:6): exit (3) called on the device\n"
    )


@pytest.mark.parametrize("options", [(), ("-foffload-check",)])
def test_threads_that_cannot_be_made(tmp_path: Path, options: tuple[str, ...]) -> None:
    """The line is that of the construct, also where checks stand in front of libgomp's function."""
    program = build(
        tmp_path,
        """int main (void)
{
  int s = 0;
#pragma omp target map(tofrom: s)
  {
#pragma omp parallel num_threads(4) reduction(+: s)
    s += 1;
  }
  return s;
}
""",
        *options,
    )
    done = run(program, OMP_STACKSIZE="200000G")
    assert done.returncode == 1
    assert done.stderr.startswith("\nlibgomp: Thread creation failed: ")
    assert done.stderr.endswith(
        "\nlibgomp: device 0 (intelmic): region main._omp_fn.0 (prog.c:6): exit (1) called on the device\n"
    )


def test_fortran_output(tmp_path: Path) -> None:
    """What Fortran units hold is written before the construct ends; stop in a region ends the program."""
    program = build(
        tmp_path,
        """program p
  integer :: i
  i = 1
  print '(a)', 'host 1'
  flush (6)
  !$omp target map(tofrom: i)
  write (*, '(a)') 'device'
  i = i + 1
  !$omp end target
  print '(a,i0)', 'host ', i
  flush (6)
  !$omp target
  stop 5
  !$omp end target
end program
""",
        name="prog.f90",
    )
    done = run(program)
    assert done.stdout == "host 1\ndevice\nhost 2\n"
    assert done.returncode == 1
    assert "STOP 5" in done.stderr
    assert "exit (5) called on the device" in done.stderr


@pytest.mark.slow
def test_exceptions_and_streams(tmp_path: Path) -> None:
    """C++ in a region: containers, exceptions, output."""
    program = build(
        tmp_path,
        """#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <vector>
int main ()
{
  int sum = 0;
#pragma omp target map(tofrom: sum)
  {
    std::vector<int> v (10, 4);
    for (int x : v)
      sum += x;
    try { sum += v.at (20); }
    catch (std::out_of_range &e) { std::ostringstream s; s << "caught " << 7; puts (s.str ().c_str ()); }
  }
  printf ("%d\\n", sum);
}
""",
        name="prog.cc",
    )
    done = run(program)
    assert (done.stdout, done.stderr, done.returncode) == ("caught 7\n40\n", "", 0)


EMPTY = """#include <stdio.h>
int main (void)
{
  int x = 1;
#pragma omp target map(tofrom: x)
  x++;
  printf ("%d\\n", x);
  return x != 2;
}
"""


def test_start_is_cheap(tmp_path: Path) -> None:
    """A whole program with one region takes 240 pages, those of its device not counted: no interpreter, no compiler."""
    program = build(tmp_path, EMPTY)
    assert run(program).stdout == "2\n"
    assert page_faults([program]) < 400


def test_its_threads_have_little_of_their_own() -> None:
    """What is each thread's is cleared at its start: pages of it are faults of all threads, whatever they run."""
    said = subprocess.run(["readelf", "-lW", PROGRAM], capture_output=True, text=True, check=True).stdout
    (size,) = re.findall(r"^ +TLS(?: +0x[0-9a-f]+){4} +(0x[0-9a-f]+)", said, re.MULTILINE)
    assert int(size, 16) < 2048


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize(
    "env",
    [
        {"OMP_PROC_BIND": "true"},
        {"OMP_PROC_BIND": "close", "OMP_PLACES": "threads"},
        {"GOMP_CPU_AFFINITY": "0"},
        {"OMP_DISPLAY_ENV": "true"},
        {"OMP_DYNAMIC": "true", "OMP_THREAD_LIMIT": "1"},
        {"OMP_WAIT_POLICY": "active"},
    ],
)
def test_environment_is_harmless(tmp_path: Path, env: dict[str, str]) -> None:
    """Variables for the host's libgomp don't disturb the device, and it doesn't print the environment again."""
    done = run(build(tmp_path, EMPTY), **env)
    assert (done.stdout, done.returncode) == ("2\n", 0)
    assert done.stderr.count("OPENMP DISPLAY ENVIRONMENT BEGIN") == ("OMP_DISPLAY_ENV" in env)


@pytest.mark.parametrize(
    ("options", "before"),
    [([], []), ([], ["setarch", "-R"]), (["-fsanitize=address"], [])],
    ids=["", "addresses-meet", "sanitizer"],
)
def test_processors_of_the_device(tmp_path: Path, options: list[str], before: list[str]) -> None:
    """A host bound to one place gives the device all places, also where the device's program is executed twice.

    Its addresses have met the host's then, or a sanitizer's library has to be its first.  libgomp has bound it by then.
    """
    if before and subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("this system does not let a process have fixed addresses")
    program = build(
        tmp_path,
        """#include <omp.h>
#include <stdio.h>
int main (void)
{
  int n = 0, m = omp_get_num_places ();
#pragma omp target map(from: n)
  n = omp_get_num_places ();
  printf ("%d\\n", n == m);
}
""",
        *options,
    )
    command = [*before, "env", "OMP_PROC_BIND=true", "OMP_PLACES=threads", str(program)]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout == "1\n"


@pytest.mark.parametrize("limit", ["-v 4000000", "-s unlimited", "-f 1000000", "-n 14"])
def test_resource_limits(tmp_path: Path, limit: str) -> None:
    """Less address space or file size than the device would like, an unlimited stack, few descriptors."""
    program = build(tmp_path, EMPTY)
    command = ["bash", "-c", f'ulimit {limit}; exec "$0"', program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_one_processor(tmp_path: Path) -> None:
    """On one processor nobody spins: a thousand launches take well under a second of processor time."""
    program = build(
        tmp_path,
        """#include <stdio.h>
int main (void)
{
  int x = 0;
#pragma omp target data map(tofrom: x)
  for (int i = 0; i < 1000; i++)
#pragma omp target map(tofrom: x)
    x++;
  printf ("%d\\n", x);
}
""",
    )
    cpu = min(os.sched_getaffinity(0))
    done = subprocess.run(["taskset", "-c", str(cpu), program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("1000\n", 0), done.stderr


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_under_gdb(tmp_path: Path) -> None:
    """OFFLOAD_EMUL_RUN with gdb: a breakpoint by file and line in a region, its source line, and the way on."""
    program = build(tmp_path, EMPTY, "-O0")
    script = tmp_path / "script"
    script.write_text("set breakpoint pending on\nbreak prog.c:6\nrun\nbacktrace 1\ncontinue\n")
    done = run(
        program, OFFLOAD_EMUL_RUN=f"gdb -q -nx -batch -x {shlex.quote(str(script))} --args", TMPDIR=str(tmp_path)
    )
    assert re.search(r"hit Breakpoint 1, main\._omp_fn.* at .*prog\.c:6\n6\t +x\+\+;", done.stdout), done.stdout
    assert re.search(r"^2$", done.stdout, re.MULTILINE)
    assert not list(tmp_path.glob("gompy-*"))


def test_killed_program_leaves_nothing(tmp_path: Path) -> None:
    """SIGKILL in the middle of a region: the device is gone at once."""
    program = build(
        tmp_path,
        """int main (void)
{
  volatile int x = 1;
#pragma omp target map(tofrom: x)
  while (x)
    ;
}
""",
    )
    with subprocess.Popen([program]) as process:
        devices: list[int] = []
        end = time.monotonic() + 60
        while not devices and time.monotonic() < end:
            devices = devices_of(process.pid)
        process.kill()
        process.wait()
    assert len(devices) == 1
    assert gone(devices[0])


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("check", ["0", "1"])
def test_a_fault_beside_other_threads(tmp_path: Path, check: str) -> None:
    """Others fault at the same time, or wait for the device with the runtime's lock held: one message, and the end."""
    program = build(tmp_path, DEATHS)
    for mode in ("0", "1") * 3:
        done = subprocess.run(
            ["timeout", "20", program, mode], capture_output=True, text=True, env=os.environ | {"GOMPY_CHECK": check}
        )
        assert done.returncode == 1, (mode, done)
        assert done.stderr.count("libgomp: ") == 1 and "(prog.c:9): signal 11" in done.stderr, (mode, done)


def test_the_line_of_a_call_into_a_library(tmp_path: Path) -> None:
    """A call that does not return ends where the next region begins; addresses of other regions are no callers."""
    program = build(
        tmp_path,
        """#include <stdio.h>
#include <stdlib.h>
int main (int argc, char **argv)
{
  switch (argv[1] ? argv[1][0] : 0)
    {
    case 'e':
#pragma omp target
      exit (3);
    case 'a':
#pragma omp target
      abort ();
    case 't':
#pragma omp target
      __builtin_trap ();
    case 'p':
#pragma omp target
      fprintf (stderr, "on stderr %d\\n", 3), printf ("on stdout\\n");
    }
  return 0;
}
""",
        "-O1",
    )
    for argument, place in (
        ("e", "_omp_fn.0 (prog.c:9)"),
        ("a", "_omp_fn.1 (prog.c:12)"),
        ("p", "_omp_fn.3 (prog.c:18)"),
    ):
        done = subprocess.run([program, argument], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert f"region main.{place}: " in done.stderr, done.stderr


def test_call_of_the_host_s_code(tmp_path: Path) -> None:
    """A function pointer that nobody translated: it says more than that something is not mapped."""
    source = """
      static int twice (int x) { return 2 * x; }
      int main (void)
      {
        int (*function) (int) = twice, x = 1;
        asm volatile ("" : "+r" (function));
      #pragma omp target map(tofrom: x) firstprivate(function)
        x = function (x);
        return x;
      }
    """
    done = run(build(tmp_path, source))
    assert done.returncode == 1
    assert "(prog.c:8): signal 11 (Segmentation fault): a call of the host's code at 0x" in done.stderr
    assert "by a pointer, or a vtable, that is the host's" in done.stderr
