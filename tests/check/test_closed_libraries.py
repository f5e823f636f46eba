"""`gompy run --check`: names and lines of libraries that are gone at the end, or lie behind very many mappings."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

LIBRARY = """static float NAME[3000];
int
run (int n)
{
  int sum = 0;
#pragma omp target map(alloc : NAME[0 : 100]) map(tofrom : sum)
  sum += NAME[n] == 7;
  return sum;
}
"""

PROGRAM = """#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
static void
use (const char *path, int closes)
{
  void *library = dlopen (path, RTLD_NOW);
  if (library == NULL)
    abort ();
  if (((int (*) (int)) dlsym (library, "run")) (50))
    puts ("wrong");
  if (closes)
    dlclose (library);
}
int
main (int argc, char **argv)
{
  int mappings = atoi (argv[1]);
  for (int i = 2; i < argc; i++)
    use (argv[i], mappings == 0);
  char *rows = mmap (NULL, mappings * 8192L + 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < mappings; i++)
    mprotect (rows + i * 8192L, 4096, PROT_READ | PROT_WRITE);
}
"""


@pytest.fixture(name="folder")
def built(tmp_path: Path) -> Path:
    """A folder with the program and two libraries."""
    (tmp_path / "prog.c").write_text(PROGRAM)
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(LIBRARY.replace("NAME", name))
    for words in (["-fPIC", "-shared", "one.c", "-o", "one.so"], ["-fPIC", "-shared", "two.c", "-o", "two.so"]):
        subprocess.run([BIN / "gompcc", "-g", "-fopenmp", *words], check=True, cwd=tmp_path)
    subprocess.run([BIN / "gompcc", "-g", "prog.c", "-o", "prog", "-ldl"], check=True, cwd=tmp_path)
    return tmp_path


def checked(folder: Path, *words: str) -> str:
    """What the check says of the program with some words."""
    command = [BIN / "gompy", "run", "--device", "intelmic", "--any", "--check", "./prog", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 86, done.stderr
    return done.stderr


def test_each_library_at_one_place(folder: Path) -> None:
    """The loader puts each one where the last one was; which one it was is known by when the construct ran."""
    said = checked(folder, "0", "./one.so", "./two.so", "./one.so")
    for name, times in (("one", " (2 times)"), ("two", "")):
        error = f"{name}.c:7: error: region run._omp_fn.0 on device 0 reads {name}, which nothing has written there"
        note = f"{name}.c:6: note: {name}, 400 bytes, mapped here (target)"
        assert f"{error} (byte 200 of 400){times} [unset]\n{note}\n" in said


def test_a_library_behind_many_mappings(folder: Path) -> None:
    """/proc/self/maps has them in the order of addresses: those of the program came first, and no room was left."""
    assert "\none.c:6: note: one, 400 bytes, mapped here (target)\n" in checked(folder, "1500", "./one.so")


def test_a_library_whose_addresses_do_not_begin_at_0(folder: Path) -> None:
    """The program is killed, so that the library's going is not in the log."""
    subprocess.run(
        [BIN / "gompcc", "-g", "-fopenmp", "-fPIC", "-shared", "one.c", "-o", "far.so", "-Wl,-Ttext-segment=0x200000"],
        check=True,
        cwd=folder,
    )
    (folder / "kills.c").write_text("#include <stdlib.h>\nint run (int);\nint main (void) { run (50); abort (); }\n")
    words = [BIN / "gompcc", "-g", "kills.c", "./far.so", "-o", "kills"]
    subprocess.run(words, check=True, cwd=folder)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./kills"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "\none.c:6: note: one, 400 bytes, mapped here (target)\n" in done.stderr, done.stderr
