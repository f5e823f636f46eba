"""A bug in a program of ours is told in two lines, not by a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest
from driver_tools import ROOT, environment

CASES = {
    "gompcc": ("gompy.driver.plan", "make", "import gompy.driver.main as m; m.gompcc()"),
    "gompy": ("gompy.cli.main", "dispatch", "import gompy.cli.main as m; sys.exit(m.main())"),
    "lto-wrapper": ("lto_wrapper.main", "wrap", "import runpy; runpy.run_module('lto_wrapper.__main__')"),
    "mkoffload": ("mkoffload.intelmic", "build", "import runpy; runpy.run_module('mkoffload.__main__')"),
    "mkoffload of nvptx": ("mkoffload.nvptx", "build", "import runpy; runpy.run_module('mkoffload.nvptx_main')"),
}


def broken(program: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the program with one of its functions replaced by a division by zero."""
    module, function, start = CASES[program]
    text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = [{program!r}, 'x.c']\n"
    text += f"import {module} as module; module.{function} = lambda *a: 1 // 0\n{start}\n"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment(**env))


@pytest.mark.parametrize("program", CASES)
def test_a_bug_is_told_without_a_traceback(program: str) -> None:
    done = broken(program)
    first, second = done.stderr.splitlines()
    assert done.returncode == 1
    assert (
        first.startswith(f"{program.partition(' ')[0]}: internal error: ZeroDivisionError: integer division")
        and ", at <string>:2" in first
    )
    assert "GOMPY_TRACEBACK=1" in second


def test_the_traceback_is_there_when_asked_for() -> None:
    assert "Traceback (most recent call last)" in broken("gompcc", GOMPY_TRACEBACK="1").stderr
