"""What tests of the emulated driver begin with, where a file has no driver of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_graphs import Maker
from cuda_tools import Driver


@pytest.fixture
def cuda(tmp_path: Path) -> Driver:
    """A driver whose calls have types."""
    return Driver(tmp_path / "driver").typed()


@pytest.fixture
def maker(cuda: Driver) -> Maker:
    """What makes graphs, with a context."""
    cuda.context()
    return Maker(cuda)
