"""``make check`` runs a sample of what is marked as slow, ``make check-slow`` the rest of it, and none both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from driver_tools import ROOT

TESTS = """
import pytest

@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("case", range(5))
def test_some(case): ...

@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("case", range(2))
def test_few(case): ...

@pytest.mark.slow
def test_one(): ...

def test_quick(): ...
"""


def chosen(tmp_path: Path, which: str) -> list[str]:
    """The names of the tests that pytest would run."""
    (tmp_path / "test_marks.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", "."]
    done = subprocess.run(
        [*command, "--collect-only", "-q", "-m", which, "-p", "no:cacheprovider", "test_marks.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return [line.partition("::test_")[2] for line in done.stdout.splitlines() if "::" in line]


def test_a_sample_is_quick(tmp_path: Path) -> None:
    """Cases that lie apart; all, where there are no more than the sample's."""
    assert chosen(tmp_path, "not slow") == ["some[0]", "some[2]", "few[0]", "few[1]", "quick"]
    assert chosen(tmp_path, "slow") == ["some[1]", "some[3]", "some[4]", "one"]
