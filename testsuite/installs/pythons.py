"""A wheel for each release of Python that this machine has beside the one that runs this."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .places import Places

RELEASES = ("3.11", "3.12", "3.13", "3.14")
USABLE = "import ensurepip, os, sys, sysconfig, venv; " + (
    "sys.exit(not os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h'))); "
)
"""A Python that can make an environment, and has the headers that a build needs."""


def usable(python: Path) -> bool:
    """Whether a wheel can be built and installed by it."""
    return subprocess.run([python, "-I", "-c", USABLE], capture_output=True).returncode == 0


def listed(folder: Path) -> list[str]:
    """A folder's names in order; none where there is no such folder, or it is another user's."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def found() -> dict[str, Path]:
    """Release to Python: those of PATH, pyenv's and uv's, one for each release but this one's."""
    own = "{}.{}".format(*sys.version_info[:2])
    pythons: dict[str, Path] = {}
    for release in RELEASES:
        names = [shutil.which(f"python{release}")]
        stores = (
            Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions",
            Path(os.environ.get("XDG_DATA_HOME", Path.home() / ".local/share")) / "uv/python",
        )
        for store in stores:
            pattern = re.compile(rf"(?:cpython-)?{re.escape(release)}\.\d+(?:-.*)?")
            names += [str(store / name / "bin/python3") for name in listed(store) if pattern.fullmatch(name)]
        for name in filter(None, names):
            if release != own and usable(Path(name)):
                pythons[release] = Path(name)
                break
    return pythons


def tried(places: Places, sdist: Path) -> dict[str, Path]:
    """For each Python: a wheel of the source distribution, installed, a program run.  Raises Wrong."""
    wheels: dict[str, Path] = {}
    for release, python in found().items():
        began = time.monotonic()
        out = places.folder / f"wheel for {release}"
        build = places.folder / f"builder {release}"
        places.run(python, "-m", "venv", build)
        places.pip(build / "bin/python", "wheel", "--no-deps", "--wheel-dir", out, sdist)
        (wheels[release],) = out.glob("*.whl")
        home = places.folder / f"by {release}"
        places.run(python, "-m", "venv", home)
        places.pip(home / "bin/python", "install", wheels[release])
        places.check(home / "bin", f"Python {release}")
        said = places.run(python, "--version").split()[-1]
        print(f"Python {said:<6} ok, {wheels[release].name}, {time.monotonic() - began:.0f} s", flush=True)
    return wheels
