"""Help for the driver's tests: run the wrappers of this tree, and stock gcc beside them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FRONTS = ROOT / "build" / "native" / "drivers"
"""The commands that are compiled."""
ENTRY = {"gompcc": "gompcc", "gompc++": "gompcxx", "gompfortran": "gompfortran"}
STOCK = {"gompcc": "gcc", "gompc++": "g++", "gompfortran": "gfortran"}
DISTURBING = ("GOMPY_", "OFFLOAD_", "OMP_", "COMPILER_PATH", "LIBRARY_PATH", "BUILD_NUMBER")

sys.path.insert(0, str(ROOT))
from gompy.driver import paths  # noqa: E402

has_as = pytest.mark.skipif(not os.path.exists(f"{paths.BDIR}/as"), reason="gompy/_native/bdir/as is not built")
has_all = pytest.mark.skipif(bool(paths.missing()), reason="gompy/_native is not complete")


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip where a program is missing."""
    lacking = [name for name in programs if not shutil.which(name)]
    return pytest.mark.skipif(bool(lacking), reason=f"not installed: {' '.join(lacking)}")


def environment(**changes: str) -> dict[str, str]:
    """The environment less what would disturb, with changes."""
    env = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith(DISTURBING)}
    env["GOMPY_ACCEL"] = os.environ.get("GOMPY_TEST_ACCEL", "gcc")
    env.update(changes)
    return env


def for_preload(library: Path, folder: Path) -> str:
    """A library's name for LD_PRELOAD of a program that runs in a folder: the loader splits the text at blanks."""
    return f"./{os.path.relpath(library, folder)}"


def make_wrappers(folder: Path) -> Path:
    """Write the commands as an installation has them; returns the folder, to be put into PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, function in ENTRY.items():
        if (FRONTS / name).exists():
            shutil.copy2(FRONTS / name, folder)
        else:
            _script(folder / name, f"from gompy.driver.main import {function} as main")
    (folder / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')  # which they start where they must
    (folder / "python3").chmod(0o755)
    for name, function in (("gompclang", "gompclang"), ("gompclang++", "gompclangxx")):
        _script(folder / name, f"from gompy.driver.clang_main import {function} as main")
    _script(folder / "gompy", "from gompy.cli.main import main")
    return folder


def _script(path: Path, line: str) -> None:
    text = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{line}\nif __name__ == '__main__':\n    sys.exit(main())\n"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


class Tools:
    """The wrappers in a folder of their own, run in a scratch folder."""

    def __init__(self, bin_folder: Path, work: Path) -> None:
        self.bin = bin_folder
        self.work = work
        self.env = environment(PATH=f"{bin_folder}{os.pathsep}{os.environ['PATH']}")

    def run(
        self, *command: str | Path, env: dict[str, str] | None = None, stdin: str | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command; stdout and stderr are text."""
        return subprocess.run(
            [str(word) for word in command],
            cwd=cwd or self.work,
            env={**self.env, **(env or {})},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=100,
        )

    def ok(self, *command: str | Path, env: dict[str, str] | None = None, stdin: str | None = None) -> str:
        """Run a command that must succeed; returns what it printed on stdout."""
        done = self.run(*command, env=env, stdin=stdin)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        """Write a file into the scratch folder."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
