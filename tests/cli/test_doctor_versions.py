"""What ``gompy doctor`` says of versions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from driver_tools import has_all, needs

from gompy.cli import doctor_versions


@has_all
@needs("gcc")
def test_libgomp_is_the_one_that_is_loaded() -> None:
    ((fine, text, _),) = doctor_versions.libgomp()
    assert fine and "/libgomp.so.1" in text and "GOMP_5." in text and "OACC_2." in text


def test_a_compiler_that_lacks_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gcc = shutil.which("gcc-12")
    if not gcc:
        pytest.skip("not installed: gcc-12")
    (tmp_path / "gcc-12").symlink_to(gcc)
    monkeypatch.setenv("PATH", str(tmp_path))
    ((fine, text, mend),) = doctor_versions.compilers()
    assert not fine and text.startswith(f"{tmp_path}/gcc-12: gcc 12.") and "lacks g++-12, gfortran-12" in text
    assert mend.startswith("apt-get install g++-12 gfortran-12")


def test_no_compiler_and_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{tmp_path}/none")
    (tmp_path / "gcc-99").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "gcc-99").chmod(0o755)
    assert doctor_versions.compilers() == [
        (False, f"{tmp_path}/gcc-99: no device code by it: it has ended with status 1 when asked -v", ""),
    ]


@has_all
def test_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "gompy" / "ptx"
    assert doctor_versions.caches() == [(True, f"PTX cache: {folder}: empty", "")]
    for name in (f"{doctor_versions.identity()}-cpu", "0123456789abcdef-cpu"):
        (folder / name).mkdir(parents=True)
        (folder / name / "a.so").write_bytes(bytes(2048))
    assert [text for _, text, _ in doctor_versions.caches()] == [
        f"PTX cache: {folder}: 1 file, 2 KiB, of this version",
        f"PTX cache: {folder}: 1 file, 2 KiB, of 1 other version: it may be removed",
    ]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert doctor_versions.caches()[0][1] == "PTX cache: in memory only"
    monkeypatch.setenv("HOME", str(tmp_path / "none"))  # the libraries do not make it
    assert doctor_versions.caches()[0][1] == "PTX cache: in memory only"
