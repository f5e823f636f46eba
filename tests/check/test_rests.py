"""`gompy run --check`: beyond a share of the program's time constructs are not followed for a while (check_rest.h)."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"
TOLD = re.compile(
    r"gompy run: --check: (\d+) of (\d+) constructs were looked at in part, for checks to take at most (\d+)% of the "
    r"program's time; all are with GOMPY_CHECK_SHARE=100"
)

STALE = """
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main (int argc, char **argv)
{
  static int a[1000];
  int sum = 0;
  #pragma omp target enter data map(to: a)
  for (int i = 0; i < atoi (argv[1]); i++)
    {
      #pragma omp target map(alloc: a)
      a[i]++;
    }
  sum += a[3];
  #pragma omp target exit data map(from: a)
  if (argc > 2 && strcmp (argv[2], "leave") == 0)
    _exit (0);
  if (argc > 2)
    kill (getpid (), SIGKILL);
  return sum > 1;
}
"""

LATER = """
#include <stdlib.h>
static int a[1000], b[1000];
static void use (int *p, int times)
{
  for (int i = 0; i < times; i++)
    {
      #pragma omp target map(alloc: p[:1000])
      p[i]++;
    }
}
int main (int argc, char **argv)
{
  int sum = 0;
  #pragma omp target enter data map(to: a, b)
  use (a, atoi (argv[1]));
  #pragma omp target map(alloc: b)
  b[3]++;
  sum += b[3];
  #pragma omp target exit data map(from: a, b)
  return sum > 1;
}
"""

RIGHT = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define N 30000
#pragma omp declare target
int shared[N];
#pragma omp end declare target
struct pair { int *left, count; };
static double now (void)
{
  struct timespec t;
  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}
int main (int argc, char **argv)
{
  int *kept = calloc (N, sizeof (int)), *scratch = calloc (N, sizeof (int)), rounds = 0;
  struct pair pair = { calloc (N, sizeof (int)), N };
  double end = now () + atof (argv[1]);
  #pragma omp target enter data map(to: kept[:N], pair) map(alloc: scratch[:N])
  #pragma omp target enter data map(to: pair.left[:N])
  for (; now () < end; rounds++)
    {
      int sum = 0;
      for (int i = 0; i < N; i += 512)
        scratch[i] = i;  /* of which the device has nothing, as it has what it writes itself */
      #pragma omp target map(alloc: scratch[:N], kept[:N]) map(tofrom: sum)
      for (int i = 0; i < N; i++)
        {
          scratch[i] = i - rounds;
          shared[i]++;
          kept[i] += scratch[i] + rounds;
          sum += kept[i] & 1;
        }
      if (rounds % 3 == 0)
        {
          #pragma omp target update from(kept[:N], shared)
          sum += kept[7] + shared[7];
          kept[7] = sum;
          shared[9] = sum;
          #pragma omp target update to(kept[:N], shared)
        }
      #pragma omp target map(pair)
      for (int i = 0; i < pair.count; i++)
        pair.left[i]++;
      #pragma omp target map(kept[:N])
      kept[rounds % N]++;
    }
  #pragma omp target exit data map(from: kept[:N], pair.left[:N])
  #pragma omp target exit data map(from: pair) map(release: scratch[:N])
  return pair.left[3] == rounds ? 0 : 1;
}
"""

BEYOND = """
#include <stdlib.h>
int main (int argc, char **argv)
{
  int *a = calloc (10000, sizeof (int)), last = atoi (argv[1]);
  for (int i = 0; i <= last; i++)
    {
      int n = i == last ? 1000 : 10000 - i % 7 * 1000, end = i == last ? 5000 : n;
      #pragma omp target map(tofrom: a[:n])
      for (int k = 0; k < end; k++)
        a[k]++;
    }
  return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rests")
    for name, text in (("stale", STALE), ("later", LATER), ("right", RIGHT), ("beyond", BEYOND)):
        (folder / f"{name}.c").write_text(text)
        words = ["-g", "-O1", "-fopenmp", f"{name}.c", "-o", name]
        subprocess.run([str(BIN / "gompcc"), *words], cwd=folder, check=True)
    return folder


def checked(program: Path, argument: str, share: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "gompy"), "run", "--check", *words, str(program), argument]
    env = {**os.environ, "GOMPY_CHECK_SHARE": share}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("times", "share", "status"), [("500", "100", 86), ("500", "0", 0), ("4", "0", 86)])
def test_what_comes_while_the_checks_rest_is_not_told(programs: Path, times: str, share: str, status: int) -> None:
    run = checked(programs / "stale", times, share)
    assert run.returncode == status, run.stderr
    assert ("[stale-host]" in run.stderr) == (status == 86)
    told = TOLD.search(run.stderr)
    assert (told is not None) == (status == 0)
    if told is not None:
        assert [int(number) for number in told.groups()] == [492, 502, 0]


@pytest.mark.parametrize("share", ["0", "1"])
def test_a_construct_that_is_met_first_while_they_rest_is_followed(programs: Path, share: str) -> None:
    run = checked(programs / "later", "500", share)
    assert run.returncode == 86, run.stderr
    assert "[stale-host]" in run.stderr and "later.c:19" in run.stderr


@pytest.mark.parametrize("last", ["4", "300"])
def test_what_goes_beyond_its_end_meanwhile_is_told(programs: Path, last: str) -> None:
    """Also where the device has open pages of a longer one."""
    run = checked(programs / "beyond", last, "0")
    assert run.returncode == 86, run.stderr
    assert "[past-section]" in run.stderr, run.stderr
    assert (TOLD.search(run.stderr) is not None) == (last == "300")


@pytest.mark.parametrize("end", ["leave", "die"])
def test_it_is_told_of_a_program_that_ends_without_a_word(programs: Path, end: str) -> None:
    """Nothing was told then, as if all had been looked at."""
    command = [str(BIN / "gompy"), "run", "--check", str(programs / "stale"), "500", end]
    env = {**os.environ, "GOMPY_CHECK_SHARE": "0"}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    told = TOLD.search(run.stderr)
    assert told is not None, run.stderr
    assert [int(number) for number in told.groups()] == [256, 265, 0]


def test_what_several_processes_left_out_is_told_of_all(programs: Path) -> None:
    """The last one's numbers stood for all."""
    words = f"'{programs}/stale' 500; '{programs}/stale' 20"
    command = [str(BIN / "gompy"), "run", "--any", "--check", "sh", "-c", words]
    env = {**os.environ, "GOMPY_CHECK_SHARE": "0"}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    told = TOLD.search(run.stderr)
    assert told is not None, run.stderr
    assert [int(number) for number in told.groups()] == [492 + 12, 502 + 22, 0]


def test_the_json_has_how_many(programs: Path, tmp_path: Path) -> None:
    for share, rested in (("0", 492), ("100", 0)):
        checked(programs / "stale", "500", share, "--check-json", str(tmp_path / "found"))
        assert json.loads((tmp_path / "found").read_text())["in_part"] == rested


def test_a_right_program_stays_right_as_they_rest_and_begin_again(programs: Path) -> None:
    run = checked(programs / "right", "2.5", "1")
    assert run.returncode == 0, run.stderr
    told = TOLD.search(run.stderr)
    assert told is not None, run.stderr
    assert 0 < int(told[1]) < int(told[2])


@pytest.mark.parametrize("share", ["101", "-1", "much", "5%"])
def test_a_share_that_is_none_is_told(programs: Path, share: str) -> None:
    run = checked(programs / "stale", "1", share)
    want = f"libgompy: GOMPY_CHECK_SHARE={share}: a share of the program's time is a number from 0 to 100 (percent)"
    assert want in run.stderr
