"""What all tests share."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import stock_compilers

PRINTED = re.compile(
    "(COLUMNS|LINES|((FORCE|NO|PY|GCC)_COLORS?)|CLICOLOR(_FORCE)?|PYTEST_ADDOPTS|MAKEFLAGS|MFLAGS|MAKELEVEL)$"
)
"""Names of variables that change what programs, compilers and make print."""

SHORTENED = re.compile("(CI|BUILD_NUMBER)$")
"""Names of variables with which pytest does not shorten lines: this run may, those that tests start may not."""


hypothesis.settings.register_profile("gompy", deadline=None)  # how long an example takes, the system decides
hypothesis.settings.load_profile("gompy")

LINK_ROOMS = ("accel", "driver", "lto_wrapper", "mkoffload")
"""Folders of tests none of which leaves a temporary file, whatever becomes of its links."""


def own_temporary_folder(config: pytest.Config) -> None:
    """A TMPDIR of this run: what tests and the tools in them leave goes with it.  The tests' own folders stay."""
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    folder = tempfile.mkdtemp(prefix="gompy-")
    os.chmod(folder, 0o1777)  # tests run programs as other users, too
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test of the link tools that leaves a file in TMPDIR."""
    if request.path.parent.name not in LINK_ROOMS:
        yield
        return
    folder = os.environ["TMPDIR"]
    before = set(os.listdir(folder))
    yield
    left = sorted(set(os.listdir(folder)) - before)
    assert not left, f"temporary files left: {left}"


def pytest_configure(config: pytest.Config) -> None:
    """Start with default signal handling: a job of a script's background inherits an ignored SIGINT and SIGQUIT.

    Without what changes the output of programs.

    And with the names gcc, g++, gfortran for the compilers that gompcc runs; pytest's workers inherit the PATH.
    """
    for name in list(os.environ):
        if PRINTED.match(name) or ("PYTEST_XDIST_WORKER" in os.environ and SHORTENED.match(name)):
            del os.environ[name]
    # A worker has the controller's PATH, and would take another gcc than the one that was named.
    folder = None if "PYTEST_XDIST_WORKER" in os.environ else stock_compilers.put_first()
    if folder is not None:
        config.add_cleanup(lambda: stock_compilers.remove(folder))
    own_temporary_folder(config)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what -m does not choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take the mark `slow` from as many cases of a function as its mark has for a sample: spread over all of them."""
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            cases.setdefault((str(item.path), getattr(item, "originalname", item.name)), []).append(item)
    for those in cases.values():
        for item in spread(those, those[0].get_closest_marker("slow").kwargs.get("sample", 0)):  # type: ignore[union-attr]
            item.own_markers[:] = [mark for mark in item.own_markers if mark.name != "slow"]


def spread(those: list[pytest.Item], count: int) -> list[pytest.Item]:
    """So many of them, as far apart as can be, the first one among them; all, if there are no more."""
    count = min(count, len(those))
    return [those[i * len(those) // count] for i in range(count)]


@pytest.fixture(scope="session")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with this tree's commands."""
    from driver_tools import make_wrappers  # not for tests that need none

    return make_wrappers(tmp_path_factory.mktemp("bin"))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulated CUDA driver without settings from outside, and of 256 MiB."""
    from cuda_tools import SETTINGS

    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOMPY_CUDA_MEMORY", "256M")
