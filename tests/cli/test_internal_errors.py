"""A bug in a program of ours is told in two lines, not by a traceback."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from driver_tools import ROOT, environment

CASES = {
    "gompcc": ("gompy.driver.plan", "make", "import gompy.driver.main as m; m.gompcc()"),
    "gompy": ("gompy.cli.main", "dispatch", "import gompy.cli.main as m; sys.exit(m.main())"),
    "lto-wrapper": ("lto_wrapper.main", "wrap", "import runpy; runpy.run_module('lto_wrapper.__main__')"),
    "mkoffload": (
        "mkoffload.intelmic",
        "build",
        "sys.argv[1:] = ['intelmic', '-o', 'x']; import runpy; runpy.run_module('mkoffload.__main__')",
    ),
    "mkoffload of nvptx": (
        "mkoffload.nvptx",
        "build",
        "sys.argv[1:] = ['nvptx-none', '-o', 'x']; import runpy; runpy.run_module('mkoffload.__main__')",
    ),
}


def broken(program: str, does: str = "1 // 0", **env: str) -> subprocess.CompletedProcess[str]:
    """Run the program with one of its functions replaced, by a division by zero if nothing else is said."""
    module, function, start = CASES[program]
    text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.argv = [{program!r}, 'x.c']\n"
    text += "def raises(error): raise error\n" if "raises" in does else ""
    text += f"import {module} as module; module.{function} = lambda *a: {does}\n{start}\n"
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


SHORTAGES = (
    "ImportError('libffi.so.8: failed to map segment from shared object')",
    "OSError('libx.so: cannot create shared object descriptor: Cannot allocate memory')",
    "OSError(12, 'Cannot allocate memory')",
    'RuntimeError("can\'t start new thread")',
    "SystemError('<built-in function exec> returned NULL without setting an exception')",
    "MemoryError()",
)


@pytest.mark.parametrize("error", SHORTAGES)
@pytest.mark.parametrize("program", CASES)
def test_want_of_memory_is_no_bug(program: str, error: str) -> None:
    """What the loader says under ``ulimit -v`` when a module is first needed; not glibc's want of static TLS."""
    done = broken(program, f"raises({error})")
    name = program.partition(" ")[0]
    link_tool = f"{name}: fatal error: out of memory\ncompilation terminated.\n"
    assert (done.returncode, done.stderr) in ((1, f"{name}: error: out of memory\n"), (1, link_tool))
    if error == SHORTAGES[0] and program == "gompy":
        tls = "raises(ImportError('cannot allocate memory in static TLS block'))"
        assert "internal error" in broken(program, tls).stderr


@pytest.mark.parametrize("error", SHORTAGES)
@pytest.mark.parametrize("program", CASES)
def test_want_of_memory_while_an_error_is_told(program: str, error: str) -> None:
    """The words are there before the work begins."""
    teller = "gompy.objects.ice as teller; teller.report" if program == "gompcc" else "gompy.tools.toolmain as teller; "
    teller = teller if program == "gompcc" else f"{teller}teller.described = teller.out_of_memory"
    done = broken(program, f"raises(MemoryError())\nimport {teller} = lambda *a: raises({error})")
    name = program.partition(" ")[0]
    link_tool = f"{name}: fatal error: out of memory\ncompilation terminated.\n"
    assert (done.returncode, done.stderr) in ((1, f"{name}: error: out of memory\n"), (1, link_tool))


@pytest.mark.parametrize("error", ["MemoryError()", "OSError(12, 'Cannot allocate memory', 'abi')"])
@pytest.mark.parametrize("script", ["gompcc", "gompc++", "gompfortran", "gompy"])
def test_want_of_memory_while_a_command_starts(script: str, error: str, tmp_path: Path) -> None:
    """In the imports of the start scripts, which stand before whatever else tells of errors."""
    shutil.copy(ROOT / "gompy" / "driver" / "scripts" / script, tmp_path)
    package = tmp_path / "short" / "gompy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"raise {error}\n")
    python = tmp_path / "python3"
    # Without the script's -E, so that this package is found first.
    words = f"PYTHONPATH={shlex.quote(str(package.parent))} exec {shlex.quote(sys.executable)}"
    python.write_text(f'#!/bin/sh\nshift\n{words} "$@"\n')
    python.chmod(0o755)
    done = subprocess.run([tmp_path / script, "--version"], env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{script}: error: out of memory\n")
