"""Programs in C around the headers that the race check of the emulated GPU is made of (gompy/ptx/race*.h)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEADER = ROOT / "gompy" / "native" / "ptx.h"
has_headers = pytest.mark.skipif(
    not HEADER.exists() or not shutil.which("gcc"), reason="the compiled parts are not built"
)


def compiled(folder: Path, name: str, text: str, *options: str) -> Path:
    """A program of a text; its path."""
    (folder / f"{name}.c").write_text(text)
    paths = [f"-I{ROOT}", f"-I{ROOT / 'gompy' / 'ptx'}"]
    subprocess.run(["gcc", "-O1", "-w", *options, *paths, f"{name}.c", "-o", name], cwd=folder, check=True)
    return folder / name


def outcome(program: Path, *words: str) -> tuple[int, str]:
    """Its exit status, and what it prints."""
    result = subprocess.run([str(program), *words], stdout=subprocess.PIPE, text=True, check=False)
    return result.returncode, result.stdout
