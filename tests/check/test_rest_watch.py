"""`gompy run --check`: stale data of a loop that ends while checks rest (check_rest_watch.h)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"
DEVICES = {"intelmic": "x86_64-intelmicemul-linux-gnu", "nvptx": "nvptx-none"}

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char *how;
static int is (const char *what) { return strcmp (how, what) == 0; }
static void loop (float *a, const float *b, int n, int *count)
{
  for (int k = 0; k < 60; k++)
    {
      #pragma omp target map(alloc: a[:n], b[:n], count[:1])
      for (int i = 0; i < n; i++)
        {
          a[i] += 1 + b[i];
          count[0] = i;
        }
      if (k % 20 == 1 && is ("copied"))
        {
          #pragma omp target update from(a[:n])
        }
      #pragma omp target update from(count[:1])
      if (count[0] != n - 1)
        abort ();
    }
}
int main (int argc, char **argv)
{
  int n = atoi (argv[2]), count = 0;
  float *a = calloc (n, sizeof *a), *b = calloc (n, sizeof *b), got = 0;
  how = argv[1];
  #pragma omp target enter data map(to: a[:n], b[:n], count)
  loop (a, b, n, &count);
  if (is ("read"))
    got += a[n / 2] + b[n / 3];
  if (is ("written"))
    {
      memset (a, 0, n * sizeof *a);
      got += a[n / 2];
    }
  if (is ("other"))
    got += b[n / 2] + count;
  if (is ("updated"))
    {
      #pragma omp target update from(a[:n])
      got += a[n / 2];
    }
  if (is ("changed") || is ("sent"))
    for (int i = 0; i < n; i++)
      b[i] = 2;
  if (is ("sent"))
    {
      #pragma omp target update to(b[:n])
    }
  if (is ("changed") || is ("sent"))
    {
      #pragma omp target map(alloc: a[:n], b[:n])
      for (int i = 0; i < n; i++)
        a[i] *= b[i];
    }
  if (is ("removed"))
    {
      #pragma omp target exit data map(release: a[:n], b[:n])
      got += a[n / 2];
    }
  else
    {
      #pragma omp target exit data map(from: a[:n]) map(release: b[:n], count)
      got += a[n / 2];
    }
  printf ("%g\\n", got);
  free (a);
  free (b);
  return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program for each device."""
    folder = tmp_path_factory.mktemp("rest_watch")
    (folder / "loop.c").write_text(PROGRAM)
    for device, target in DEVICES.items():
        command = [BIN / "gompcc", "-g", "-O1", "-fopenmp", f"-foffload={target}", "loop.c", "-o", device]
        subprocess.run(command, cwd=folder, check=True)
    return {device: folder / device for device in DEVICES}


def told(program: Path, share: int, *words: object) -> tuple[int, str, str, bool]:
    """The exit status, what the program prints, what is told, and whether checks have rested."""
    command = [BIN / "gompy", "run", "--check", "--device", program.name, program, *map(str, words)]
    env = dict(os.environ, GOMPY_CHECK_SHARE=str(share), GOMPY_CUDA="emulated")
    done = subprocess.run(command, cwd=program.parent, env=env, capture_output=True, text=True, check=False)
    text, rested = re.subn(r"gompy run: --check: \d+ of \d+ constructs were looked at in part.*\n", "", done.stderr)
    text = re.sub(r"0x[0-9a-f]+", "0x…", text)
    return done.returncode, done.stdout, text, rested > 0


@pytest.mark.parametrize(
    ("device", "how", "size", "kind"),
    [
        ("intelmic", "read", 50000, "stale-host"),
        ("nvptx", "read", 50000, "stale-host"),
        ("intelmic", "removed", 50000, "stale-host"),
        ("nvptx", "removed", 50000, "stale-host"),
        ("intelmic", "changed", 50000, "stale-device"),
        ("intelmic", "changed", 1000, "stale-device"),
    ],
)
def test_behind_a_loop_is_told_as_without_a_rest(
    programs: dict[str, Path], device: str, how: str, size: int, kind: str
) -> None:
    """With a share of nothing all regions but the first eight are in a rest.

    Which memory regions have written is known of the MIC alone; elsewhere they may have written what was there.
    """
    status, output, text, rested = told(programs[device], 0, how, size)
    assert (status, rested) == (86, True), text
    assert f"[{kind}]" in text
    assert (status, output, text) == told(programs[device], 100, how, size)[:3]


@pytest.mark.parametrize("device", list(DEVICES))
@pytest.mark.parametrize("size", [1000, 50000])
@pytest.mark.parametrize("how", ["copied", "written", "other", "updated", "sent", "end"])
def test_right_program_with_rests_is_not_alarmed_about(
    programs: dict[str, Path], device: str, how: str, size: int
) -> None:
    """The same results, and nothing is told, whatever the share is."""
    for share in (0, 1):
        status, output, text, rested = told(programs[device], share, how, size)
        assert (status, text) == (0, ""), text
        assert rested or share
        assert output == told(programs[device], 100, how, size)[1]
