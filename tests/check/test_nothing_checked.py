"""`gompy run --check` of a program whose regions all run on the host does not look like one without errors."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
SUMMARY = "gompy run: --check: nothing was checked: regions ran on the host: "

PROGRAM = """
#include <stdio.h>
int main (void)
{
  int a[10];
  #pragma omp target map(from: a)
  for (int i = 0; i < 10; i++)
    a[i] = i;
  printf ("%d\\n", a[3]);
}
"""
NARROW = "ulimit -v 30000000"
"""The emulated GPU's memory finds room there, but not its shadow."""


def run(
    folder: Path, before: str, *options: str, build: str = "", program: str = PROGRAM
) -> subprocess.CompletedProcess[str]:
    """A program under the check, after commands of the shell."""
    (folder / "a.c").write_text(program)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "a.c", *build.split()], cwd=folder, check=True)
    command = shlex.join([str(BIN / "gompy"), "run", *options, "./a.out"])
    env = {**os.environ, "LC_ALL": "C", "GOMPY_CUDA": "emulated"}
    words = ["sh", "-c", f"{before or ':'}; exec {command}"]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_a_gpu_without_room_for_its_shadow(tmp_path: Path) -> None:
    options = ["--device", "nvptx", "--check"]
    done = run(tmp_path, NARROW, *options, "--check-json", "j", build="-foffload=nvptx-none")
    assert (done.returncode, done.stdout) == (86, "3\n")
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("libcuda (gompy): error: can't reserve ")
    assert first.endswith(" for GOMPY_CHECK: set GOMPY_CUDA_MEMORY to less")
    assert last == f"{SUMMARY}there is no device"
    found = json.loads((tmp_path / "j").read_text())
    assert (found["unchecked"], found["findings"]) == ("there is no device", [])


def test_what_is_not_checked_is_not_checked_in_part(tmp_path: Path) -> None:
    """Constructs are counted as they rest, on whichever side their regions run."""
    program = PROGRAM.replace("#pragma", "for (int k = 0; k < 40; k++)\n  #pragma")
    before = f"{NARROW}; export GOMPY_CHECK_SHARE=0"
    options = ["--device", "nvptx", "--check", "--check-json", "j"]
    done = run(tmp_path, before, *options, build="-foffload=nvptx-none", program=program)
    assert (done.returncode, done.stdout) == (86, "3\n")
    assert done.stderr.splitlines()[-1] == f"{SUMMARY}there is no device"
    assert json.loads((tmp_path / "j").read_text()).get("in_part", 0) == 0


def test_the_mend_that_is_told_mends_it(tmp_path: Path) -> None:
    before = f"{NARROW}; export GOMPY_CUDA_MEMORY=1G"
    done = run(tmp_path, before, "--device", "nvptx", "--check", build="-foffload=nvptx-none")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


@pytest.mark.parametrize(("status", "code"), [("0", 0), ("3", 3)])
def test_its_status_is_that_of_errors(tmp_path: Path, status: str, code: int) -> None:
    options = ["--device", "nvptx", "--check", "--check-status", status]
    assert run(tmp_path, NARROW, *options, build="-foffload=nvptx-none").returncode == code


def test_a_device_that_has_to_be_there(tmp_path: Path) -> None:
    """The program ends by itself then, with its own status."""
    done = run(tmp_path, NARROW, "--device", "nvptx", "--mandatory", "--check", build="-foffload=nvptx-none")
    assert (done.returncode, done.stdout) == (1, "")
    assert "OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found" in done.stderr


def test_who_wants_no_device_is_told_and_has_the_programs_status(tmp_path: Path) -> None:
    done = run(tmp_path, "", "--device", "host", "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", f"{SUMMARY}OMP_TARGET_OFFLOAD is disabled\n")


def test_a_region_that_the_program_wants_on_the_host(tmp_path: Path) -> None:
    program = PROGRAM.replace("map(from: a)", "map(from: a) if (a == 0)")
    done = run(tmp_path, "", "--device", "intelmic", "--check", program=program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("ulimit -v 900000", ""),
        ("ulimit -v 300000", "set OFFLOAD_EMUL_MEM to less, or the limit to more (448 MiB are kept of any)"),
    ],
)
def test_what_exact_checks_keep_has_room_or_is_told(tmp_path: Path, limit: str, told: str) -> None:
    done = run(tmp_path, limit, "--device", "intelmic", "--check", build="-foffload-check")
    assert (done.returncode, told in done.stderr) == (1 if told else 0, True), done.stderr
    if not told:
        assert (done.stdout, done.stderr) == ("3\n", "")


OPENS = """
#include <dlfcn.h>
#include <omp.h>
int main (void)
{
  void *early = omp_target_alloc (100, 0);
  for (int i = 0; i < 2; i++)
    {
      void *library = dlopen ("./late.so", RTLD_NOW);
      ((void (*) (void)) dlsym (library, "late")) ();
      dlclose (library);
    }
  return early == 0;
}
"""
LATE = """
int late (void)
{
  int p[2] = { 0, 0 };
#pragma omp target parallel num_threads(4) map(tofrom: p)
  p[0]++;
  return p[1];
}
"""


def test_a_checked_library_that_comes_too_late(tmp_path: Path) -> None:
    """The device's process has no room for what its accesses need: once that was told by nobody."""
    (tmp_path / "late.c").write_text(LATE)
    words = [BIN / "gompcc", "-g", "-fopenmp", "-foffload-check", "-fPIC", "-shared", "late.c", "-o", "late.so"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = run(tmp_path, "", "--any", "--device", "intelmic", "--check", build="-ldl", program=OPENS)
    told = (
        "was made with -foffload-check, and the device was started for images without it: no race of its regions is "
        "found; make the program with it as well\n"
    )
    assert done.stderr == f"\nlibgomp: device 0 (intelmic): late.so {told}", done.stderr
