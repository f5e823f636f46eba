"""C++ on the emulated device: exceptions, type information and virtual calls, written in the regions themselves."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN
from test_intelmic_programs import BIN, build, run

if not PLUGIN.exists() or not (BIN / "gompc++").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

SOURCE = r"""
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <typeinfo>
struct User { int x; };
struct Base { int v; Base (int v) : v (v) {} virtual ~Base () {} virtual int f () { return v; } };
struct Derived : Base { int w; Derived (int v, int w) : Base (v), w (w) {} int f () override { return v + w; } };
struct Error : std::runtime_error { int code; Error (int c) : std::runtime_error ("mine"), code (c) {} };
template <class T> struct Box { T t; virtual ~Box () {} virtual T get () { return t; } };
struct Left : virtual Base { Left () : Base (1) {} };
struct Right : virtual Base { Right () : Base (1) {} };
struct Bottom : Left, Right { Bottom (int n) : Base (n) {} int f () override { return v * 10; } };

static void throws ()
{
  int r[9] = { 0 };
  char text[64] = "", what[64] = "";
#pragma omp target map (tofrom: r, text, what)
  {
    try { throw 42; } catch (int i) { r[0] = i; }
    try { throw std::runtime_error ("boom"); } catch (const std::exception &e) { strcpy (text, e.what ()); }
    try { throw User { 7 }; } catch (User &u) { r[1] = u.x; }
    try { throw Error (5); }
    catch (std::runtime_error &e) { r[2] = dynamic_cast<Error *> (&e)->code; strcpy (what, e.what ()); }
    try { std::string ("abc").at (10); } catch (const std::out_of_range &) { r[3] = 1; }
    try { try { throw User { 3 }; } catch (...) { throw; } } catch (const User &u) { r[4] = u.x; }
    try { throw (const char *) "literal"; } catch (const char *p) { r[5] = p[0]; }
    try { throw Derived (5, 6); } catch (Base &b) { r[6] = b.f (); }
    try { throw (Base *) nullptr; } catch (Base *) { r[7] = 1; }
    try { throw 1.5; } catch (int) { r[8] = 1; } catch (...) { r[8] = 2; }
  }
  printf ("%d %s %d %d %s %d %d %c %d %d %d\n", r[0], text, r[1], r[2], what, r[3], r[4], r[5], r[6], r[7], r[8]);
}

static void types ()
{
  int r[9] = { 0 };
  char name[2][32] = { "" };
#pragma omp target map (tofrom: r, name)
  {
    Derived d (3, 4);
    Base *b = &d, plain (9), *p = &plain;
    asm volatile ("" : "+r" (b), "+r" (p));
    r[0] = dynamic_cast<Derived *> (b)->w;
    r[1] = dynamic_cast<Derived *> (p) == nullptr;
    try { (void) dynamic_cast<Derived &> (*p); } catch (const std::bad_cast &) { r[2] = 1; }
    r[3] = typeid (*b) == typeid (Derived);
    r[4] = typeid (*b) == typeid (Base);
    strcpy (name[0], typeid (*b).name ());
    strcpy (name[1], typeid (Box<int>).name ());
    Bottom *low = new Bottom (4);
    Base *up = low;
    asm volatile ("" : "+r" (up));
    r[5] = up->f ();
    r[6] = dynamic_cast<Right *> (up) == low;
    delete up;
    Box<int> *box = new Box<int>;
    box->t = 5;
    asm volatile ("" : "+r" (box));
    r[7] = box->get ();
    delete box;
  }
  printf ("%d %d %d %d %d %s %s %d %d %d\n", r[0], r[1], r[2], r[3], r[4], name[0], name[1], r[5], r[6], r[7]);
}

static void threads ()
{
  int caught = 0;
#pragma omp target map (tofrom: caught)
#pragma omp parallel num_threads (4) reduction (+: caught)
  try { throw std::logic_error ("in a thread"); } catch (std::logic_error &) { caught++; }
  printf ("%d\n", caught);
}

static void uncaught ()
{
#pragma omp target
  throw std::runtime_error ("nobody");
}

int main (int argc, char **argv)
{
  switch (argv[1][0])
    {
    case 'e': throws (); break;
    case 't': types (); break;
    case 'p': threads (); break;
    case 'u': uncaught ();
    }
}
"""
EXPECTED = {
    "e": "42 boom 7 5 mine 1 3 l 11 1 2\n",
    "t": "4 1 1 1 0 7Derived 3BoxIiE 40 1 5\n",
    "p": "4\n",
}


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that the tests run, compiled for the device by the stock compiler."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOMPY_ACCEL", "gcc")
        return build(tmp_path_factory.mktemp("cxx"), SOURCE, request.param, name="types.cc")


def ask(program: Path, what: str) -> subprocess.CompletedProcess[str]:
    """Run the program for one of its parts."""
    return subprocess.run(
        [program, what],
        capture_output=True,
        text=True,
        env={"OMP_TARGET_OFFLOAD": "mandatory"},
        timeout=60,
        check=False,
    )


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("what", ["e", "t", "p"])
def test_objects_of_the_device(program: Path, what: str) -> None:
    """What a region throws, asks and calls is the device's own, of the program's classes and of the library's."""
    done = ask(program, what)
    assert (done.stdout, done.stderr, done.returncode) == (EXPECTED[what], "", 0)


def test_exception_that_nobody_catches(program: Path) -> None:
    """It ends the program, which names the region."""
    done = ask(program, "u")
    assert done.returncode == 1
    assert "terminate called after throwing an instance of 'std::runtime_error'\n  what():  nobody\n" in done.stderr
    assert "region uncaught._omp_fn.0 (types.cc:" in done.stderr and "signal 6 (Aborted)" in done.stderr


@pytest.mark.slow
def test_types_that_two_libraries_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two libraries and the program throw the same types in regions of their own; the first image's is everybody's."""
    monkeypatch.setenv("GOMPY_ACCEL", "gcc")
    source = r"""
#include <stdexcept>
struct Shared {{ int x; virtual ~Shared () {{}} virtual int get () {{ return x; }} }};
extern "C" int {0} ()
{{
  int r = 0;
#pragma omp target map (tofrom: r)
  {{
    try {{ throw std::runtime_error ("x"); }} catch (std::exception &) {{ r += {1}; }}
    try {{ Shared s; s.x = {1}; throw s; }} catch (Shared &s) {{ r += s.get (); }}
  }}
  return r;
}}
{2}
"""
    for number, name in ((1, "one"), (10, "two")):
        file = tmp_path / f"{name}.cc"
        file.write_text(source.format(name, number, ""))
        command = [BIN / "gompc++", "-O1", "-fopenmp", "-shared", "-fPIC", file, "-o", tmp_path / f"lib{name}.so"]
        subprocess.run(command, check=True)
    main = r"""
#include <cstdio>
extern "C" int one (), two ();
int main () { printf ("%d\n", one () + two () + mine ()); }
"""
    program = build(
        tmp_path,
        source.format("mine", 100, main),
        "-Wl,--no-as-needed",
        "-L.",
        "-lone",
        "-ltwo",
        f"-Wl,-rpath,{tmp_path}",
        name="main.cc",
    )
    done = run(program)
    assert (done.stdout, done.stderr, done.returncode) == ("222\n", "", 0)


def test_types_that_only_the_host_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's half of a function throws what a library of the host defines: no concern of the image's link."""
    monkeypatch.setenv("GOMPY_ACCEL", "gcc")
    header = "struct Odd { int x; virtual ~Odd (); };\n"
    file = tmp_path / "odd.cc"
    file.write_text(header + "Odd::~Odd () {}\n")
    subprocess.run(["g++", "-shared", "-fPIC", file, "-o", tmp_path / "libodd.so"], check=True)
    program = build(
        tmp_path,
        header
        + r"""
#include <cstdio>
int main (int argc, char **)
{
  int r = 0;
#pragma omp target map (tofrom: r)
  try { throw 7; } catch (int i) { r = i; }
  try { if (argc) throw Odd (); } catch (Odd &) { r++; }
  printf ("%d\n", r);
}
""",
        "-Wl,--no-as-needed",
        "-L.",
        "-lodd",
        f"-Wl,-rpath,{tmp_path}",
        name="main.cc",
    )
    done = run(program)
    assert (done.stdout, done.stderr, done.returncode) == ("8\n", "", 0)
