"""gompy/native/lock.h: mutual exclusion with and without threads, with waiting, and as the thread sanitizer has it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("threads", [0, 1, 2, 8])
@pytest.mark.parametrize("flags", ["-O2", "-O0"])
def test_one_at_a_time(threads: int, flags: str, tmp_path: Path) -> None:
    """No count is lost, and who asks without waiting is refused."""
    program = tmp_path / "program"
    source = ROOT / "tests" / "programs" / "quick_lock.c"
    subprocess.run(
        ["gcc", flags, "-Wall", "-Wextra", "-Werror", "-pthread", "-I", ROOT, source, "-o", program], check=True
    )
    done = subprocess.run([program, str(threads), "3000"], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == (f"{3000 * (threads + 1) + 1} 1\n", 0)
