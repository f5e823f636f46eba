"""The plugin for -foffload-check: code that looks by itself whether its accesses go on where they were last."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from test_loops import BIN, calls, compiler, environment, plugin, told

__all__ = ["compiler", "plugin"]

ROOT = Path(__file__).resolve().parents[2]
SHARED = {
    "WRITES": "GOMPY_RANGE_WRITES",
    "ALONE": "GOMPY_RANGE_ALONE",
    "EARLY": "GOMPY_RANGE_EARLY",
    "IN_ROW": "GOMPY_RANGE_ROW",
    "SPAN_BITS": "GOMPY_ROW_BITS",
    "UNSIGNED": "GOMPY_INDEX_UNSIGNED",
    "STEPS": "GOMPY_STEPS",
    "STEP_BYTES": "GOMPY_STEP_BYTES",
    "SITES": "GOMPY_SITES",
    "STEP_SITE": "offsetof (struct gompy_step, site)",
    "STEP_NEXT": "offsetof (struct gompy_step, next)",
    "STEP_END": "offsetof (struct gompy_step, end)",
}
"""The plugin's own names of what gompy/native/access.h has: it is built where that header is not."""


def test_plugin_and_runtime_have_the_same_numbers(tmp_path: Path) -> None:
    hooks = ROOT / "gompy" / "accel" / "hooks"
    text = "".join((hooks / name).read_text() for name in ("loops.cc", "loops_steps.h"))
    numbers = dict(re.findall(r"^const (?:int|unsigned) (\w+) = (\w+);", text, re.M))
    lines = [f'_Static_assert ({numbers[own]} == {theirs}, "{own}");' for own, theirs in SHARED.items()]
    (tmp_path / "a.c").write_text("\n".join(['#include "gompy/native/access.h"', *lines]))
    subprocess.run(["gcc", "-fsyntax-only", "-I", str(ROOT), "a.c"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Og"])
def test_what_stands_alone_looks_at_its_steps_where_it_is_optimized(tmp_path: Path, plugin: None, level: str) -> None:
    text = "void put (int *p) { *p = 1; }\nint get (int *p) { return *p; }"
    called = calls(tmp_path, environment(True), text, level)
    optimized = level in ("-O1", "-O2")
    assert called["gompy_access_one"] == called["gompy_access_steps"] == (2 if optimized else 0), called
    assert called["__tsan_write4"] == called["__tsan_read4"] == (0 if optimized else 1), called


def many_sites(last: str) -> str:
    """Two threads whose functions are more than a thread has steps for; LAST: what they do at the end."""
    names = range(700)
    put = "\n".join(f"static void __attribute__ ((noinline, noclone)) put{i} (int *p) {{ *p = {i}; }}" for i in names)
    rows = "\n".join(f"put{i} (p + 700 * k + {i});" for i in names)
    return f"""#include <omp.h>
    #include <stdio.h>
    static int p[28000], last[1000];
    #pragma omp declare target
    {put}
    static void __attribute__ ((noinline, noclone)) end (int *q, int v) {{ *q += v; }}
    #pragma omp end declare target
    int main (void)
    {{
      #pragma omp target parallel for num_threads(2) map(from: p) map(tofrom: last)
      for (int k = 0; k < 40; k++)
        {{
          {rows}
          {last}
        }}
      long s = 0;
      for (int i = 0; i < 28000; i++)
        s += p[i];
      printf ("%ld\\n", s);
    }}"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(("last", "status"), [("end (last + k, k);", 0), ("end (last + k % 20, k);", 86)])
def test_sites_that_have_the_same_steps(tmp_path: Path, plugin: None, last: str, status: int) -> None:
    """Each step says whose it is: nothing is taken for another site's, and what races is told by its line."""
    (tmp_path / "a.c").write_text(many_sites(last))
    words = [str(BIN / "gompcc"), "-g", "-O1", "-fopenmp", "-foffload-check", "a.c"]
    subprocess.run(words, cwd=tmp_path, env=environment(True), check=True, timeout=300)
    command = [str(BIN / "gompy"), "run", "--check", "./a.out"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(True), capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (status, "9786000\n"), done.stderr
    assert {kind for _, kind in told(done)} == ({"race"} if status else set()), done.stderr
    lines = (tmp_path / "a.c").read_text().splitlines()
    assert all("end (int *q" in lines[int(place[4:]) - 1] for place, _ in told(done)), done.stderr
