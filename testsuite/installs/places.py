"""Where installations are tried: fresh folders with a blank in their names, in a stranger's environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
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
    """Where things are: a folder whose name has a blank, the Python that builds, wheels by Python's release."""

    folder: Path
    env: dict[str, str]
    builder: Path = Path(sys.executable)
    wheels: dict[str, Path] = field(default_factory=dict)

    def run(self, *command: str | Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
        """Run a command, which can ask nothing; what it prints on stdout."""
        words = [str(word) for word in command]
        done = subprocess.run(
            words,
            cwd=cwd or self.folder,
            env=env or self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
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
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"])
