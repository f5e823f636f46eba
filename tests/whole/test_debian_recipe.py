"""The Debian package's recipe: its commands, texts and scripts, without building it (make check-deb does)."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from driver_tools import ROOT

from gompy.driver.compiler import OURS

RECIPE = ROOT / "recipes" / "debian"


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    """build.py as a module."""
    spec = importlib.util.spec_from_file_location("debian_build", RECIPE / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_commands_are_linked(recipe: ModuleType) -> None:
    assert set(recipe.COMMANDS) == {*OURS, "gompy"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {Path(name).name for name in project["tool"]["setuptools"]["script-files"]} == set(recipe.COMMANDS)


def test_scripts_are_shell(recipe: ModuleType) -> None:
    for text in recipe.SCRIPTS.values():
        done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_licence_is_that_of_the_tree() -> None:
    said = (RECIPE / "copyright").read_text()
    for line in (ROOT / "LICENSE").read_text().split("\n\n", 2)[2].splitlines():
        assert line in said


def test_description_and_overrides_have_their_form() -> None:
    first, *lines = (RECIPE / "description").read_text().splitlines()
    assert re.fullmatch(r"Description: .{1,60}", first)
    assert all(line.startswith(" ") and len(line) <= 80 for line in lines)
    for line in (RECIPE / "overrides").read_text().splitlines():
        assert line.startswith(("# ", "gompy: "))


def test_another_python_is_refused(recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "python3"
    other.write_text("")
    monkeypatch.setattr(sys, "_base_executable", str(other), raising=False)
    with pytest.raises(recipe.Wrong, match="not Debian's own python3"):
        recipe.system_python()
