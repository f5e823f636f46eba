"""The collector of dg- programs: its directives, and pytest on a directory of a user's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "testsuite"))

from dg import collect  # noqa: E402

CONFTEST = """\
import sys
sys.path.insert(0, {path!r})
from dg import collect

def pytest_collect_file(file_path, parent):
    return collect.collect_file(file_path, parent)
"""


def run(folder: Path, compiler: str = "gcc -foffload=disable") -> str:
    """pytest on a folder of programs; what it said."""
    (folder / "conftest.py").write_text(CONFTEST.format(path=str(ROOT / "testsuite")))
    words = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:xdist", "-c", os.devnull]
    environment = {**os.environ, "GOMPY_DG_CC": compiler, "GOMPY_ACCEL": "gcc"}
    done = subprocess.run(
        [*words, "--rootdir", str(folder), str(folder)], cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


def test_own_directives() -> None:
    text = '/* { gompy-sets "-O0" "-O3 -g" } */\nint x = {1};\n'
    text += '// { gompy-prepare "for i in $(seq 3); do echo \\"$i\\"; done" }\n'
    found = collect.own_directives(text)
    assert found["sets"] == ["-O0", "-O3 -g"]
    assert found["prepare"] == ['for i in $(seq 3); do echo "$i"; done']
    assert found["launches"] == []


def test_unknown_directive() -> None:
    with pytest.raises(ValueError, match="unknown directive gompy-foo"):
        collect.own_directives("/* { gompy-foo 1 } */\n")


def test_programs_of_ones_own(tmp_path: Path) -> None:
    good = '/* { dg-do run } */\n/* { gompy-sets "-DR=0" "-DR=1" } */\nint main (void) { return R; }\n'
    (tmp_path / "good.c").write_text(good)
    made = """/* { dg-do run } */
/* { gompy-prepare "echo 'int x = 0;' > x.h" } */
/* { dg-options "-I." } */
"""
    (tmp_path / "made.c").write_text(made + '#include "x.h"\nint main (void) { return x; }\n')
    (tmp_path / "bad.c").write_text('/* { dg-do compile } */\nint x = "y"; /* { dg-warning "something else" } */\n')
    differs = '/* { dg-do run } */\n/* { gompy-differs "no device" } */\nint main (void) { return 1; }\n'
    (tmp_path / "other.c").write_text(differs)
    (tmp_path / "second.c").write_text("int no_test;\n")
    said = run(tmp_path)
    assert "PASSED good.c::good.c[-DR=0]" in said
    assert "FAILED good.c::good.c[-DR=1]" in said
    assert "FAIL: good.c   -DR=1  execution test" in said
    assert "PASSED made.c::made.c" in said
    assert "FAILED bad.c::bad.c" in said
    assert "no device" in said
    assert "2 failed, 2 passed, 1 skipped" in said
    assert "second.c" not in said


def test_regions_must_run_on_the_device(tmp_path: Path) -> None:
    (tmp_path / "host.c").write_text("/* { dg-do run } */\nint main (void) { return 0; }\n")
    (tmp_path / "device.c").write_text(
        "/* { dg-do run } */\nint main (void) {\n  int x = 1;\n#pragma omp target map(x)\n  x = 0;\n  return x; }\n"
    )
    said = run(tmp_path, "gompcc")
    assert "PASSED device.c::device.c" in said
    assert "0 regions ran on the device, 1 were to" in said
