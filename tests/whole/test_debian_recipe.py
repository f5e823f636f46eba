"""The Debian package's recipe: its commands, texts and scripts, without building it (make check-deb does)."""

from __future__ import annotations

import fnmatch
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from driver_tools import ROOT
from elftools.elf.elffile import ELFFile

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


def lintian_would_tell(file: Path) -> str:
    """The tag of a file that is no program or library as Debian has them, "" of all others."""
    with file.open("rb") as opened:
        if opened.read(4) != b"\x7fELF":
            return ""
        parts = ELFFile(opened)
        if parts["e_type"] == "ET_EXEC" and not any(part["p_type"] == "PT_INTERP" for part in parts.iter_segments()):
            return "statically-linked-binary"
        dynamic = parts.get_section_by_name(".dynamic")
        if parts["e_type"] != "ET_DYN" or dynamic is None:
            return ""
        needed = [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
        return "" if "libc.so.6" in needed else "library-not-linked-against-libc"


def test_each_file_of_a_kind_of_its_own_has_an_override() -> None:
    """Programs without a dynamic loader, libraries without libc: of what is built, and the commands."""
    known = re.findall(r"^gompy: (\S+) \[(\S+)\]$", (RECIPE / "overrides").read_text(), re.MULTILINE)
    packages = "usr/lib/gompy/lib/python3.99/site-packages"
    files = {f"usr/lib/gompy/bin/{name}": Path(sys.executable).parent / name for name in OURS}
    files |= {f"{packages}/{path.relative_to(ROOT)}": path for path in (ROOT / "gompy" / "_native").rglob("*.so*")}
    files |= {f"{packages}/{path.relative_to(ROOT)}": path for path in (ROOT / "gompy" / "_native/bdir").iterdir()}
    told = {place: lintian_would_tell(path) for place, path in files.items() if path.is_file()}
    assert "statically-linked-binary" in told.values()
    assert not {
        place: tag
        for place, tag in told.items()
        if tag and not any(tag == name and fnmatch.fnmatchcase(place, form) for name, form in known)
    }


def test_another_python_is_refused(recipe: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "python3"
    other.write_text("")
    monkeypatch.setattr(sys, "_base_executable", str(other), raising=False)
    with pytest.raises(recipe.Wrong, match="not Debian's own python3"):
        recipe.system_python()
