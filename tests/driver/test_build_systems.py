"""CMake, make, Meson, ccache and configure scripts with the wrappers as compilers."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, has_as, needs

CHECK_C = """
#include <stdio.h>
#include <omp.h>
int from_static (int); int from_shared (int);
int main (void) { int host = 1;
#pragma omp target map(tofrom: host)
  host = omp_is_initial_device ();
  printf ("%d %d %d\\n", host, from_static (1), from_shared (1)); return 0; }
"""
PART_C = """
#include <omp.h>
int NAME (int a) { int r = 0;
#pragma omp target map(from: r)
  r = a + 100 * omp_is_initial_device ();
  return r; }
"""
CHECK_CXX = """
#include <iostream>
#include <omp.h>
struct S { int host; };
int main () { S s { 1 };
#pragma omp target map(tofrom: s)
  s.host = omp_is_initial_device ();
  std::cout << s.host << '\\n'; }
"""
CHECK_FORTRAN = """
program p
  use omp_lib
  logical :: host
  host = .true.
  !$omp target map(tofrom: host)
  host = omp_is_initial_device ()
  !$omp end target
  print '(L1)', host
end program
"""
CMAKE = """
cmake_minimum_required (VERSION 3.18)
project (trip C CXX Fortran)
find_package (OpenMP REQUIRED)
add_library (st STATIC st.c)
target_link_libraries (st PRIVATE OpenMP::OpenMP_C)
add_library (sh SHARED sh.c)
target_link_libraries (sh PRIVATE OpenMP::OpenMP_C)
add_executable (c main.c)
target_link_libraries (c PRIVATE st sh OpenMP::OpenMP_C)
add_executable (cxx main.cc)
target_link_libraries (cxx PRIVATE OpenMP::OpenMP_CXX)
add_executable (f main.f90)
target_link_libraries (f PRIVATE OpenMP::OpenMP_Fortran)
"""
MESON = """
project ('trip', 'c', 'cpp', 'fortran')
omp = dependency ('openmp')
st = static_library ('st', 'st.c', dependencies: omp)
sh = shared_library ('sh', 'sh.c', dependencies: omp)
executable ('c', 'main.c', link_with: [st, sh], dependencies: omp)
executable ('cxx', 'main.cc', dependencies: dependency ('openmp', language: 'cpp'))
executable ('f', 'main.f90', dependencies: dependency ('openmp', language: 'fortran'))
"""
MAKEFILE = """
CFLAGS = -O2 -fopenmp
ARFLAGS = rcs
c: main.o libst.a libsh.so
\t$(CC) $(CFLAGS) -o $@ main.o -L. -lst -lsh -Wl,-rpath,'$$ORIGIN'
libst.a: libst.a(st.o)
libsh.so: sh.c
\t$(CC) $(CFLAGS) -fPIC -shared -o $@ $<
"""


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    work = tmp_path / "work"
    work.mkdir()
    made = Tools(bin_folder, work)
    made.env.update(CC="gompcc", CXX="gompc++", FC="gompfortran", LC_ALL="C", CCACHE_DIR=str(tmp_path / "ccache"))
    for name in ("CFLAGS", "CXXFLAGS", "FFLAGS", "LDFLAGS", "MAKEFLAGS", "CCACHE_DISABLE"):
        made.env.pop(name, None)
    made.write("main.c", CHECK_C)
    made.write("st.c", PART_C.replace("NAME", "from_static"))
    made.write("sh.c", PART_C.replace("NAME", "from_shared"))
    made.write("main.cc", CHECK_CXX)
    made.write("main.f90", CHECK_FORTRAN)
    return made


def check_programs(tools: Tools, folder: str) -> None:
    """All three programs run their regions on the device."""
    assert tools.ok(f"{folder}/c") == "0 1 1\n"
    assert tools.ok(f"{folder}/cxx") == "0\n"
    assert tools.ok(f"{folder}/f") == "F\n"


@pytest.mark.slow
@has_all
@needs("cmake", "make")
@pytest.mark.parametrize("generator", ["Unix Makefiles", "Ninja"])
def test_cmake_find_openmp(tools: Tools, generator: str) -> None:
    if generator == "Ninja" and not shutil.which("ninja"):
        pytest.skip("not installed: ninja")
    tools.write("CMakeLists.txt", CMAKE)
    tools.ok("cmake", "-S", ".", "-B", "build", "-G", generator)
    tools.ok("cmake", "--build", "build")
    check_programs(tools, "build")
    cache = (tools.work / "build/CMakeCache.txt").read_text()
    assert "OpenMP_C_FLAGS:STRING=-fopenmp\n" in cache
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", tools.ok("readelf", "-dW", "build/c"))
    assert libraries.index("libgompy.so.1") < libraries.index("libc.so.6")


@has_all
@needs("make", "ar")
def test_makefile(tools: Tools) -> None:
    tools.write("Makefile", MAKEFILE)
    done = tools.run("make", "CC=gompcc", "c")
    assert (done.returncode, done.stderr) == (0, "")
    assert tools.ok("./c") == "0 1 1\n"


@has_all
@needs("meson", "ninja")
def test_meson_openmp(tools: Tools) -> None:
    tools.write("meson.build", MESON)
    # Debian's meson is a program of the system's Python, which a virtual environment's variables would mislead.
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        tools.env.pop(name, None)
    tools.ok("meson", "setup", "build")
    tools.ok("ninja", "-C", "build")
    check_programs(tools, "build")


@has_as
@needs("ccache")
def test_ccache(tools: Tools) -> None:
    command = ["ccache", "gompcc", "-fopenmp", "-O2", "-c", "st.c", "-o"]
    tools.ok(*command, "one.o")
    before = tools.ok("ccache", "--print-stats")
    tools.ok(*command, "two.o")
    after = tools.ok("ccache", "--print-stats")
    tools.ok("gompcc", "-fopenmp", "-O2", "-c", "st.c", "-o", "three.o")
    hit = re.compile(r"^(?:direct|preprocessed)_cache_hit\t(\d+)", re.MULTILINE)
    assert [sum(map(int, hit.findall(text))) for text in (before, after)] == [0, 1]
    contents = {(tools.work / name).read_bytes() for name in ("one.o", "two.o", "three.o")}
    assert len(contents) == 1
    assert b".gompyir_.opts" in contents.pop()


@has_as
@needs("ccache")
def test_ccache_tells_the_ways_of_the_assembler_filter_apart(tools: Tools) -> None:
    """A ccache beneath the wrapper sees words only: -flto objects and others must not be taken for each other."""
    env = {"GOMPY_CC": "ccache gcc"}
    tools.ok("gompcc", "-c", "-fopenmp", "st.c", "-o", "plain.o", env=env)
    tools.ok("gompcc", "-flto", "-ffat-lto-objects", "-c", "-fopenmp", "st.c", "-o", "lto.o", env=env)
    assert b".gompyir_.opts" in (tools.work / "plain.o").read_bytes()
    assert b".gompyir_.opts" not in (tools.work / "lto.o").read_bytes()


CONFIGURE = r"""
CC=${CC-cc}; set -e
echo "int main (void) { return 0; }" > conftest.c
$CC conftest.c; test -f a.out; ./a.out                      # default output name, runs
$CC -c conftest.c; test -f conftest.o                       # object suffix
$CC --version | sed 1q; $CC -v 2>/dev/null; $CC -dumpmachine
if $CC -qversion 2>/dev/null; then exit 1; fi               # unknown options fail
if $CC -V 2>/dev/null; then exit 1; fi
echo "#ifndef __GNUC__
choke me
#endif
#ifdef _OPENMP
choke me
#endif" > conftest.c; $CC -c conftest.c
echo "#ifndef _OPENMP
choke me
#endif
#include <omp.h>
int main (void) { return omp_get_num_threads (); }" > conftest.c
if $CC conftest.c -o conftest 2>/dev/null; then exit 1; fi  # AC_OPENMP: none, then -fopenmp
$CC -fopenmp conftest.c -o conftest
$CC -E -fopenmp conftest.c > conftest.i; grep -q omp_get_num_threads conftest.i
$CC -fopenmp -M conftest.c | grep -q conftest.c
for lib in '' -lgomp; do $CC -fopenmp conftest.c $lib -o conftest; done
$CC -print-prog-name=ld; $CC -print-search-dirs | grep -q libraries
$CC -Wl,--version 2>/dev/null | sed 1q; $CC -shared -fPIC -o conftest.so -x c /dev/null
$CC -fopenmp -shared -fPIC conftest.c -Wl,-soname -Wl,libc.so -o conftest.so
$CC -v -fopenmp -o conftest conftest.c 2>&1 | grep -q collect2
"""


@pytest.mark.slow
@has_all
@needs("gcc")
def test_what_configure_scripts_try(tools: Tools) -> None:
    tools.write("configure", CONFIGURE)
    outputs = []
    for compiler in ("gcc", "gompcc"):
        folder = tools.work / compiler
        folder.mkdir()
        done = tools.run("sh", "-e", "../configure", env={"CC": compiler}, cwd=folder)
        outputs.append((done.returncode, done.stdout, done.stderr.replace("gompcc", "gcc"), sorted(os.listdir(folder))))
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == 0, outputs[0]
