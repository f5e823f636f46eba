"""Classes with virtual functions in regions: vtables and type information of every kind of link."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from accel_tools import needs_accel
from driver_tools import environment, has_all
from link_tools import BDIR, Program, call, compile_c, link

pytestmark = has_all
GOMPCXX = str(Path(sys.executable).parent / "gompc++")

CLASSES = """
#pragma omp declare target
struct Base { virtual int f () const; virtual ~Base (); };
int Base::f () const { return 5; }
Base::~Base () {}
struct Derived : Base { int f () const override { return 6; } };
Base *make () { return new Derived; }
#pragma omp end declare target
"""
OTHER = """
#pragma omp declare target
struct Unused { virtual int g () const; virtual ~Unused (); };
int Unused::g () const { return 8; }
Unused::~Unused () {}
#pragma omp end declare target
int unused () { int r = 0;
#pragma omp target map(tofrom: r)
  { Unused u; Unused *p = &u; r = p->g (); }
  return r; }
"""
MAIN = """
#include <cstdio>
#include <omp.h>
#pragma omp declare target
struct Base { virtual int f () const; virtual ~Base (); };
Base *make ();
struct Error { int code; };
#pragma omp end declare target
int main ()
{
  int r = 0, caught = 0, host = 1;
#pragma omp target map(tofrom: r, caught, host)
  {
    Base *b = make ();
    Base c;
    const Base *p = &c;
    r = b->f () * 10 + p->f ();
    delete b;
    try { if (r) throw Error{7}; } catch (const Error &e) { caught = e.code; }
    host = omp_is_initial_device ();
  }
  printf ("%d %d %s\\n", r, caught, host ? "host" : "device");
}
"""


def gompcxx(folder: Path, *words: str, accel: str = "gcc") -> str:
    """Run gompc++ there; it must succeed, and without a word but for mkoffload's notes, which are returned."""
    env = environment(GOMPY_ACCEL=accel, LC_ALL="C")
    done = subprocess.run([GOMPCXX, "-fopenmp", *words], cwd=folder, env=env, capture_output=True, text=True)
    noise = [line for line in done.stderr.splitlines() if "LTRANS jobs" not in line and "-flto’ option" not in line]
    notes = [n for n in noise if n.startswith("mkoffload: note: ")]
    noise = [n for n in noise if n not in notes and "‘-flto’" not in n and "'-flto'" not in n]
    assert done.returncode == 0 and not noise, done.stderr
    return "".join(f"{note}\n" for note in notes)


def output(folder: Path) -> str:
    """What the program prints."""
    done = subprocess.run(["./prog"], cwd=folder, env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in (("classes.cc", CLASSES), ("other.cc", OTHER), ("main.cc", MAIN)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("archive", [False, True], ids=["objects", "archive"])
@pytest.mark.parametrize(
    "options",
    [["-O1"], ["-O1", "-flto"], ["-O2", "-flto", "-flto-partition=max"], ["-flto", "-ffat-lto-objects"]],
    ids=" ".join,
)
def test_virtual_calls_and_exceptions(sources: Path, options: list[str], archive: bool) -> None:
    """Also where host LTO would keep the vtables to itself, and where an archive offers more than is linked."""
    gompcxx(sources, *options, "-c", "main.cc", "classes.cc", "other.cc")
    words = ["main.o", "classes.o"]
    if archive:
        subprocess.run(["gcc-ar", "rc", "libclasses.a", "other.o", "classes.o"], cwd=sources, check=True)
        words = ["main.o", "-L.", "-lclasses"]
    gompcxx(sources, *options, *words, "-o", "prog")
    assert output(sources) == "65 7 device\n"


def test_one_lto_object_among_others(sources: Path) -> None:
    gompcxx(sources, "-O1", "-flto", "-c", "classes.cc")
    gompcxx(sources, "-O1", "-c", "main.cc")
    gompcxx(sources, "-O1", "main.o", "classes.o", "-o", "prog")
    assert output(sources) == "65 7 device\n"


@needs_accel
def test_what_the_accelerator_compiler_cannot_make_gccs_own_does(sources: Path) -> None:
    """GCC 12 streams only parts of classes to accelerators; with GOMPY_ACCEL=auto the link is not lost, and says so."""
    said = gompcxx(sources, "-O1", "main.cc", "classes.cc", "-o", "prog", accel="auto")
    assert said.count("\n") == 1 and said.startswith("mkoffload: note: the accelerator compiler cannot make this image")
    assert output(sources) == "65 7 device\n"
    env = environment(GOMPY_ACCEL="true", LC_ALL="C")
    done = subprocess.run(
        [GOMPCXX, "-fopenmp", "-O1", "main.cc", "classes.cc", "-o", "other"],
        cwd=sources,
        env=env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and not os.path.exists(sources / "other")
    assert "GCC 12 streams only parts of classes with virtual functions to accelerator compilers; gcc's" in done.stderr


@needs_accel
@pytest.mark.parametrize("option", ["-O1", "-O2", "-flto"])
def test_a_class_that_only_a_region_constructs(tmp_path: Path, option: str) -> None:
    """No call is virtual any more: the image would link without the vtable, whose copy back to the host would fault."""
    (tmp_path / "main.cc").write_text(
        """#pragma omp declare target
struct Point { int x; Point (int a) : x (a) {} virtual int norm () const { return x; } virtual ~Point () {} };
struct Far : Point { using Point::Point; int norm () const override { return 1000 + x; } };
#pragma omp end declare target
#include <cstdio>
#include <omp.h>
int main ()
{
  int sum = 0, host = 1;
#pragma omp target map(tofrom: sum, host)
  { Far f (5); const Point &p = f; sum = p.norm (); host = omp_is_initial_device (); }
  std::printf ("%d %s\\n", sum, host ? "host" : "device");
}
"""
    )
    gompcxx(tmp_path, "-O2", option, "main.cc", "-o", "prog", accel="auto")
    assert output(tmp_path) == "1005 device\n"


HELD = """
#include <cstdio>
struct HostOnly { virtual int g () { return 3; } virtual ~HostOnly () {} };
#pragma omp declare target
struct Base { virtual int get () { return 1; } };
struct Derived : Base { int get () override { return 41; } };
#pragma omp end declare target
int main ()
{
  HostOnly *only = new HostOnly;
  int x = 0;
#pragma omp target map(tofrom: x)
  { REGION }
  std::printf ("%d\\n", x + only->g ());
}
"""
CLASS_IN_REGION = HELD.replace("REGION", 'Derived d; Base *b = &d; asm volatile ("" : "+r" (b)); x = b->get ();')


@needs_accel
@pytest.mark.parametrize("compiler", [[GOMPCXX], ["g++"]], ids=["ours", "plain"])
def test_the_accelerator_compiler_alone_refuses_classes_of_regions(tmp_path: Path, compiler: list[str]) -> None:
    """Their vtables would be copies of the host's, with the host's functions.  The host's own classes do not count."""
    env = environment(GOMPY_ACCEL="true", LC_ALL="C")
    for name, text in (("bad", CLASS_IN_REGION), ("good", HELD.replace("REGION", "x = 41;"))):
        (tmp_path / f"{name}.cc").write_text(text)
        command = [*compiler, "-O1", "-fopenmp", "-c", f"{name}.cc"]
        subprocess.run(command, cwd=tmp_path, env=env, check=True)
    done = subprocess.run([GOMPCXX, "-fopenmp", "bad.o"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    said = "mkoffload: fatal error: regions get vtable for Derived from the host: GCC 12 streams only parts of classes"
    assert said in done.stderr
    assert gompcxx(tmp_path, "good.o", "-o", "prog", accel="true") == ""
    assert output(tmp_path) == "44\n"


VIRTUAL = """
#include <cstdio>
{0}
#pragma omp declare target
struct Base {{ virtual int f(int x) const {{ return x; }} virtual ~Base() {{}} }};
struct Derived : Base {{ int f(int x) const override {{ return {1}; }} }};
int __attribute__((noipa)) call(Base *b, int x) {{ return b->f(x); }}
#pragma omp end declare target
int __attribute__((noipa)) twice(int x)
{{
#pragma omp target map(tofrom: x)
  {{ Derived d; x = {2}; }}
  return x;
}}
int main() {{ int x = twice(20); std::printf("%d\\n", x); return x - 40; }}
"""
LIB = BDIR.parent / "lib"
with_runtime = pytest.mark.skipif(not (LIB / "libgompy.so.1").exists(), reason="the runtime is not built")


def runtime_options() -> str:
    return f"-Wl,--push-state,--no-as-needed,-L{LIB},-lgompy,--pop-state,-rpath,{LIB}"


@with_runtime
def test_virtual_calls_of_objects_made_in_a_region(tmp_path: Path) -> None:
    """GCC maps the host's vtable; the device's own has to be found in its place."""
    text = VIRTUAL.format("", "x * 2", "call(&d, x)")
    link(
        [compile_c(text, tmp_path / "x.o", "ours", gcc="g++", suffix=".cc")],
        tmp_path / "prog",
        runtime_options(),
        gcc="g++",
    )
    program = Program(tmp_path / "prog")
    assert program.image_tables() == (["_Z5twicei._omp_fn.0"], ["_ZTV7Derived"])
    assert program.host_tables() == (["_Z5twicei._omp_fn.0"], [])
    assert [(d.kind, d.nfuncs, d.nvars, d.name) for d in program.described()] == [
        (0, 1, 0, "x.o"),
        (0, 0, 1, "C++ vtables"),
    ]
    assert [d.id for d in program.described()] == [r[0] for r in program.records()]
    end = program.symbols["__offload_vars_end"]
    assert program.names[program.word(end)] == "_ZTV7Derived" and program.word(end + 8) == 40
    assert [program.word(program.symbols["gompy_host_table"] + 8 * i) for i in (2, 3)] == [end, end + 16]
    assert call(tmp_path / "prog", OMP_TARGET_OFFLOAD="mandatory").stdout == "40\n"


def test_vtables_that_need_the_host_are_left_out(tmp_path: Path) -> None:
    """A class with a method that only the host has: no error, the vtable gets no entry."""
    text = VIRTUAL.format("int host_only(int);", "host_only(x)", "x * 2 + (d.Base::f(1) - 1)")
    objects = [
        compile_c(text, tmp_path / "x.o", "ours", gcc="g++", suffix=".cc"),
        compile_c("int host_only(int x) { return x; }", tmp_path / "h.o", "plain", gcc="g++", suffix=".cc"),
    ]
    link(objects, tmp_path / "prog", gcc="g++")
    program = Program(tmp_path / "prog")
    assert program.image_tables()[1] == [] and len(program.described()) == 1
    call(tmp_path / "prog")
