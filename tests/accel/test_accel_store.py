"""The store of accelerator compilers: where, which, and whether it belongs to the host compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gompy.tools import accelstore as store
from gompy.tools.linkcompiler import accel_folders


def install(folder: Path, name: str, identity: str, **conf: str) -> Path:
    """A folder of the store."""
    place = folder / name
    place.mkdir(parents=True)
    (place / store.LTO1).write_text("#!/bin/sh\n")
    (place / store.LTO1).chmod(0o755)
    store.write_conf(str(place / store.CONF), {"format": store.FORMAT, "host_identity": identity, **conf})
    for path in (folder, place, place / store.CONF):
        path.chmod(path.stat().st_mode & ~0o022)
    return place


def test_folders_follow_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's folder first; relative paths in the variables do not count (XDG Base Directory Specification)."""
    monkeypatch.setenv("XDG_DATA_HOME", "/u/data")
    monkeypatch.setenv("XDG_DATA_DIRS", "/a:relative:/b:/a")
    assert accel_folders() == ["/u/data/gompy/accel", "/a/gompy/accel", "/b/gompy/accel"]
    monkeypatch.delenv("XDG_DATA_DIRS")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert accel_folders() == ["/usr/local/share/gompy/accel", "/usr/share/gompy/accel"]
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert accel_folders()[0] == "/home/somebody/.local/share/gompy/accel"


def test_conf_round_trip(tmp_path: Path) -> None:
    conf = {"format": "1", "compiler": "gcc 12.2.0 (Debian 12.2.0-14 = x)", "empty": ""}
    store.write_conf(str(tmp_path / "c"), conf)
    assert store.read_conf(str(tmp_path / "c")) == conf
    assert os.listdir(tmp_path) == ["c"]
    assert store.read_conf(str(tmp_path / "none")) == {}


def test_find_takes_only_what_fits(tmp_path: Path) -> None:
    """Another identity, another format, a folder without lto1 or conf: not taken."""
    first, second = tmp_path / "1", tmp_path / "2"
    install(first, "gcc-12.1.0", "aaaa")
    wanted = install(second, "gcc-12.2.0", "bbbb")
    install(second, "gcc-12.3.0", "cccc", format="0")
    (second / "junk").mkdir()
    folders = [str(first), str(second), str(tmp_path / "none")]
    assert [item.name for item in store.installed(folders)] == ["gcc-12.1.0", "gcc-12.2.0", "gcc-12.3.0"]
    found = store.find("bbbb", folders)
    assert found is not None and found.path == str(wanted) and found.lto1 == str(wanted / "lto1")
    for identity in ("", "cccc", "dddd"):
        assert store.find(identity, folders) is None


@pytest.mark.parametrize("what", [".", "..", store.LTO1, store.CONF])
def test_what_others_can_write_is_not_run(tmp_path: Path, what: str) -> None:
    """The folder of all, the compiler's own, its program, the note that says whose it is."""
    place = install(tmp_path / "accel", "gcc-12", "aaaa")
    folders = [str(tmp_path / "accel")]
    path = place / what
    mode = path.stat().st_mode
    for bits in (0o020, 0o002):
        path.chmod(mode | bits)
        (item,) = store.installed(folders)
        assert "can be written by others" in item.distrusted and store.find("aaaa", folders) is None
    path.chmod(mode)
    assert store.find("aaaa", folders) is not None
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        assert "belongs to user 65534" in store.installed(folders)[0].distrusted
        assert store.find("aaaa", folders) is None


def test_a_program_that_is_a_link(tmp_path: Path) -> None:
    """Nobody else may change what it points to."""
    place, other = install(tmp_path / "accel", "gcc-12", "aaaa"), tmp_path / "other"
    other.mkdir(mode=0o755)
    (place / store.LTO1).rename(other / "program")
    (place / store.LTO1).symlink_to(other / "program")
    assert store.find("aaaa", [str(tmp_path / "accel")]) is not None
    other.chmod(0o777)
    assert store.find("aaaa", [str(tmp_path / "accel")]) is None


def test_identity_is_the_build_id(tmp_path: Path) -> None:
    """As readelf reads it, of a real program; other bytes do not matter to it."""
    program = shutil.which("gcc") or "/bin/sh"
    text = subprocess.run(["readelf", "-nW", program], capture_output=True, text=True, env={"LC_ALL": "C"}).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", text)
    assert found is not None
    assert store.identity(program) == found[1]
    copy = tmp_path / "copy"
    shutil.copy(program, copy)
    assert store.identity(str(copy)) == found[1]


def test_identity_without_build_id(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    os.utime(file, (1000, 1000))
    assert store.identity(str(file)) == "5-1000"
    assert store.identity(str(tmp_path / "none")) == ""


@pytest.mark.parametrize("length", range(0, 400, 7))
def test_identity_of_damaged_files(tmp_path: Path, length: int) -> None:
    """A cut ELF file is a file like any other."""
    data = Path(shutil.which("gcc") or "/bin/sh").read_bytes()
    file = tmp_path / "file"
    file.write_bytes(data[:length])
    os.utime(file, (7, 7))
    assert store.identity(str(file)) in (f"{length}-7", store.identity(str(file)))


def test_host_lto1_passes_over_ours(tmp_path: Path) -> None:
    """An accelerator's folder put first with -B does not hide the host's own lto1."""
    ours = install(tmp_path, "gcc-12", "aaaa")
    host = tmp_path / "host"
    host.mkdir()
    (host / "lto1").write_text("")
    (host / "lto1").chmod(0o755)
    assert store.host_lto1(["", str(tmp_path / "none"), str(ours), str(host)]) == str(host / "lto1")
    assert store.host_lto1([str(ours)]) == ""
