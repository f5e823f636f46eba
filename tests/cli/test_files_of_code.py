"""Lines and names of code come from the file that it is in, whatever the loader, or the shell, has called that."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all

pytestmark = has_all

LIBRARY = """int
run (int n)
{
#pragma omp target map(tofrom : n)
  n++;
  return n;
}
"""
PROGRAM = """#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>
int run (int);
int
main (int argc, char **argv)
{
  int (*called) (int) = argc > 1 ? (int (*) (int)) dlsym (dlopen (argv[1], RTLD_NOW), "run") : run;
  return called (1) != 2;
}
"""


@pytest.fixture(name="tools")
def built(bin_folder: Path, tmp_path: Path) -> Tools:
    """A program with a region, and a library with one."""
    tools = Tools(bin_folder, tmp_path)
    tools.env |= {"GOMPY_PLUGINS": "intelmic", "OFFLOAD_EMUL_MEM": "64M"}
    tools.write("lib.c", LIBRARY)
    tools.write("own.c", LIBRARY)
    tools.write("prog.c", PROGRAM)
    tools.ok("gompcc", "-g", "-fopenmp", "-fPIC", "-shared", "lib.c", "-o", "lib.so")
    tools.ok("gompcc", "-g", "-fopenmp", "prog.c", "./lib.so", "-o", "linked")
    tools.ok("gompcc", "-g", "-fopenmp", "prog.c", "own.c", "-ldl", "-o", "opens")
    return tools


@pytest.mark.parametrize("words", [["./linked"], ["./opens", "./lib.so"]], ids=" ".join)
def test_a_library_by_a_path_from_here(tools: Tools, words: list[str]) -> None:
    """It was taken for the program, as its path does not begin with a slash: there was a line of that, or none."""
    done = tools.run("gompy", "run", "--info", *words)
    assert done.returncode == 0
    row = next(line.split() for line in done.stderr.splitlines() if line.startswith("run._omp_fn.0"))
    assert row[1] == "lib.c:4"


def test_a_program_by_the_name_of_another_file(tools: Tools) -> None:
    """As `exec -a other` does it: that file was searched for the program's names."""
    shutil.copy("/bin/true", tools.work / "other")
    env = tools.env | {"GOMPY_TRACE_FILE": str(tools.work / "trace.json")}
    subprocess.run(["other"], executable=tools.work / "opens", cwd=tools.work, env=env, check=True)
    events = json.loads((tools.work / "trace.json").read_text())
    assert "target run._omp_fn.0" in [event.get("name") for event in events]
