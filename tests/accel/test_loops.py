"""The plugin for -foffload-check (gompy accel build --check): loops are asked about at once, and told as without.

Each program is made without the plugin, too: both must say the same.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gompy.accel import host, packages
from gompy.objects.elf import open_object

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
ENTRY = "gompy_access_range"
HEAD = "#include <stdio.h>\n#include <stdlib.h>\nenum { n = 5000 };\n"

RIGHT = {
    "triangle": """
      double (*m)[100] = malloc (100 * sizeof *m);
      for (int i = 0; i < 100; i++) for (int k = 0; k < 100; k++) m[i][k] = i * k;
      #pragma omp target teams distribute parallel for map(tofrom: m[:100])
      for (int i = 0; i < 100; i++)
        for (int k = 0; k < i; k++)
          m[k][i] = m[i][k];
      printf ("%g\\n", m[3][50]);""",
    "empty": """
      int *p = calloc (n, sizeof *p), last = atoi ("0");
      #pragma omp target map(tofrom: p[:n])
      for (int i = 0; i < last; i++)
        p[i + 100000] = 1;
      printf ("%d\\n", p[4]);""",
    "written-then-read": """
      int *p = malloc (n * sizeof *p);
      #pragma omp target map(from: p[:n])
      {
        p[0] = 1;
        for (int i = 1; i < n; i++)
          p[i] = p[i - 1] + 1;
      }
      printf ("%d\\n", p[n - 1]);""",
    "early": """
      int *p = calloc (10, sizeof *p), at = -1;
      p[7] = 3;
      #pragma omp target map(to: p[:10]) map(tofrom: at)
      for (int i = 0; i < 100; i++)
        if (p[i] == 3)
          { at = i; break; }
      printf ("%d\\n", at);""",
    "backwards": """
      int *p = calloc (n, sizeof *p);
      #pragma omp target teams distribute parallel for map(tofrom: p[:n])
      for (int b = 0; b < n / 50; b++)
        for (int i = 50; i-- > 0;)
          p[b * 50 + i] = i;
      printf ("%d\\n", p[51]);""",
    "interleaved": """
      int *p = calloc (n, sizeof *p);
      #pragma omp target map(tofrom: p[:n])
      #pragma omp parallel num_threads(4)
      for (int round = 0; round < 3; round++)
        {
          #pragma omp for schedule(static, 1)
          for (int i = 0; i < n; i++)
            p[i] += 1;
          #pragma omp for schedule(static)
          for (int i = 0; i < n; i++)
            p[i] *= 2;
        }
      printf ("%d\\n", p[51]);""",
    "host": """
      int *p = calloc (n, sizeof *p), sum = 0;
      for (int r = 0; r < 3; r++)
        {
          #pragma omp target map(tofrom: p[:n])
          for (int i = 0; i < n; i++) p[i] += i;
          for (int i = 0; i < n; i++) sum += p[i];
          for (int i = 0; i < n; i += 2) p[i] = 1;
        }
      printf ("%d\\n", sum);""",
    "gather": """
      double *in = malloc (n * sizeof *in), *out = malloc (n * sizeof *out);
      int *at = malloc (n * sizeof *at);
      for (int i = 0; i < n; i++) { in[i] = i; at[i] = (i * 7919) % n; }
      for (int r = 0; r < 3; r++)
        {
          #pragma omp target teams distribute parallel for map(to: in[:n], at[:n]) map(from: out[:n])
          for (int b = 0; b < n / 50; b++)
            for (int i = b * 50; i < b * 50 + 50; i++)
              out[i] = in[at[i]];
          in[r] = -1;
        }
      printf ("%g %g\\n", out[4], out[4711]);""",
    "kinds-of-indices": """
      int *in = calloc (n, sizeof *in);
      unsigned char small[200];
      short other[200], *there = other + 199;
      long far[200], sum = 0;
      for (int i = 0; i < n; i++) in[i] = i;
      for (int i = 0; i < 200; i++) { small[i] = 255 - i; other[i] = 100 - i; far[i] = n - 1 - i; }
      #pragma omp target map(to: in[:n], small, other, far) map(tofrom: sum)
      {
        for (int i = 0; i < 200; i++) sum += in[small[i]];
        for (int i = 199; i >= 0; i--) sum += 2 * in[other[i] + 100];
        for (int i = 0; i < 200; i += 3) sum += 3 * in[far[i]];
        for (int i = 0; i < 100; i++) sum += 5 * in[n - 1 - 4 * (int) small[2 * i]];
      }
      printf ("%ld %d\\n", sum, *there);""",
    "scatter": """
      int *out = calloc (n, sizeof *out), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: out[:n], at[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        for (int i = b * (n / 2); i < (b + 1) * (n / 2); i++)
          out[at[i]] += i;
      printf ("%d %d\\n", out[3], out[4001]);""",
    "indices-that-change": """
      int *p = calloc (n, sizeof *p), *q = calloc (n, sizeof *q), sum = 0;
      for (int i = 0; i < n; i++) { p[i] = 1 + i / 2; q[i] = i; }
      #pragma omp target map(tofrom: p[:n], q[:n], sum)
      {
        for (int i = 0; i < n - 1; i++) { sum += q[p[i]]; p[i + 1] = i / 3; }
        for (int i = 0; i < n; i++) p[p[i]] = i % 50;
        for (int i = 0; i < n; i++) { sum += p[q[i]]; q[n - 1 - i] = 5; }
      }
      printf ("%d %d %d\\n", sum, p[0], p[30]);""",
    "gather-and-write": """
      int *p = calloc (n, sizeof *p), *q = calloc (n, sizeof *q), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target map(tofrom: p[:n]) map(to: at[:n]) map(alloc: q[:n])
      #pragma omp parallel num_threads(4)
      for (int r = 0; r < 6; r++)
        {
          #pragma omp for schedule(static)
          for (int b = 0; b < 50; b++)
            for (int i = b * 100; i < b * 100 + 100; i++)
              q[i] = p[at[i]] + 1;
          #pragma omp for schedule(static, 1)
          for (int b = 0; b < 50; b++)
            for (int i = b * 100; i < b * 100 + 100; i++)
              p[i] += q[i];
        }
      #pragma omp target map(tofrom: p[:n]) map(to: at[:n])
      for (int i = 0; i < n; i++)
        p[i] += p[at[i]];
      printf ("%d %d\\n", p[1], p[4000]);""",
}
WRONG = {
    "unset": """
      int *p = malloc (n * sizeof *p), sum = 0;
      #pragma omp target map(alloc: p[:n]) map(tofrom: sum)
      { for (int i = 0; i < n - 1; i++) p[i] = i;
        for (int i = 0; i < n; i++)
          sum += p[i]; }
      printf ("%d\\n", sum);""",
    "unset-next": """
      int *p = malloc (n * sizeof *p);
      #pragma omp target map(alloc: p[:n])
      { for (int i = 0; i < n - 1; i++)
          p[i] = p[i + 1]; }""",
    "past": """
      char *p = calloc (n, 1);
      #pragma omp target map(tofrom: p[:n - 3])
      for (int i = 0; i < n - 2; i++)
        p[i] = i;""",
    "race": """
      int *p = calloc (n + 1, sizeof *p);
      #pragma omp target teams num_teams(2) map(tofrom: p[:n])
      for (int i = 0; i < n; i++)
        p[i] = i;""",
    "race-edge": """
      double *p = calloc (n + 1, sizeof *p);
      #pragma omp target map(tofrom: p[:n + 1])
      #pragma omp parallel num_threads(2)
      #pragma omp for schedule(static)
      for (int i = 0; i < n; i++)
        p[i] = p[i + 1];""",
    "stale-host": """
      int *p = calloc (n, sizeof *p), sum = 0;
      #pragma omp target enter data map(to: p[:n])
      #pragma omp target
      for (int i = 0; i < n; i++) p[i] += i;
      for (int i = 0; i < n; i++)
        sum += p[i];
      printf ("%d\\n", sum);""",
    "gather-unset": """
      int *in = malloc (n * sizeof *in), at[100], sum = 0;
      for (int i = 0; i < 100; i++) at[i] = 50 * i;
      #pragma omp target map(alloc: in[:n]) map(to: at) map(tofrom: sum)
      { for (int i = 0; i < n; i++) if (i != 2500) in[i] = i;
        for (int i = 0; i < 100; i++)
          sum += in[at[i]]; }
      printf ("%d\\n", sum);""",
    "gather-past": """
      int *in = calloc (n, sizeof *in), at[100], sum = 0;
      for (int i = 0; i < 100; i++) at[i] = 40 * i;
      #pragma omp target map(to: in[:40 * 99]) map(to: at) map(tofrom: sum)
      for (int i = 0; i < 100; i++)
        sum += in[at[i]];
      printf ("%d\\n", sum);""",
    "gather-race": """
      int *p = calloc (n, sizeof *p), *q = calloc (n, sizeof *q), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target map(tofrom: p[:n]) map(to: at[:n]) map(from: q[:n])
      #pragma omp parallel num_threads(2)
      {
        #pragma omp for schedule(static) nowait
        for (int b = 0; b < 2; b++)
          for (int i = b * (n / 2); i < (b + 1) * (n / 2); i++)
            q[i] = p[at[i]];
        #pragma omp for schedule(static)
        for (int b = 0; b < 2; b++)
          for (int i = b * (n / 2); i < (b + 1) * (n / 2); i++)
            p[i] = 1;
      }
      printf ("%d\\n", q[7]);""",
    "gather-race-teams": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at), sum = 0;
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum) map(to: at[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        if (b == 0)
          { for (int i = 0; i < n; i++)
              sum += p[at[i]]; }
        else
          p[4711] = 1;
      printf ("%d\\n", sum);""",
    "gather-race-written-first": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at), sum = 0;
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum) map(to: at[:n])
      #pragma omp distribute
      for (int b = 0; b < 2; b++)
        if (b == 0)
          p[4711] = 1;
        else
          for (int i = 0; i < n; i++)
            sum += p[at[i]];
      printf ("%d\\n", sum);""",
    "scatter-race": """
      int *p = calloc (n, sizeof *p), *at = calloc (n, sizeof *at);
      for (int i = 0; i < n; i++) at[i] = (i * 7919) % n;
      #pragma omp target teams num_teams(2) map(tofrom: p[:n]) map(to: at[:n])
      for (int i = 0; i < n; i++)
        p[at[i]] = 1;
      printf ("%d\\n", p[7]);""",
    "gather-stale-host": """
      int *p = calloc (n, sizeof *p), at[100], sum = 0;
      for (int i = 0; i < 100; i++) at[i] = 50 * i;
      #pragma omp target enter data map(to: p[:n])
      #pragma omp target
      p[100] = 3;
      for (int i = 0; i < 100; i++)
        sum += p[at[i]];
      printf ("%d\\n", sum);""",
}


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the plugin."""
    folder = tmp_path_factory.mktemp("data")
    if not packages.plugin_headers(host.choose()) or not packages.cxx():
        pytest.skip("no headers for plugins of this gcc")
    command = [str(BIN / "gompy"), "accel", "build", "--check", "--prefix", str(folder)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder / "share"


def made(folder: Path, data: Path | None, text: str, level: str) -> subprocess.CompletedProcess[str]:
    """A program under the check."""
    (folder / "a.c").write_text(f"{HEAD}int main (void) {{{text}\n}}\n")
    env = {**os.environ, "LC_ALL": "C", "GOMPY_ACCEL": "gcc", "XDG_DATA_HOME": str(data or folder / "none")}
    words = [str(BIN / "gompcc"), "-g", level, "-fopenmp", "-foffload-check", "a.c"]
    subprocess.run(words, cwd=folder, env=env, check=True, timeout=300)
    command = [str(BIN / "gompy"), "run", "--check", "./a.out"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def told(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Place and kind of each error."""
    return re.findall(r"(a\.c:\d+): error: .*\[([a-z-]+)\]", done.stderr)


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_loop(tmp_path: Path, data: Path, name: str, level: str) -> None:
    done = made(tmp_path, data, RIGHT[name], level)
    assert (done.returncode, told(done)) == (0, []), done.stderr
    assert done.stdout == made(tmp_path, None, RIGHT[name], level).stdout


@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_loop_is_told_as_without(tmp_path: Path, data: Path, name: str, level: str) -> None:
    done, without = (made(tmp_path, where, WRONG[name], level) for where in (data, None))
    assert done.returncode == without.returncode == 86, done.stderr
    assert set(told(done)) == set(told(without)) and told(done), done.stderr


def test_loops_have_no_calls_but_before(tmp_path: Path, data: Path) -> None:
    (tmp_path / "a.c").write_text("void f (int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }\n")
    env = {**os.environ, "XDG_DATA_HOME": str(data)}
    words = [str(BIN / "gompcc"), "-O2", "-fopenmp", "-foffload-check", "-c", "a.c"]
    subprocess.run(words, cwd=tmp_path, env=env, check=True)
    assert ENTRY in {symbol.name for symbol in open_object(str(tmp_path / "a.o")).symbols()}
