"""`pytest testsuite` runs the dg- programs below testsuite/gompy (dg/collect.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parent)]

from dg import collect  # noqa: E402


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect dg- programs."""
    return collect.collect_file(file_path, parent)
