"""The cache of compiled PTX: whose files are trusted, what happens where nothing can be kept, damage of any kind."""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device, ExecutorError

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has files of other users")
NOBODY = 65534
TEXT = """.version 6.0
.target sm_35
.address_size 64
.visible .entry k (.param .u64 a) { .reg .u64 %o; ld.param.u64 %o, [a]; st.u64 [%o], %o; ret; }
"""
NO_COMPILER = (218, 221)
USE = f"""import sys; sys.path.insert(0, {str(ROOT)!r})
from gompy.ptx.device import Device
text = {TEXT!r} + "".join(sys.argv[1:])
with Device(1 << 24) as device:
    out = device.upload(bytes(8))
    device.load(text).function("k").launch((1, 1, 1), (1, 1, 1), [out])
    assert device.download(out, 8) == out.to_bytes(8, "little")
print("right")
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without anything in it."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("GOMPY_PYTHON", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir(mode=0o755)
    return tmp_path / "home"


@pytest.fixture
def device() -> Iterator[Device]:
    with Device(1 << 24) as made:
        yield made


def own_text() -> str:
    """The kernel in a text of this test's: what is compiled into memory stays there for the others."""
    return f"{TEXT}// {os.environ['PYTEST_CURRENT_TEST']}\n"


def works(device: Device) -> bool:
    """Whether the kernel does what it should."""
    out = device.upload(bytes(8))
    device.load(own_text()).function("k").launch((1, 1, 1), (1, 1, 1), [out])
    return struct.unpack("Q", device.download(out, 8)) == (out,)


def needs_compiler(device: Device, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether nothing of the cache is taken; nothing is compiled."""
    monkeypatch.setenv("GOMPY_PYTHON", "/bin/false")
    try:
        device.load(own_text()).function("k").launch((1, 1, 1), (1, 1, 1), [device.upload(bytes(8))])
    except ExecutorError as error:
        assert error.code in NO_COMPILER and "ended with status 1 before it answered" in error.log
        return True
    finally:
        monkeypatch.delenv("GOMPY_PYTHON")
    return False


def leaf(home: Path) -> Path:
    """The folder of this compiler's files."""
    (found,) = (home / ".cache" / "gompy" / "ptx").iterdir()
    return found


def put(path: Path, data: bytes) -> None:
    """Another file of that name."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)


def use(*words: str, umask: int = 0o022, user: int | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the kernel in a process of its own; words make its text another one."""
    wanted = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")} | env
    return subprocess.run(
        [sys.executable, "-c", USE, *(f"// {word}\n" for word in words)],
        capture_output=True,
        text=True,
        env=wanted,
        umask=umask,
        user=user,
        group=user,
        extra_groups=[] if user is not None else None,
        timeout=100,
    )


def right(done: subprocess.CompletedProcess[str]) -> bool:
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", ""), done.stdout + done.stderr
    return True


def modes(top: Path) -> set[tuple[bool, int]]:
    """(is a folder, mode) of everything below."""
    return {(path.is_dir(), path.stat().st_mode & 0o777) for path in top.rglob("*")}


@pytest.mark.parametrize("umask", [0, 0o777, 0o002])
def test_what_is_made_is_the_users_alone(home: Path, umask: int) -> None:
    assert right(use("one", umask=umask, HOME=str(home)))
    assert modes(home) == {(True, 0o700), (False, 0o600)}
    assert right(use("one", umask=umask, HOME=str(home), GOMPY_PYTHON="/bin/false"))  # and it is found again


def test_folders_of_older_versions_are_closed_to_others(home: Path, device: Device) -> None:
    """They were left to the umask; what is in them is looked at for itself."""
    (home / ".cache" / "gompy" / "ptx").mkdir(parents=True)
    for folder in (home / ".cache" / "gompy", home / ".cache" / "gompy" / "ptx"):
        folder.chmod(0o777)
    assert works(device)
    assert (home / ".cache" / "gompy" / "ptx").stat().st_mode & 0o777 == 0o700
    assert len(list(leaf(home).iterdir())) >= 3


@pytest.mark.parametrize("what", ["a folder that others can write", "files that others can write", "a link", "links"])
def test_what_others_can_write_is_not_loaded(
    home: Path, device: Device, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    assert works(device) and not needs_compiler(device, monkeypatch)
    folder = leaf(home)
    if what == "a folder that others can write":
        folder.chmod(0o722)
    elif what == "files that others can write":
        for file in folder.iterdir():
            file.chmod(0o620)
    elif what == "a link":
        folder.rename(home / "elsewhere")
        folder.symlink_to(home / "elsewhere")
    else:
        for file in list(folder.iterdir()):
            file.rename(home / file.name)
            file.symlink_to(home / file.name)
    assert needs_compiler(device, monkeypatch)
    assert works(device)
    if what in ("files that others can write", "links"):  # they are made anew
        assert not needs_compiler(device, monkeypatch)
        made = [file for file in folder.iterdir() if file.suffix in (".ptx", ".I", ".E")]
        assert len(made) == 3 and not any(file.is_symlink() or file.stat().st_mode & 0o022 for file in made)


@as_root
@pytest.mark.parametrize("at", ["folder", "ptx", "gompy", ".cache", "files"])
def test_what_somebody_else_owns_is_not_loaded(
    home: Path, device: Device, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """Planted by another user, or a home that is another's (sudo): nothing is taken, nothing is put there."""
    assert works(device)
    folder = leaf(home)
    place = {"folder": folder, "ptx": folder.parent, "gompy": folder.parent.parent, ".cache": home / ".cache"}.get(at)
    planted = list(folder.iterdir()) if place is None else [place]
    if at == ".cache":  # all that is below it, as it would be
        planted += list(place.rglob("*")) if place else []
    for path in planted:
        os.chown(path, NOBODY, NOBODY)
    before = sorted(home.rglob("*"))
    assert needs_compiler(device, monkeypatch) and works(device)
    if at != "files":
        assert sorted(home.rglob("*")) == before
    shutil.rmtree(home / ".cache")
    os.chown(home, NOBODY, NOBODY)
    assert works(device) and list(home.iterdir()) == []


def test_files_are_bound_to_their_names(home: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole file under another's name, or in another compiler's folder, is none."""
    assert works(device)
    other = own_text().replace("st.u64", "st.volatile.u64")
    device.load(other)
    files = sorted(file for file in leaf(home).iterdir() if file.suffix == ".E")
    first, second = (file.read_bytes() for file in files)
    put(files[0], second)
    put(files[1], first)
    assert needs_compiler(device, monkeypatch)
    assert works(device) and not needs_compiler(device, monkeypatch)
    folder = leaf(home)
    shutil.copytree(folder, folder.with_name(f"{folder.name.split('-', 1)[0]}-x86-64-v2"))
    monkeypatch.setenv("GOMPY_PTX_CPU", "x86-64-v2")
    assert needs_compiler(device, monkeypatch)


@pytest.mark.parametrize(
    "env",
    [{}, {"HOME": "/nonexistent"}, {"HOME": ""}, {"HOME": "~"}, {"XDG_CACHE_HOME": "relative"}, {"HOME": "/proc/self"}],
    ids=str,
)
def test_without_a_place_for_it_nothing_is_left(tmp_path: Path, env: dict[str, str]) -> None:
    """No home, or none that can be written: the code stays in memory; no folder is made anywhere."""
    before = set(os.listdir("/tmp"))
    work = tmp_path / "work"
    work.mkdir()
    old = os.getcwd()
    os.chdir(work)
    try:
        assert right(use(**env))
    finally:
        os.chdir(old)
    assert list(work.iterdir()) == [] and not Path("/nonexistent").exists()
    assert not {".cache", "gompy", "~"} & (set(os.listdir("/tmp")) - before)


@as_root
def test_a_cache_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    """What is there is taken, what is not is compiled into memory: as nobody, for root may write anything."""
    tmp_path.chmod(0o755)
    for above in list(tmp_path.parents)[:3]:
        if above.stat().st_uid == os.geteuid() and above != Path("/tmp"):
            above.chmod(above.stat().st_mode | 0o055)
    home = tmp_path / "nobody"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    try:
        filled = use(user=NOBODY, HOME=str(home)).returncode == 0
    except PermissionError:  # a clone in root's home: the Python of its .venv is out of reach
        filled = False
    if not filled:
        pytest.skip("nobody cannot read this tree")
    folder = leaf(home)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    for path in (*home.rglob("*"), home):
        path.chmod(0o500 if path.is_dir() else 0o400)
    assert right(use(user=NOBODY, HOME=str(home), GOMPY_PYTHON="/bin/false"))
    assert right(use("another", user=NOBODY, HOME=str(home)))
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir() if path.suffix != ".I"} == {
        path: time for path, time in before.items() if path.suffix != ".I"
    }


@as_root
@pytest.mark.parametrize("kib", [4, 12, 40])
def test_a_full_disk(tmp_path: Path, kib: int) -> None:
    """Whatever still fits is written, whole; the rest stays in memory."""
    place = tmp_path / "full"
    place.mkdir()
    script = f"""mount -t tmpfs -o size={kib}k,mode=0700 none {place} || exit 77
    "$@" && ls -A {place}/gompy/ptx/* | grep '^\\.' ; ls -A {place}/gompy/ptx/* >/dev/null"""
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, "-c", USE],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(place)},
    )
    if "right" not in done.stdout and ("mount" in done.stderr or "unshare" in done.stderr):
        pytest.skip("no file systems can be mounted here")
    assert done.stdout.split() in (["right"], ["right", ".others"])


@pytest.mark.slow
def test_damage_of_any_kind_is_noticed(home: Path, device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut at any byte of the heads, and at some behind; a bit flipped anywhere: never taken, no crash, and mended."""
    assert works(device)
    files = {path: path.read_bytes() for path in leaf(home).iterdir() if path.suffix in (".I", ".E")}
    assert len(files) == 2
    for path, data in files.items():
        cuts = [*range(0, 300, 7), *range(300, len(data), len(data) // 9 + 1), len(data) - 1]
        damaged = [data[:at] for at in cuts] + [data + b"\0", b""]
        damaged += [data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :] for at in cuts]
        for bad in damaged:
            put(path, bad)
            assert needs_compiler(device, monkeypatch), (path.suffix, len(bad))
            for other, whole in files.items():
                if not other.exists():
                    put(other, whole)
    for path in files:
        put(path, path.read_bytes()[:-5])
        assert works(device)
    assert {path: path.read_bytes() for path in files} == files


CUT = f"""import os, sys; sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from gompy.ptx.device import Device
second = ".visible .entry l (.param .u64 a) {{ .reg .u64 %o; ld.param.u64 %o, [a]; st.u64 [%o+8], %o; ret; }}"
with Device(1 << 24) as device:
    out = device.upload(bytes(16))
    module = device.load({TEXT!r} + second)
    module.function("k").launch((1, 1, 1), (1, 1, 1), [out])
    for file in Path(os.environ["HOME"]).rglob("*.[IEPS]*"):
        os.truncate(file, 0)
    module.function("l").launch((1, 1, 1), (1, 1, 1), [out])
    module.function("k").launch((1, 1, 1), (1, 1, 1), [out])
    assert device.download(out, 16) == 2 * out.to_bytes(8, "little")
print("right")
"""


def test_files_that_are_cut_while_they_are_in_use(home: Path) -> None:
    """In place, by whoever fills the disk or cleans it: what runs stands in the program's own memory."""
    env = {**os.environ, "HOME": str(home)}
    for _ in range(2):  # made by this process, and found cut by the other
        assert right(subprocess.run([sys.executable, "-c", CUT], capture_output=True, text=True, env=env))


def test_a_folder_that_is_removed_while_code_is_made(home: Path) -> None:
    """A cleaner of caches comes when the compiler starts: the code stays in memory."""
    python = home / "python"
    python.write_text(f'#!/bin/sh\nrm -rf "$HOME/.cache/gompy"\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    assert right(use(HOME=str(home), GOMPY_PYTHON=str(python)))
    assert right(use(HOME=str(home)))


@pytest.mark.slow
def test_a_cut_text_is_replaced(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_PTX_CPU", "x86-64")  # for which the build has compiled nothing ahead
    assert right(use(HOME=str(home)))
    folder = leaf(home)
    (text,) = folder.glob("*.ptx")
    for bad in (b"", TEXT[:50].encode()):
        text.write_bytes(bad)
        for file in [*folder.glob("*.I"), *folder.glob("*.E")]:
            file.unlink()
        (folder / "slow.S").write_bytes((folder / "slow.S").read_bytes()[:-5])
        assert right(use(HOME=str(home))) and text.read_bytes() == TEXT.encode()
    text.write_bytes(TEXT.replace("st.u64", "st.u32").encode())  # of the same length
    for file in folder.glob("*.E"):
        file.unlink()
    assert right(use(HOME=str(home))) and not text.exists()
    assert right(use(HOME=str(home)))


def test_processes_that_write_the_same(home: Path) -> None:
    """Several programs that need the same code at once: all are right, and no part of a file is left."""
    env = {**os.environ, "HOME": str(home)}
    running = [subprocess.Popen([sys.executable, "-c", USE], env=env, stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[0] for process in running] == [b"right\n"] * 4
    assert not [file for file in leaf(home).iterdir() if file.name.startswith(".") and file.name != ".others"]
