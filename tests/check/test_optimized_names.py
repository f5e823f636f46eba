"""Names of what optimized code has no place for any more."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

PASSED = """#include <stdlib.h>
__attribute__ ((noinline, noclone)) void
work (const int *first, const int *second, int *third, int *fourth, int n)
{
#pragma omp target map(to : first[ : n], second[ : n]) map(tofrom : third[ : n], fourth[ : n])
  for (int i = 0; i < n; i++)
    {
      third[i] += first[i];
      fourth[i] += second[i];
    }
}
int
main (int argc, char **argv)
{
  int n = 1000 + argc, sum = 0, *all[4];
  for (int k = 0; k < 4; k++)
    all[k] = calloc (n, sizeof (int));
  int *a = all[0], *b = all[1], *c = all[2], *d = all[3];
  for (int i = 0; i < n; i++)
    a[i] = b[i] = i;
  work (a, b, c, d, n);
  for (int i = 0; i < n; i++)
    sum += a[i] + b[i] + c[i] + d[i];
  free (a), free (b), free (c), free (d);
  return sum == 7;
}
"""


def run(folder: Path, *options: str, source: str = PASSED) -> subprocess.CompletedProcess[str]:
    """Build with the options, run as ``gompy run --show-maps``."""
    (folder / "prog.c").write_text(source)
    subprocess.run([BIN / "gompcc", *options, "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=folder)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--show-maps", "./prog"]
    return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-O3"])
@pytest.mark.parametrize("dwarf", ["-g", "-gdwarf-4"])
def test_parameters_that_are_needed_no_longer(tmp_path: Path, level: str, dwarf: str) -> None:
    """At the call they are where gcc's lists of places end, or nowhere, and the caller has them: all was "memory"."""
    done = run(tmp_path, dwarf, level)
    assert done.returncode == 0
    named = re.findall(r"^prog.c:5 map\(\w+: (\w+)\[0:1001\]\) host .* new", done.stderr, re.MULTILINE)
    assert sorted(named) == ["first", "fourth", "second", "third"], done.stderr


def test_a_parameter_that_was_changed_is_not_what_it_was(tmp_path: Path) -> None:
    """The name is of the block that it points to now."""
    swap = "{\n  const int *before = first;\n  first = second;\n  second = before;\n#pragma"
    done = run(tmp_path, "-g", "-O0", source=PASSED.replace("{\n#pragma", swap))
    named = re.findall(r"map\(to: (\w+)\[0:1001\]\) host (0x\w+) .* new", done.stderr)
    blocks = {name: int(address, 16) for name, address in named}
    assert set(blocks) == {"first", "second"}
    assert blocks["second"] < blocks["first"], done.stderr


HIDDEN = """#include <stdlib.h>
static int *own;
void
begin (int n)
{
  own = calloc (n, sizeof (int));
#pragma omp target enter data map(to : own[ : n])
}
void
again (int n)
{
  for (int k = 0; k < 5; k++)
    {
#pragma omp target update to(own[ : n])
    }
#pragma omp target exit data map(delete : own[ : n])
  free (own);
}
"""

HIDING = """#include <stdlib.h>
void begin (int);
void again (int);
int *low;
int
main (void)
{
  low = calloc (4000, sizeof (int));
  begin (4000);
#pragma omp target map(to : low[ : 4000])
  low[0]++;
  again (4000);
  free (low);
}
"""


def test_a_block_has_no_name_of_one_before_it(tmp_path: Path) -> None:
    """That a block begins there is known since it was mapped; each later record took it for the pointer below it."""
    (tmp_path / "hidden.c").write_text(HIDDEN)
    (tmp_path / "prog.c").write_text(HIDING)
    for words in (["-c", "hidden.c"], ["-g", "prog.c", "hidden.o", "-o", "prog"]):
        subprocess.run([BIN / "gompcc", "-fopenmp", *words], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert re.findall(r"advice: (\w+) \(16000 bytes\) was copied to device 0 5 times", done.stderr) == ["memory"]
