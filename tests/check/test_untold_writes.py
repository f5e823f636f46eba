"""-foffload-check: libraries tell nothing of what they write on the device, and regions read that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

WRITTEN = """#include <math.h>
#include <stdio.h>
int main (void)
{
  double x = 40, m[8], sum = 0;
  int e[8], set = 0;
#pragma omp target map(to: x) map(from: m, e) map(tofrom: sum, set)
  {
    frexp (x, &e[1]);
    set = e[1];
    sum = modf (2.5, &m[3]);
    sum += m[3];
  }
  printf ("%d %g\\n", set, sum);
}
"""
UNWRITTEN = WRITTEN.replace("set = e[1]", "set = e[2] != 77").replace("sum += m[3]", "sum += m[4] != 3 && sum == .5")
COPIED = """#include <math.h>
#include <omp.h>
#include <stdio.h>
int main (void)
{
  double *p = omp_target_alloc (80, 0), *q = omp_target_alloc (80, 0), x = 0;
#pragma omp target is_device_ptr(p)
  modf (2.5, &p[7]);
  omp_target_memcpy (q, p, 80, 0, 0, 0, 0);
#pragma omp target is_device_ptr(q) map(tofrom: x)
  {
    x += q[7];
    x += q[8] == 3;
  }
  printf ("%g\\n", x);
}
"""
TWO = """#include <math.h>
int main (void)
{
  int d[2];
  long long r = 0;
#pragma omp target map(from: d) map(tofrom: r)
  {
    frexp (40., &d[1]);
    r = *(long long *) &d[1];
  }
}
"""


def checked(folder: Path, command: str, name: str, text: str, *words: str) -> tuple[str, str]:
    """What a program says."""
    (folder / name).write_text(text)
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "LC_ALL": "C"}
    line = [str(BIN / command), "-g", "-fopenmp", "-foffload-check", *words, name, "-lm", "-o", "a"]
    subprocess.run(line, cwd=folder, env=env, check=True, timeout=300)
    line = [str(BIN / "gompy"), "run", "--check", "./a"]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    return done.stdout, done.stderr


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_a_library_has_written_is_set(tmp_path: Path, level: str) -> None:
    assert checked(tmp_path, "gompcc", "a.c", WRITTEN, level, "-fno-builtin") == ("6 2.5\n", "")


def test_what_it_has_not_is_told(tmp_path: Path) -> None:
    stdout, stderr = checked(tmp_path, "gompcc", "a.c", UNWRITTEN, "-fno-builtin")
    assert stdout == "1 1.5\n"
    assert "a.c:10: error: region main._omp_fn.0 on device 0 reads e, which nothing has written there" in stderr
    assert "a.c:12: error: region main._omp_fn.0 on device 0 reads m, which nothing has written there" in stderr


def test_what_libgfortran_has_written_is_set(tmp_path: Path) -> None:
    text = (
        "real(8) :: a(3, 3), b(3), c(3), s\na = 2\nb = 1\n!$omp target map(to: a, b) map(from: c, s)\n"
        "c = matmul (a, b)\ns = c(2) + sum (c)\n!$omp end target\nprint '(4f5.1)', c, s\nend\n"
    )
    assert checked(tmp_path, "gompfortran", "a.f90", text, "-O0") == ("  6.0  6.0  6.0 24.0\n", "")


def test_copies_of_what_nothing_has_written_are_told(tmp_path: Path) -> None:
    """They are not as new memory is where they lie now."""
    stdout, stderr = checked(tmp_path, "gompcc", "a.c", COPIED, "-fno-builtin")
    assert stdout == "2\n"
    assert stderr.count("[unset]") == 1 and "a.c:13: error: region main._omp_fn.1 on device 0 reads device" in stderr


def test_a_read_goes_on_behind_what_a_library_has_written(tmp_path: Path) -> None:
    stdout, stderr = checked(tmp_path, "gompcc", "a.c", TWO, "-fno-builtin")
    assert stdout == "" and stderr.count("a.c:9: error: ") == stderr.count("[past-section]") == 1, stderr


@pytest.mark.parametrize("text", [WRITTEN, UNWRITTEN])
def test_memory_that_is_filled_alike(tmp_path: Path, text: str) -> None:
    """As without `gompy run`: all that was unset was taken as written."""
    checked(tmp_path, "gompcc", "a.c", text, "-fno-builtin")
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "GOMPY_CHECK": "1"}
    done = subprocess.run([tmp_path / "a"], env=env, capture_output=True, text=True, timeout=300)
    assert done.stderr.count("is read, which nothing has written there") == 2 * (text == UNWRITTEN), done.stderr
