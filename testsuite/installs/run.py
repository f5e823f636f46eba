#!/usr/bin/env python3
"""``make check-installs``: every way to install gompy, each into a fresh place, each with a program compiled and run.

Two wheels are built from scratch, one from the tree and one from the source distribution, and must be the same bytes.
pip may fetch what gompy depends on.  Exit status: 0 all is right, 1 not.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "docs" / "programs" / "hello.c"
WANTED = "1 4 9 16, on the device\n"
FOREIGN = ("GOMPY_", "OMP_", "OFFLOAD_", "PYTHON", "PIP_", "VIRTUAL_ENV", "LD_", "GOMP_")


class Wrong(Exception):
    """Something is not as it should be; the text says what."""


def stranger(home: Path) -> dict[str, str]:
    """The environment of somebody who has just come: no variable of ours, another home."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return env | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "LC_ALL": "C.UTF-8"}


@dataclass
class Places:
    """Where things are: a folder whose name has a blank, and what is built once and installed in several ways."""

    folder: Path
    env: dict[str, str]

    def run(self, *command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
        """Run a command; what it prints on stdout."""
        words = [str(word) for word in command]
        done = subprocess.run(words, cwd=cwd or self.folder, env=env or self.env, capture_output=True, text=True)
        if done.returncode:
            raise Wrong(f"{' '.join(words)}: status {done.returncode}\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def tree(self, name: str) -> Path:
        """A copy of what git has of the tree, nothing built."""
        folder = self.folder / name
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        for file in filter(None, listed.stdout.split("\0")):
            if (ROOT / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / file, folder / file)
        return folder

    def python(self, name: str) -> Path:
        """A fresh virtual environment."""
        self.run(sys.executable, "-m", "venv", self.folder / name)
        return self.folder / name / "bin" / "python"

    def pip(self, python: Path, *words: str | Path) -> None:
        """pip, quietly."""
        self.run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words)

    def check(self, commands: Path, what: str) -> None:
        """A program, compiled by what is installed and run on its device; the other commands answer."""
        work = self.folder / f"work of {what}"
        work.mkdir()
        shutil.copy(PROGRAM, work / "hello.c")
        self.run(commands / "gompcc", "-O2", "-fopenmp", "hello.c", "-o", "hello", cwd=work)
        said = self.run(work / "hello", cwd=work)
        if said != WANTED:
            raise Wrong(f"{what}: the program says {said!r}")
        if "eight" not in self.run(commands / "gompy", "--help") or "1  what map does" not in self.run(
            commands / "gompy", "learn"
        ):
            raise Wrong(f"{what}: gompy has no lessons")
        if self.run(commands / "gompy", "--version").split()[-1] != version():
            raise Wrong(f"{what}: another version than {version()}")


def version() -> str:
    """The one in pyproject.toml."""
    import tomllib

    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])


def build(places: Places) -> tuple[Path, Path]:
    """A wheel from the tree and one from the source distribution; the wheel and the source distribution."""
    builder = places.python("builder")
    places.pip(builder, "install", "build")
    tree, dist = places.tree("tree"), places.folder / "dist"
    places.run(builder, "-m", "build", "--sdist", "--outdir", dist, tree)
    (sdist,) = dist.glob("*.tar.gz")
    places.run(builder, "-m", "build", "--wheel", "--outdir", dist, tree)
    (wheel,) = dist.glob("*.whl")
    places.run("tar", "-xf", sdist)
    (unpacked,) = [path for path in places.folder.glob("gompy-*") if path.is_dir()]
    places.run(builder, "-m", "build", "--wheel", "--outdir", places.folder / "again", unpacked)
    again = places.folder / "again" / wheel.name
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, again)]
    if sums[0] != sums[1]:
        raise Wrong(f"the wheels of the tree and of the source distribution differ: {different(wheel, again)}")
    print(f"wheel        the same twice, {wheel.stat().st_size // 1024} KiB, sha256 {sums[0]}", flush=True)
    return wheel, sdist


def different(one: Path, other: Path) -> str:
    """The files in which two wheels differ."""
    import zipfile

    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = sorted({*first.namelist(), *second.namelist()})
        both = {*first.namelist()} & {*second.namelist()}
        found = [name for name in names if name not in both or first.read(name) != second.read(name)]
    return ", ".join(found[:10]) or "only their dates or order"


def by_wheel(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install gompy.whl."""
    python = places.python("by wheel")
    places.pip(python, "install", wheel)
    return python.parent


def by_sdist(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install gompy.tar.gz: compiled where it is installed."""
    python = places.python("by sdist")
    places.pip(python, "install", sdist)
    return python.parent


def by_folder(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install FOLDER."""
    python = places.python("by folder")
    places.pip(python, "install", places.folder / "tree")
    return python.parent


def editable(places: Places, wheel: Path, sdist: Path) -> Path:
    """pip install --editable, as a developer does."""
    python = places.python("editable")
    places.pip(python, "install", "--editable", places.folder / "tree", "--config-settings", "editable_mode=compat")
    return python.parent


def moved(places: Places, wheel: Path, sdist: Path) -> Path:
    """The same wheel a second time, moved to another path afterwards; ``gompy`` is pip's script, and names the path."""
    python = places.python("first place")
    places.pip(python, "install", wheel)
    place = places.folder / "second place"
    (places.folder / "first place").rename(place)
    script = place / "bin" / "gompy"
    script.write_text(f'#!/bin/sh\nexec "{place}/bin/python3" -m gompy.cli "$@"\n')
    return place / "bin"


def read_only(places: Places, wheel: Path, sdist: Path) -> Path:
    """Nothing of the installation may be written; as root that needs a mount, so another user runs it."""
    python = places.python("read only")
    places.pip(python, "install", wheel)
    places.run("chmod", "-R", "a-w", python.parent.parent)
    before = set(python.parent.parent.rglob("*"))
    places.check(python.parent, "read only, first")
    if set(python.parent.parent.rglob("*")) - before and os.geteuid():
        raise Wrong("read only: something was written")
    return python.parent


def by_pipx(places: Places, wheel: Path, sdist: Path) -> Path | None:
    """pipx install."""
    if not shutil.which("pipx"):
        return None
    home = places.folder / "pipx home"
    env = places.env | {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(home / "bin"), "PIPX_MAN_DIR": str(home / "man")}
    places.run("pipx", "install", "--quiet", wheel, env=env)
    if not (home / "man" / "man1" / "gompy.1").exists():
        raise Wrong("pipx: no man page")
    return home / "bin"


def by_uv(places: Places, wheel: Path, sdist: Path) -> Path | None:
    """uv tool install."""
    if not shutil.which("uv"):
        return None
    home = places.folder / "uv home"
    env = places.env | {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home / "bin")}
    places.run("uv", "tool", "install", "--quiet", "--python", sys.executable, wheel, env=env)
    return home / "bin"


WAYS: dict[str, Callable[[Places, Path, Path], Path | None]] = {
    "wheel": by_wheel,
    "moved": moved,
    "read-only": read_only,
    "folder": by_folder,
    "editable": editable,
    "sdist": by_sdist,
    "pipx": by_pipx,
    "uv": by_uv,
}


def main() -> int:
    """Try each way; a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", default=",".join(WAYS), help="a list of: %(default)s")
    wanted = parser.parse_args().ways.split(",")
    wrong = False
    with tempfile.TemporaryDirectory(prefix="gompy installs ") as folder:
        places = Places(Path(folder), stranger(Path(folder)))
        try:
            wheel, sdist = build(places)
            for name in wanted:
                began = time.monotonic()
                try:
                    commands = WAYS[name](places, wheel, sdist)
                    if commands is not None:
                        places.check(commands, name)
                    said = f"ok, {time.monotonic() - began:.0f} s" if commands is not None else "not installed here"
                except Wrong as error:
                    wrong, said = True, f"WRONG: {error}"
                print(f"{name:<12} {said}", flush=True)
        except Wrong as error:
            wrong = True
            print(f"WRONG: {error}")
        finally:
            subprocess.run(["chmod", "-R", "u+w", folder], check=False)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
