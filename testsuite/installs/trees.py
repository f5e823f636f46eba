"""A wheel in fresh systems: the smallest ones of Debian's releases, with gcc and Python's environments, and no more."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from matrix import tree

from .places import PROGRAM, WANTED, Places, Wrong

SUITES = ("bookworm", "trixie", "sid")
INSTALL = ("apt-get", "install", "-y", "-qq", "--no-install-recommends")
NEEDED = ("python3-venv", "gcc", "libc6-dev", "util-linux")
TO_BUILD = ("python3-dev", "binutils")
"""Where no wheel fits the system's Python, the source distribution is built there."""
PIP = '"/srv/my venv/bin/pip" --quiet --disable-pip-version-check'
USES = (
    ("compile", 'cd /srv/try && "/srv/my venv/bin/gompcc" -O2 -fopenmp hello.c -o hello', ""),
    ("run", "/srv/try/hello", WANTED),
    (
        "another user",
        "cd /srv/try && setpriv --reuid=65534 --regid=65534 --clear-groups env -u HOME sh -c "
        "'\"/srv/my venv/bin/gompcc\" -O2 -fopenmp hello.c -o other && ./other'",
        WANTED,
    ),
    ("check", 'cd /srv/try && "/srv/my venv/bin/gompy" run --check ./hello', WANTED),
    ("uninstall", f'{PIP} uninstall --yes gompy && find "/srv/my venv" | grep gomp || true', ""),
)


def fits(wheels: list[Path], release: str) -> Path | None:
    """The wheel for a release of Python, such as 3.13."""
    tag = f"-cp{release.replace('.', '')}-"
    return next((wheel for wheel in wheels if tag in wheel.name), None)


def typed(here: tree.Tree, log: Path, what: str, line: str) -> str:
    """What a shell's line prints in the tree.  Raises Wrong."""
    status = here.run(["sh", "-c", line], log, {"DEBIAN_FRONTEND": "noninteractive"})
    said = log.read_text(errors="replace")
    if status:
        raise Wrong(f"{what}: status {status}: {said.strip()[-2000:]}")
    return said


def used(here: tree.Tree, log: Path, wheels: list[Path], sdist: Path) -> str:
    """Install, use and remove it in one tree; what was installed.  Raises Wrong."""
    work = here.root / "srv/try"
    work.mkdir(parents=True)
    work.chmod(0o777)
    shutil.copy(PROGRAM, work)
    typed(here, log, "packages", f"apt-get update -qq && {' '.join((*INSTALL, *NEEDED))}")
    release = ".".join(typed(here, log, "python", "python3 --version").split()[-1].split(".")[:2])
    wheel = fits(wheels, release)
    if wheel is None:
        typed(here, log, "packages", " ".join((*INSTALL, *TO_BUILD)))
    shutil.copy(wheel or sdist, work)
    typed(here, log, "venv", 'python3 -m venv "/srv/my venv"')
    typed(here, log, "pip", f"{PIP} install /srv/try/{(wheel or sdist).name}")
    for what, line, wanted in USES:
        said = typed(here, log, what, line)
        if said != wanted:
            raise Wrong(f"{what}: {said!r}, not {wanted!r}")
    gcc = re.sub(r"\s+", " ", typed(here, log, "gcc", "gcc -dumpfullversion")).strip()
    return f"Python {release}, gcc {gcc}, {(wheel or sdist).name}"


def tried(places: Places, wheels: list[Path], sdist: Path) -> str:
    """Each release; a line for each, and which were tried.  Raises Wrong at the end if one is wrong."""
    wrong, right = [], []
    for suite in SUITES:
        began = time.monotonic()
        try:
            tree.check(suite)
            with tree.made(suite) as here:
                system = (here.root / "etc/debian_version").read_text().strip()
                said = used(here, here.root.parent / "log", wheels, sdist)
            right.append(suite)
            print(f"Debian {system}: ok, {said}, {time.monotonic() - began:.0f} s", flush=True)
        except tree.NoTree as reason:
            print(f"{suite}: not tried: {reason}")
        except (tree.TreeError, Wrong) as error:
            wrong.append(f"{suite}: {error}")
    if wrong:
        raise Wrong("\n".join(wrong))
    return f"ok: {', '.join(right)}" if right else "not tried"
