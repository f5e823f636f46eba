"""C++ ``declare target`` variables with constructors: run on the device, or told of at the link."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN
from test_intelmic_programs import BIN, run

from mkoffload.listing import Reader

if not PLUGIN.exists() or not (BIN / "gompc++").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

PURE = r"""#include <cstdio>
#include <iostream>
#include <omp.h>
#include <vector>
int foo (int k) { return k + 1; }
#pragma omp declare target
struct C
{
  int x, y;
  C (int a) : x (foo (a)), y (7) {}
  ~C () { std::printf ("~C %d %s\n", x, omp_is_initial_device () ? "host" : "device"); }
};
struct Base { int v; Base () : v (3) {} virtual int f () { return v; } };
struct Derived : Base { int f () override { return v * 100; } };
C c (4);
C array[3] = { 1, 2, 3 };
int plain = 5, dynamic = foo (8);
std::vector<int> on_heap (10, 3);
Derived derived;
inline C once (40);
Base *pointer = &derived;
static int later = c.x + array[2].x;
int where = omp_is_initial_device ();
#pragma omp end declare target
int main ()
{
  int r[9] = {};
#pragma omp target map(tofrom: r)
  {
    static C local (60);
    r[0] = c.x + c.y; r[1] = array[2].x; r[2] = plain; r[3] = dynamic; r[4] = on_heap[3]; r[5] = pointer->f ();
    r[6] = once.x; r[7] = later; r[8] = where + local.x;
  }
  for (int i : r)
    std::cout << i << ' ';
  std::cout << std::endl;
}
"""
MIXED = r"""#include <cstdio>
struct H { int z; H (const char *s) { std::puts (s); z = 1; } };
#pragma omp declare target
struct C { int x; C (int a); };
C c (4);
int constant = 5;
#pragma omp end declare target
C::C (int a) : x (a + constant) {}
%s
int main ()
{
  int x = 1, k = 0;
#pragma omp target map(from: x, k)
  { x = c.x; k = constant; }
#pragma omp target update to(c)
  int y = 0;
#pragma omp target map(from: y)
  y = c.x;
  std::printf ("%%d %%d %%d\n", x, k, y);
}
"""


def link(folder: Path, sources: dict[str, str], *options: str) -> tuple[Path, str]:
    """Compile and link; the program and what was said."""
    for name, text in sources.items():
        (folder / name).write_text(text)
    command = [BIN / "gompc++", "-fopenmp", *options, *sources, "-o", "program"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "program", done.stderr


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("options", [["-O0"], ["-O2", "-g"]])
def test_constructors_and_destructors_run_on_the_device(tmp_path: Path, options: list[str]) -> None:
    """Objects, arrays, heap, vtables, inline variables, order; destructors before the device goes, on each device."""
    program, said = link(tmp_path, {"pure.cc": PURE}, *options)
    assert said == ""
    done = run(program, OFFLOAD_EMUL_NUM="2", OMP_DEFAULT_DEVICE="1")
    lines = done.stdout.splitlines()
    assert (lines[0], done.returncode, done.stderr) == ("12 4 5 9 3 300 41 9 61 ", 0, ""), done.stderr
    ends = [line.split()[1] for line in lines if line.endswith("device")]
    assert ends == ["41", "4", "3", "2", "5"]
    assert sum(line.endswith("host") for line in lines) == 5


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("host", ['H h ("a host");', 'static bool entry = (std::puts ("a host"), true);'])
def test_what_the_host_alone_may_do_is_done_once(tmp_path: Path, host: str, level: str) -> None:
    """Initialisers with effects of the host's do not run on the device, and the link names variable and line."""
    program, said = link(tmp_path, {"mixed.cc": MIXED % host}, level)
    assert re.fullmatch(
        r"mkoffload: warning: mixed\.cc:[58]: ‘c’ is initialised when the program runs, and stays zero on \S+: the "
        r"same initialisers (use|call) ‘\w+’ \(mixed\.cc:\d+\); copy the host's by ‘target update to’, or give it its "
        r"value in a target region\n",
        said,
    ), said
    done = run(program)
    assert (done.stdout, done.returncode) == ("a host\n0 5 9\n", 0), done.stderr


def test_units_are_told_apart(tmp_path: Path) -> None:
    """One unit's host variables do not keep another's constructors from the device."""
    other = '#include <cstdio>\nstruct H { H () { std::puts ("once"); } };\nH h;\n#pragma omp declare target\nint q;\n'
    other += "#pragma omp end declare target\n"
    program, said = link(tmp_path, {"mixed.cc": MIXED % "", "other.cc": other}, "-O2")
    assert said == ""
    done = run(program)
    assert (sorted(done.stdout.splitlines()), done.returncode) == (["9 5 9", "once"], 0), done.stderr


COPIED = r"""#include <cstdio>
#include <omp.h>
#include <vector>
#pragma omp declare target
struct S
{
  int x;
  S () : x (-1) { std::printf ("S %d %d\n", x, omp_is_initial_device ()); }
  S (int x) : x (x) { std::printf ("S %d %d\n", x, omp_is_initial_device ()); }
  ~S () { std::printf ("~S %d %d\n", x, omp_is_initial_device ()); }
};
#pragma omp end declare target
S host __attribute__ ((init_priority (1500))) (7);
#pragma omp declare target
S one __attribute__ ((init_priority (2000))) (5);
std::vector<S> two __attribute__ ((init_priority (1000))) (2);
#pragma omp end declare target
int main ()
{
  #pragma omp target
  std::puts ("region");
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("more", [(), ("-foffload-options=-fdump-tree-optimized-raw",)])
def test_initialisers_by_priority(tmp_path: Path, more: tuple[str, ...]) -> None:
    """Each priority has a function of its own: that of the host's variable does not keep the others from the device.

    So it is where the user has gcc dump the pass whose listing is read.
    """
    program, said = link(tmp_path, {"copied.cc": COPIED}, "-O2", *more)
    assert said == ""
    assert len([path for path in tmp_path.glob("*.optimized") if "gimple_call <" in path.read_text()]) == len(more)
    done = run(program)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert lines == [
        *("S -1 1", "S -1 1", "S 7 1", "S 5 1"),
        *("S -1 0", "S -1 0", "S 5 0", "region", "~S 5 0", "~S -1 0", "~S -1 0"),
        *("~S 5 1", "~S 7 1", "~S -1 1", "~S -1 1"),
    ], done.stdout


LISTING = """
;; Function __ct_base .constprop (_ZN1VC2Em.constprop.0, funcdef_no=4, decl_uid=9, cgraph_uid=9, symbol_order=15)

void __ct_base .constprop ()
{
  void * _33;

  <bb 2> [local count: 1073741824]:
  _33 = _Znwm (8);
  MEM[(struct V *)&two] = _33;
%s  return;
}

;; Function _GLOBAL__sub_I.01000_host (_GLOBAL__sub_I.01000_host, funcdef_no=33, decl_uid=8, cgraph_uid=8)

void _GLOBAL__sub_I.01000_host ()
{
  <bb 2> [local count: 1073741824]:
  _ZN1VC2Em.constprop.0 ();
  __cxa_atexit (_ZN1VD1Ev, &two, &__dso_handle); [tail call]
  return;
}
"""


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        ("", ""),
        ("  host = 1;\n", "the same initialisers use ‘host’"),
        ("  _Z4tellv ();\n", "the same initialisers call ‘_Z4tellv’"),
    ],
)
def test_a_constructor_that_gcc_has_copied_for_one_variable(more: str, cause: str) -> None:
    """Its call names no variable, the copy does: what the copy does decides, as if it stood there."""
    read = Reader(LISTING % more, [], [], ["two"])
    read.host = {"host"}
    unit = read.read("_GLOBAL__sub_I.01000_host")
    assert (list(unit.variables), unit.cause) == (["two"], cause)


ARRAYS = """
;; Function %sarray (%sarray, funcdef_no=9, decl_uid=5802, cgraph_uid=16, symbol_order=38)

void %sarray (void * D.5987)
{
  <bb 2> [local count: 1073741824]:
  _ZN1CD1Ev (&array);
  return;
}

;; Function _GLOBAL__sub_I_array (_GLOBAL__sub_I_array, funcdef_no=33, decl_uid=8, cgraph_uid=8)

void _GLOBAL__sub_I_array ()
{
  <bb 2> [local count: 1073741824]:
  _ZN1CC1Ev (&array);
  __cxa_atexit (%sarray, 0B, &__dso_handle); [tail call]
  return;
}
"""


@pytest.mark.parametrize("prefix", ["__tcf_", "__tcf", "__omp_tcf"])
def test_destructors_of_an_array(prefix: str) -> None:
    """GCC 15 names the function after the array, GCC 12 by a number; the one for devices has a name of its own."""
    unit = Reader(ARRAYS.replace("%s", prefix), [], [], ["array"]).read("_GLOBAL__sub_I_array")
    assert (list(unit.variables), unit.cause) == (["array"], "")


FUNCTIONS = """#include <stdio.h>
#include <omp.h>
#define SAY(name) static void name (void) { printf ("%s %d\\n", #name, omp_is_initial_device ()); }
#pragma omp declare target
static void first (void) __attribute__ ((constructor (20000)));
static void begin (void) __attribute__ ((constructor));
static void end (void) __attribute__ ((destructor));
SAY (first)
SAY (begin)
SAY (end)
#pragma omp end declare target
static void host (void) __attribute__ ((constructor));
static void gone (void) __attribute__ ((destructor));
SAY (host)
SAY (gone)
int main (void)
{
  puts ("main");
  #pragma omp target
  puts ("region");
}
"""


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("options", [["-O0"], ["-O2"], ["-O2", "-flto", "-ffat-lto-objects"]])
def test_functions_with_the_attributes(tmp_path: Path, options: list[str]) -> None:
    """Constructor and destructor functions of the device run there as well, the host's on the host alone."""
    (tmp_path / "f.c").write_text(FUNCTIONS)
    command = [BIN / "gompcc", "-fopenmp", *options, "f.c", "-o", "program"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    ran = run(tmp_path / "program")
    lines = ran.stdout.splitlines()
    assert (ran.returncode, ran.stderr, lines[0], lines[3]) == (0, "", "first 1", "main"), ran.stdout
    assert sorted(lines[1:3]) == ["begin 1", "host 1"]
    assert lines[4:8] == ["first 0", "begin 0", "region", "end 0"]
    assert sorted(lines[8:]) == ["end 1", "gone 1"]


def test_nvptx_link_names_the_variable(tmp_path: Path) -> None:
    """GCC 12 has no device code of initialisers for an accelerator compiler: said, with the mend."""
    if shutil.which("x86_64-linux-gnu-accel-nvptx-none-gcc-12") is None:
        pytest.skip("GCC's nvptx compiler is not installed")
    _, said = link(tmp_path, {"mixed.cc": MIXED % ""}, "-O2", "-foffload=nvptx-none")
    assert re.match(r"mkoffload: warning: mixed\.cc:[58]: ‘c’ is initialised when the program runs, and ", said), said
    assert said.count("\n") == 1
