"""`gompy run --check`: what regions say again and again waits, and is left out (check_again.h)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gompy.abi.check_log import Op
from gompy.check.log import read_log

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"
TIMES = 60

PROGRAM = """
#include <stdlib.h>
int main (int argc, char **argv)
{
  int last = atoi (argv[1]), n = 8;
  int *values = calloc (n, sizeof *values), *others = calloc (n, sizeof *others), wrong = 0;
  #pragma omp target enter data map(to: values[:n], others[:n])
  for (int i = 0; i < TIMES; i++)
    {
      #pragma omp target map(alloc: values[:n])
      values[i == last ? 4096 : i % n]++;
      #pragma omp target map(alloc: others[:n])
      others[i % n]++;
    }
  if (last < 0)
    wrong = others[3];
  #pragma omp target exit data map(from: values[:n], others[:n])
  return wrong ? 3 : 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("again")
    (folder / "again.c").write_text(PROGRAM)
    words = ["-g", "-fopenmp", f"-DTIMES={TIMES}", "again.c", "-o", "again"]
    subprocess.run([str(BIN / "gompcc"), *words], cwd=folder, check=True)
    return folder / "again"


def launches(program: Path, log: Path, **environment: str) -> int:
    """How many a log has."""
    env = {**os.environ, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(log), **environment}
    subprocess.run([str(program), "1000000"], env=env, check=True, timeout=60)
    return sum(event.op == Op.LAUNCH for event in read_log(log.read_bytes()).events)


def test_a_loop_is_logged_a_few_times(program: Path, tmp_path: Path) -> None:
    assert 8 <= launches(program, tmp_path / "log") < 20


def test_all_of_it_is_for_who_reads_more_than_findings(program: Path, tmp_path: Path) -> None:
    assert launches(program, tmp_path / "log", GOMPY_TRACE_FILE=str(tmp_path / "trace")) == 2 * TIMES


@pytest.mark.parametrize("last", [1, TIMES // 2, TIMES - 1])
def test_the_region_that_ends_it_is_told_with_its_line(program: Path, last: int) -> None:
    run = subprocess.run(
        [str(BIN / "gompy"), "run", "--check", str(program), str(last)], capture_output=True, text=True, timeout=60
    )
    assert "again.c:11: error: region main._omp_fn.0 on device 0 goes beyond what is mapped of values" in run.stderr, (
        run.stderr
    )
    assert "again.c:10: note: region main._omp_fn.0 begins here" in run.stderr


def test_what_the_program_reads_after_the_loop_is_told(program: Path) -> None:
    run = subprocess.run(
        [str(BIN / "gompy"), "run", "--check", str(program), "-1"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 86, run.stderr
    assert "again.c:16: error: the host reads others (byte 12 of 32)" in run.stderr, run.stderr


LAST = """
#include <stdlib.h>
static int a[1000], b[1000], c[1000];
static void one (void)
{
  #pragma omp target map(alloc: a)
  a[3]++;
}
static void two (void)
{
  #pragma omp target map(alloc: b)
  b[3]++;
}
int main (int argc, char **argv)
{
  int times = atoi (argv[1]), sum;
  #pragma omp target enter data map(to: a, b, c)
  for (int i = 0; i < times; i++)
    one ();
  for (int i = 0; i < times; i++)
    two ();
  for (int i = 0; i < times; i++)
    {
      one ();
      #pragma omp target update to(c)
    }
  sum = a[3];
  #pragma omp target exit data map(release: a, b, c)
  return sum > 1000;
}
"""


@pytest.mark.parametrize("times", ["2", "20"])
def test_the_last_region_is_told_where_it_was_left_out(tmp_path: Path, times: str) -> None:
    """Of those that were logged the other one was the last."""
    (tmp_path / "last.c").write_text(LAST)
    subprocess.run([str(BIN / "gompcc"), "-g", "-fopenmp", "last.c"], cwd=tmp_path, check=True)
    command = [str(BIN / "gompy"), "run", "--check", str(tmp_path / "a.out"), times]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "last.c:27: error: the host reads a (byte 12 of 4000)" in run.stderr, run.stderr
    assert "last.c:6: note: the last region on device 0" in run.stderr, run.stderr
