"""Names come from the DWARF when a finding asks for them, and then of the entries that matter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gompy.check.dies import below, in_unit
from gompy.check.dwarf import Source
from gompy.check.log import STACK, Frame

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

REGIONS = """#include <stdlib.h>
int
main (void)
{
  int *a = malloc (4000), sum = 0;
  for (int i = 0; i < 1000; i++)
    a[i] = i;
  for (int k = 0; k < 3; k++)
    {
#pragma omp target map(to : a[ : %s]) map(tofrom : sum)
      sum += a[%s + k];
    }
  free (a);
  return sum == 0;
}
"""

ATTACHED = """#include <stdlib.h>
struct row { int n, *v; } rows[3];
int
main (void)
{
  struct row *q = rows;
  int sum = 0;
  q[2].v = calloc (100, sizeof (int));
#pragma omp target enter data map(to : q[ : 3])
#pragma omp target enter data map(to : q[2].v[ : %s])
#pragma omp target map(tofrom : sum)
  sum += q[2].v[%s];
#pragma omp target exit data map(delete : q[2].v[ : 1])
#pragma omp target exit data map(delete : q[ : 3])
  free (q[2].v);
  return sum;
}
"""

REPORTED = """import sys
from gompy.check.run import Files, report
print(report(sys.argv[1], "prog", Files()), "elftools" in sys.modules)
"""


@pytest.mark.parametrize(("size", "first", "read"), [("1000", "5", "0 False"), ("10", "9", "1 True")])
@pytest.mark.parametrize(("source", "name"), [(REGIONS, "a"), (ATTACHED, r"q[2].v")])
def test_dwarf_is_read_for_a_finding_alone(
    tmp_path: Path, source: str, name: str, size: str, first: str, read: str
) -> None:
    """Reading it takes seconds where a program has a million entries, and most runs have no finding."""
    if source == ATTACHED:
        size, first = {"1000": "100", "10": "10"}[size], {"5": "5", "9": "10"}[first]
    (tmp_path / "prog.c").write_text(source % (size, first))
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "GOMPY_PLUGINS": "intelmic", "OFFLOAD_EMUL_MEM": "64M"}
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path, env=env)
    checks = {"GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(tmp_path / "log")}
    subprocess.run(["./prog"], check=False, cwd=tmp_path, env=env | checks, stderr=subprocess.DEVNULL)
    words = [sys.executable, "-c", REPORTED, str(tmp_path / "log")]
    done = subprocess.run(words, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == f"{read}\n"
    assert (f"beyond what is mapped of {name} (40 bytes)" in done.stderr) == (read[0] == "1"), done.stderr


SCATTERED = """#include <map>
#include <string>
int first = 1;
static float *behind_strings;
namespace outer { namespace { long deep[4]; } struct Held { static double member; int x; }; double Held::member; }
template <typename T> struct Kept { static T value; };
template <typename T> T Kept<T>::value;
static thread_local int of_a_thread;
std::map<std::string, int> words;
int
count (int step)
{
  static short calls[8];
  auto inside = [step] { static char once = 3; return once + step; };
  calls[step & 7]++;
  int total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int i = 0; i < 8; i++)
    total += calls[i];
  return total + inside ();
}
int
main (int argc, char **)
{
  of_a_thread = argc;
  behind_strings = new float[4];
  words["a"] = first + (int) outer::deep[argc & 3] + (int) outer::Held::member + Kept<unsigned>::value;
  return count (argc) + of_a_thread == 77;
}
"""


def all_with_addresses(source: Source) -> list[Any]:
    """What a walk through all entries finds."""
    return [
        die
        for unit in source.dwarf.iter_CUs()
        for die in unit.iter_DIEs()
        if die.tag == "DW_TAG_variable"
        and "DW_AT_location" in die.attributes
        and die.attributes["DW_AT_location"].form == "DW_FORM_exprloc"
        and die.attributes["DW_AT_location"].value[:1] == [3]
    ]


@pytest.mark.parametrize("options", [["-g"], ["-g", "-O2"], ["-gdwarf-4", "-O1"], ["-g", "-no-pie"]], ids=" ".join)
def test_a_guided_walk_finds_what_a_walk_through_all_finds(tmp_path: Path, options: list[str]) -> None:
    """Variables with addresses, and the scopes of each function; of a hundred entries it reads a few."""
    (tmp_path / "prog.cc").write_text(SCATTERED)
    words = ["g++", *options, "-fopenmp", "prog.cc", "-o", "prog"]
    subprocess.run(words, check=True, cwd=tmp_path)
    data = (tmp_path / "prog").read_bytes()

    def opened() -> Source:
        return Source(data, 0)

    guided, whole = opened(), opened()
    units = list(guided.dwarf.iter_CUs())
    places = guided._bytes.variables()
    found = [die for unit in units for die in below(unit.get_top_DIE(), in_unit(unit, places))]
    wanted = all_with_addresses(whole)
    assert len(wanted) > 3
    assert {die.offset for die in wanted} <= {die.offset for die in found}
    read = sum(len(unit._dielist) for unit in units)
    assert read * 3 < sum(1 for unit in whole.dwarf.iter_CUs() for _ in unit.iter_DIEs())

    frame = Frame(0, 0x1000, 0x2000, bytes(STACK + 0x1000))
    for begin, size, name in guided._functions:
        if "count" in name or name.startswith("main"):
            frame.pc = begin + size // 2 + 1
            all_of_it = opened()
            all_of_it._functions = []  # so nothing says where to look
            by_walk = list(all_of_it.locals(frame, lambda _: 0))
            assert list(guided.locals(frame, lambda _: 0)) == by_walk, name


PARTS = """#include <stdio.h>
#include <stdlib.h>
__attribute__ ((cold, noinline)) static void
bad (int k)
{
  printf ("bad %d\\n", k);
  abort ();
}
int
main (int argc, char **argv)
{
#pragma omp parallel num_threads(1)
  {
    int *mine = malloc (4000), sum = argc;
    if (argc > 5)
      bad (1);
#pragma omp target map(to: mine[ : 10]) map(tofrom: sum)
    sum += mine[9 + argc];
    if (sum == 77)
      bad (2);
    free (mine);
  }
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_function_in_parts_has_its_names(tmp_path: Path, level: str) -> None:
    """Its addresses are in .debug_ranges, and what starts the team has that of its begin: there its names are not."""
    (tmp_path / "prog.c").write_text(PARTS)
    subprocess.run([BIN / "gompcc", "-g", level, "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 86
    assert "goes beyond what is mapped of mine (40 bytes)" in done.stderr


LATER_LIBRARY = """#include <stdlib.h>
static struct { int n; double *v; } world;
void
twice (int n)
{
  int sum = 0;
  world.v = malloc (n * 8);
#pragma omp target enter data map(to: world) map(alloc: world.v[ : n])
#pragma omp target exit data map(delete: world.v[ : n]) map(delete: world)
#pragma omp target map(tofrom: sum)
  sum += (int) world.v[3];
}
"""

LATER = """#include <stdlib.h>
extern void twice (int);
static int *earlier;
int
main (void)
{
  earlier = malloc (400);
#pragma omp target data map(to: earlier[ : 100])
  twice (100);
}
"""


def test_a_mapping_has_no_name_that_a_later_record_guesses(tmp_path: Path) -> None:
    """That a block of the heap begins there is known of the entry alone: what removes it takes it for another's."""
    (tmp_path / "prog.c").write_text(LATER)
    (tmp_path / "lib.c").write_text(LATER_LIBRARY)
    words = [BIN / "gompcc", "-fopenmp"]  # the library has no names
    subprocess.run([*words, "-shared", "-fPIC", "lib.c", "-o", "lib.so"], check=True, cwd=tmp_path)
    subprocess.run([*words, "-g", "prog.c", "./lib.so", "-o", "prog"], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 86
    assert "note: memory, 800 bytes, mapped here (target enter data)" in done.stderr


LIBRARY = """static struct { int n; float v[3000]; } world;
float
use (int n)
{
  float sum = 0;
#pragma omp target map(tofrom : sum) map(to : world.v[0 : 100])
  for (int i = 0; i < n; i++)
    sum += world.v[i + 1000];
  return sum;
}
"""


def test_variables_of_a_library_have_names(tmp_path: Path) -> None:
    """Of the program's alone they were taken: a library's was "memory", or what a pointer below it points to."""
    (tmp_path / "use.c").write_text(LIBRARY)
    (tmp_path / "prog.c").write_text("float use (int), x[4], *p = x;\nint main (void) { return use (10) == *p; }\n")
    for words in (["-fPIC", "-shared", "use.c", "-o", "libuse.so"], ["prog.c", "-o", "prog", "./libuse.so"]):
        subprocess.run([BIN / "gompcc", "-g", "-fopenmp", *words], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 86
    assert "goes beyond what is mapped of world.v (400 bytes), to 3600 bytes behind its end" in done.stderr, done.stderr
    assert "use.c:6: note: world.v, 400 bytes, mapped here (target)\n" in done.stderr


@pytest.mark.parametrize(
    "damage", [["--strip-debug"], ["--update-section", ".debug_info=junk"], ["--update-section", ".debug_abbrev=junk"]]
)
def test_a_library_without_sound_dwarf_costs_no_other_names(tmp_path: Path, damage: list[str]) -> None:
    """A stripped library has .eh_frame, which was taken for DWARF; then no global variable at all had its name."""
    (tmp_path / "use.c").write_text(LIBRARY)
    (tmp_path / "other.c").write_text("int more[3];\n")
    (tmp_path / "prog.c").write_text("float use (int);\nint main (void) { return use (10) == 1; }\n")
    (tmp_path / "junk").write_bytes(b"\xff" * 64)
    link = ["prog.c", "-o", "prog", "-Wl,--no-as-needed", "./libuse.so", "./libother.so"]
    for words in (
        [BIN / "gompcc", "-g", "-fPIC", "-shared", "other.c", "-o", "libother.so"],
        ["objcopy", *damage, "libother.so"],
        [BIN / "gompcc", "-g", "-fopenmp", "-fPIC", "-shared", "use.c", "-o", "libuse.so"],
        [BIN / "gompcc", "-g", "-fopenmp", *link],
    ):
        subprocess.run(words, check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "goes beyond what is mapped of world.v (400 bytes)" in done.stderr, done.stderr


@pytest.mark.parametrize("version", ["-gdwarf-4", "-gdwarf-5"])
def test_types_in_units_of_their_own(tmp_path: Path, version: str) -> None:
    """A structure's members were not known with DWARF 5: pyelftools looks for such units in .debug_types alone."""
    (tmp_path / "prog.c").write_text("struct pair { int n; double *v; } both;\nint main (void) { return both.n; }\n")
    words = ["gcc", version, "-fdebug-types-section", "prog.c", "-o", "prog"]
    subprocess.run(words, check=True, cwd=tmp_path)
    source = Source((tmp_path / "prog").read_bytes(), 0)
    assert [(v.name, v.points, v.element) for v in source.globals(lambda _: 0)][-1] == ("both.v", True, 8)
