"""``make clean`` leaves what git knows, and what ``make distclean`` is for."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from driver_tools import ROOT, needs

KEPT = (".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "gompy.egg-info", "dist", ".coverage")
"""Of tools and of installing: ``make distclean`` is for these."""


def ignored(folder: Path) -> list[str]:
    """Files that git ignores, less those that stay."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--others", "--ignored", "--exclude-standard"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git repository")
    return [name for name in done.stdout.split("\0") if name and not name.startswith(KEPT)]


@needs("git", "make")
def test_make_clean_removes_all_that_the_build_made(tmp_path: Path) -> None:
    """On empty files of the names that this tree's build has made, and on some of a Python that was here before."""
    built = ignored(ROOT)
    assert any(name.startswith("gompy/_native/") for name in built), "not built"
    for name in [*built, "gompy/ptx/words.cpython-39-x86_64-linux-gnu.so"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name in ("Makefile", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    assert sorted(ignored(tmp_path)) == sorted({*built, "gompy/ptx/words.cpython-39-x86_64-linux-gnu.so"})
    subprocess.run(["make", "-s", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert ignored(tmp_path) == []


@needs("make")
@pytest.mark.parametrize(
    "source", ["lto_wrapper/front.c", "lto_wrapper/front_key.h", "gompy/access/hooks.c", "gompy/abi/gomp.py"]
)
def test_make_builds_anew_after_a_change(source: str) -> None:
    """Of what is compiled, or what a compiled part is made from.  Nothing is run."""
    command = ["make", "-n", "-W", source, "-o", ".venv/.installed", "all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "build_native" in done.stdout


@needs("make")
def test_what_a_build_has_made_is_no_reason_for_another() -> None:
    """It is newer than the build's mark, which is as old as its beginning."""
    command = ["make", "-n", "-W", "gompy/native/cuda_names.h", "-o", ".venv/.installed", "all"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "build_native" not in done.stdout


PYTHON = """#!/bin/sh
if [ "$2" = venv ]; then
  mkdir -p "$3/bin" && ln -s "$0" "$3/bin/python"
fi
"""
"""A Python that makes environments with a link to itself, and installs nothing."""


@needs("make")
def test_make_leaves_the_systems_python_alone(tmp_path: Path) -> None:
    """An environment's python is a link to it: what makes it look new has all caches of links made anew."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".ci").mkdir()
    for name in ("setup.py", "pyproject.toml", ".ci/packages"):
        (tmp_path / name).touch()
    python = tmp_path / "python3"
    python.write_text(PYTHON)
    python.chmod(0o755)
    os.utime(python, (10**9, 10**9))
    command = ["make", "-s", f"PYTHON={python}", ".venv/.installed"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / ".venv/bin/python").resolve() == python
    assert python.stat().st_mtime == 10**9
    os.utime(python)  # an update of the system's is no reason to install everything again
    assert subprocess.run([*command, "-q"], cwd=tmp_path).returncode == 0


EDITED = """#!/bin/sh
case "$*" in
*build_native) [ -e edited ] || { touch edited; sleep 0.02; touch gompy/part.h; }; mkdir -p gompy/_native/made
               touch gompy/_native/made/copy.h ;;
esac
"""
"""A Python in whose first build somebody edits a source; each build makes a header."""


@needs("make")
def test_make_builds_what_was_edited_while_it_built(tmp_path: Path) -> None:
    """A mark made at the build's end is newer than the edit.  What the build makes is no source."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("setup.py", "pyproject.toml", "gompy/part.h", ".ci/packages", ".venv/.made", ".venv/.installed"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir()
    python.write_text(EDITED)
    python.chmod(0o755)
    command = ["make", "-o", ".venv/.made", "-o", ".venv/.installed", "gompy/_native/.stamp"]

    def asked() -> str:
        return subprocess.run([*command, "-n"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "build_native" in asked()
    subprocess.run(command, cwd=tmp_path, check=True)
    assert "build_native" in asked()
    subprocess.run(command, cwd=tmp_path, check=True)
    assert "build_native" not in asked()


def test_a_product_is_as_old_as_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One as old as its end is newer than a source that was edited while it was compiled, and never made again."""
    pytest.importorskip("setuptools")
    monkeypatch.setattr("setuptools.setup", lambda **words: None)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    build = runpy.run_path(str(ROOT / "setup.py"))
    source, output = tmp_path / "source.c", tmp_path / "made" / "output"
    source.touch()
    for edited in (True, False):
        assert build["newer"]([source], output)
        with build["making"](output) as part:
            if edited:
                time.sleep(0.02)  # the file system's times are that coarse
                source.touch()
            part.write_text("made")
    assert not build["newer"]([source], output)
    assert [path.name for path in output.parent.iterdir()] == ["output"]
