"""The linkers that gcc can be told to use: which of them link device code, and what is said of those that do not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from driver_tools import Tools, has_all

pytestmark = has_all

MAIN = """
#include <stdio.h>
#pragma omp declare target
int five = 5;
#pragma omp end declare target
int f (int);
int main (void)
{
  int x = 1;
#pragma omp target map(tofrom: x)
  x += five;
#pragma omp target map(tofrom: x)
  x += five;
  printf ("%d\\n", f (x));
}
"""
OTHER = """
#include <omp.h>
#pragma omp declare target
int seven = 7;
#pragma omp end declare target
int f (int x)
{
  int host = 9;
#pragma omp target map(tofrom: x, host)
  { x += seven; host = omp_is_initial_device (); }
  return host ? -1 : x;
}
"""
CLASSES = """
#include <cstdio>
#pragma omp declare target
struct base { virtual int get () { return 1; } };
struct derived : base { int get () override { return 41; } };
int seven = 7;
#pragma omp end declare target
int main ()
{
  int x = 0, y = 0;
#pragma omp target map(tofrom: x)
  { derived d; base *b = &d; x = b->get (); }
#pragma omp target map(tofrom: y)
  y = seven;
  std::printf ("%d\\n", x + y);
  return 0;
}
"""

USES_CLASSES = MAIN.replace("int f (int);", "int f (int); int classes (void);").replace(
    "  int x", "  classes ();\n  int x"
)


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    made = Tools(bin_folder, tmp_path)
    made.write("main.c", MAIN)
    made.write("other.c", OTHER)
    made.write("classes.cc", CLASSES)
    made.env["LC_ALL"] = "C"
    return made


def linker(name: str) -> str:
    """The option; skips where the linker is missing."""
    if not (shutil.which(f"ld.{name}") or shutil.which(name)):
        pytest.skip(f"not installed: {name}")
    return f"-fuse-ld={name}"


LTO = [("bfd", ""), ("bfd", "-flto"), ("gold", ""), ("gold", "-flto"), ("mold", "-flto"), ("mold", "-flto=2")]


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(("name", "lto"), LTO, ids=" ".join)
def test_regions_and_variables(tools: Tools, name: str, lto: str) -> None:
    options = ["-O1", "-fopenmp", linker(name), *([lto] if lto else [])]
    for sources in (("main.c", "other.c"), ("other.c", "main.c")):
        done = tools.run("gompcc", *options, *sources, "-o", "prog")
        assert (done.returncode, done.stderr) == (0, "")
        assert tools.ok("./prog") == "18\n"


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(("name", "lto"), LTO, ids=" ".join)
def test_classes(tools: Tools, name: str, lto: str) -> None:
    """Their vtables are entries behind all others."""
    done = tools.run("gompc++", "-O1", "-fopenmp", linker(name), *([lto] if lto else []), "classes.cc", "-o", "prog")
    assert (done.returncode, done.stderr) == (0, "")
    assert tools.ok("./prog") == "48\n"
    assert "seven" in tools.ok("gompy", "inspect", "--table", "vars", "prog")
    tools.ok("gompy", "inspect", "--check", "prog")


def test_gc_sections_with_mold(tools: Tools) -> None:
    tools.ok("gompcc", "-fopenmp", "-flto", linker("mold"), "-Wl,--gc-sections", "main.c", "other.c", "-o", "prog")
    assert tools.ok("./prog") == "18\n"


def test_ordinary_object_beside_lto_objects_with_mold(tools: Tools) -> None:
    """mold before 2.30 does not hand it to the plugin: gompcc says so, and the program says which object it is."""
    option = linker("mold")
    tools.ok("gompcc", "-fopenmp", "-c", "other.c")
    done = tools.run("gompcc", "-fopenmp", "-flto", option, "main.c", "other.o", "-o", "prog")
    assert done.returncode == 0
    assert "gompcc: warning: 'mold' hands only objects of -flto to gcc's linker plugin" in done.stderr
    done = tools.run("./prog")
    if done.returncode:
        assert "object other.c has regions or device variables and is not in the device image" in done.stderr
    else:
        assert done.stdout == "18\n"


def test_no_warning_where_mold_links_everything(tools: Tools) -> None:
    tools.ok("gompcc", "-fopenmp", "-flto", "-c", "other.c")
    done = tools.run("gompcc", "-fopenmp", "-flto", "-fuse-ld=mold", "main.c", "other.o", "-###")
    assert "warning" not in done.stderr
    tools.ok("ar", "rc", "libother.a", "other.o")
    done = tools.run("gompcc", "-fopenmp", "-flto", "-fuse-ld=mold", "main.c", "libother.a", "-###")
    assert "warning" not in done.stderr


def test_lld_is_warned_of(tools: Tools) -> None:
    done = tools.run("gompcc", "-fopenmp", linker("lld"), "main.c", "other.c", "-o", "prog")
    assert done.returncode == 0
    assert "'lld' does not hand objects to gcc's linker plugin, so no device code is linked" in done.stderr
    assert tools.ok("./prog") == "-1\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", [("other.o", "classes.o", "main.o"), ("main.o", "classes.o", "other.o")], ids=" ".join
)
def test_classes_between_lto_and_ordinary_objects(tools: Tools, order: tuple[str, ...]) -> None:
    """Host LTO's objects stand among the others, and what the plugin adds stands with them."""
    tools.write("classes.cc", CLASSES.replace("int main", 'extern "C" int classes').replace("seven", "seven_"))
    tools.write("main.c", USES_CLASSES)
    for lto in order:
        for name in order:
            source = "classes.cc" if name == "classes.o" else name.replace(".o", ".c")
            options = ["-flto"] if name == lto else []
            tools.ok("gompc++" if source == "classes.cc" else "gompcc", "-fopenmp", *options, "-c", source)
        tools.ok("gompc++", "-fopenmp", *order, "-o", "prog")
        assert tools.ok("./prog") == "48\n18\n"
