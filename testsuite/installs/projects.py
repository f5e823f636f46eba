#!/usr/bin/env python3
"""``make check-projects``: the tests of build systems in fresh systems that have all of these, so that none is skipped.

A system is the smallest one of a Debian release (testsuite/matrix); making it needs root.
Exit status: 0 all is right, 1 not.  Where trees cannot be made, that is told, and 0.
"""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE.parent),) if path not in sys.path]

from matrix import tree  # noqa: E402
from matrix.each import each_system  # noqa: E402

SUITES = ("bookworm", "trixie")
TESTS = ("tests/driver/test_projects.py", "tests/driver/test_build_systems.py")
TOOLS = ("autoconf", "automake", "bear", "ccache", "cmake", "g++", "gfortran", "libtool", "meson", "ninja-build")
TOOLS += ("openmpi-bin", "libopenmpi-dev", "pkg-config", "python3-dev")
OF_PIP = ("numpy", "pybind11", "mpi4py", "meson", "ninja", "setuptools")
INSTALL = "apt-get update -qq && apt-get install -y -qq --no-install-recommends"
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?)")


def tried(suite: str, mirror: str) -> bool:
    """One system: the tools, ``make``, the tests.  Raises TreeError."""
    began = time.monotonic()
    with tree.made(suite, mirror) as here:
        tree.put_sources(ROOT, here, "srv/gompy")
        log = here.root.parent / "projects.log"
        system = f"Debian {(here.root / 'etc/debian_version').read_text().strip()}"
        # mpirun asks root twice.
        words = {
            "DEBIAN_FRONTEND": "noninteractive",
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        for line in (
            f"{INSTALL} {' '.join(TOOLS)}",
            "make",
            f".venv/bin/python -m pip install --quiet --disable-pip-version-check {' '.join(OF_PIP)} pytest",
            f".venv/bin/python -m pytest -q -rs -p no:cacheprovider {' '.join(TESTS)}",
        ):
            status = here.run(["sh", "-c", line], log, words, "/srv/gompy")
            said = log.read_text(errors="replace").strip()
            if status:
                print(f"{system}  WRONG: {line}: status {status}\n{said[-6000:]}", flush=True)
                return False
    counts = {what: int(number) for number, what in COUNTS.findall(said.splitlines()[-1])}
    skipped = [line for line in said.splitlines() if line.startswith("SKIPPED")]
    right = not skipped and counts.get("passed", 0) > 0
    print(f"{system}  {'ok' if right else 'WRONG'}, {said.splitlines()[-1]}, {time.monotonic() - began:.0f} s in all")
    print(*skipped, sep="\n", end="\n" if skipped else "", flush=True)
    return right


if __name__ == "__main__":
    sys.exit(each_system(__doc__, SUITES, tried))
