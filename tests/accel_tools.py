"""Help for the tests of the accelerator compiler: the one that is built, if any, and compile-link-run with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gompy.accel import host
from gompy.accel.errors import AccelError
from gompy.tools import accelstore as store

ROOT = Path(__file__).resolve().parent.parent
DROPPED = (
    "GOMPY_",
    "OFFLOAD_",
    "OMP_",
    "GOMP_",
    "COLLECT_",
    "COMPILER_PATH",
    "LIBRARY_PATH",
    "GCC_EXEC_PREFIX",
    "MAKE",
)
MAIN = {"gompcc": "gompcc", "gompc++": "gompcxx", "gompfortran": "gompfortran"}


def built() -> store.Installed | None:
    """The accelerator compiler of the compiler in use."""
    try:
        return store.find(host.choose().identity)
    except AccelError:
        return None


def plugin_is_built() -> bool:
    """Whether regions of OpenACC have gangs: the plugin of the compiler in use is built."""
    try:
        return store.find(host.choose().identity, program=store.OPENACC) is not None
    except AccelError:
        return False


COMPILER = built()
needs_accel = pytest.mark.skipif(COMPILER is None, reason="no accelerator compiler is built (gompy accel build)")


def environment(**changes: str) -> dict[str, str]:
    """The environment less what would disturb, with changes."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
    env |= {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    return env | changes


def call(
    *words: str | Path, cwd: Path | None = None, check: bool = True, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a command; gompcc and its like are those of this tree.  With ``check``, failure fails the test."""
    command = [str(word) for word in words]
    if command[0] in MAIN:
        function = MAIN[command[0]]
        code = f"import sys; sys.argv[0] = '{command[0]}'; from gompy.driver.main import {function} as f; f()"
        command[:1] = [sys.executable, "-c", code]
    elif command[0] == "gompy":
        code = "import sys; sys.argv[0] = 'gompy'; from gompy.cli.main import main; sys.exit(main())"
        command[:1] = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=cwd, env=environment(**env), capture_output=True, text=True, timeout=100)
    if check and done.returncode:
        pytest.fail(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done
