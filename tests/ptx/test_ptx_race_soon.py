"""What compiled code calls with vectors in its registers (race_soon.c) uses none of them, and calls nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "native" / "gompy_ptx_race_soon.c.o"


@pytest.mark.skipif(not BUILT.exists() or not shutil.which("objdump"), reason="the compiled parts are not built")
def test_it_keeps_vectors() -> None:
    """The object that is linked: vectors' registers and masks are not named, and no symbol comes from elsewhere."""

    def told(*words: str) -> str:
        return subprocess.run([*words, str(BUILT)], stdout=subprocess.PIPE, text=True, check=True).stdout

    code = told("objdump", "-d", "--no-show-raw-insn")
    assert "gompy_race_row_soon" in code and "gompy_race_shared_soon" in code
    assert not re.findall(r"%[xyz]mm\d+|%k[0-7]|%mm\d|%st|vzero\w+", code)
    assert not told("nm", "--undefined-only").split()
