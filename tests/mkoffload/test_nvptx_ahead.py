"""GCC's libraries for nvptx, compiled when gompy is built."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import has_all, needs
from nvptx_tools import has_compiler, make_tools
from plugin_tools import build

from gompy.ptx import store
from mkoffload import nvptx_ahead


def archive(path: Path, members: dict[str, str]) -> None:
    """An archive of such texts, by ar."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for name, text in members.items():
        (path.parent / name).write_text(text)
    subprocess.run(["ar", "rc", path.name, *members], cwd=path.parent, check=True)


def defines(*names: str, calls: tuple[str, ...] = ()) -> str:
    """An object's notes."""
    return "".join(f"// BEGIN GLOBAL FUNCTION DECL: {n}\n" for n in calls) + "".join(
        f"// BEGIN GLOBAL FUNCTION DEF: {n}\n" for n in names
    )


@pytest.mark.skipif(shutil.which("ar") is None, reason="there is no ar")
def test_what_is_compiled_ahead_is_libgomp_and_what_it_leads_to(tmp_path: Path) -> None:
    long_name = "a-name-that-is-longer-than-fifteen-letters.o"
    archive(tmp_path / "libgomp.a", {"team.o": defines("team", calls=("memcpy", "nobody")), long_name: defines("x")})
    archive(tmp_path / "libc.a", {"m.o": defines("memcpy", calls=("inner",)), "i.o": defines("inner"),
                                  "sin.o": defines("sin"), "malloc.o": defines("malloc")})  # fmt: skip
    found = nvptx_ahead.chosen(str(tmp_path))
    assert sorted(found) == [
        "libc.a:i.o",
        "libc.a:m.o",
        "libc.a:malloc.o",
        f"libgomp.a:{long_name}",
        "libgomp.a:team.o",
    ]
    assert found["libc.a:i.o"] == defines("inner").encode()


@pytest.fixture
def shipped(tmp_path: Path) -> int:
    """A folder as the installation has it."""
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / "both").write_bytes(b"shipped")
    return os.open(tmp_path / "shipped", os.O_RDONLY)


def test_what_is_shipped_comes_before_the_cache(tmp_path: Path, shipped: int) -> None:
    (tmp_path / "cache").mkdir(mode=0o700)
    folder = os.open(tmp_path / "cache", os.O_RDONLY)
    files = store.Store(folder, -1, "leaf", "0" * 32, shipped)
    for name in ("both", "own"):
        (tmp_path / "cache" / name).write_bytes(b"cache")
        (tmp_path / "cache" / name).chmod(0o600)
    (tmp_path / "shipped" / "both").chmod(0o644)
    assert [files.has(name) for name in ("both", "own", "none")] == [True, True, False]
    assert [files.read(name) for name in ("both", "own")] == [b"shipped", b"cache"]
    with pytest.raises(FileNotFoundError):
        files.read("none")
    (tmp_path / "shipped" / "both").chmod(0o666)
    with pytest.raises(PermissionError):
        files.read("both")
    os.close(folder)
    os.close(shipped)


def test_a_shipped_folder_that_others_can_write_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SHIPPED", str(tmp_path))
    (tmp_path / "leaf").mkdir()
    (tmp_path / "leaf").chmod(0o755)
    found = store.shipped_folder("leaf")
    assert found >= 0
    os.close(found)
    (tmp_path / "leaf").chmod(0o777)
    assert [store.shipped_folder("leaf"), store.shipped_folder("none")] == [-1, -1]


def test_what_launches_go_through_is_in_the_libraries() -> None:
    """Also what GCC's runtime copies and sets memory with: quick code for these takes a tenth of a small launch."""
    folders = [folder for pattern in nvptx_ahead.FOLDERS for folder in glob.glob(pattern)]
    if not folders:
        pytest.skip("there is no gcc for nvptx")
    for folder in folders:
        assert set(nvptx_ahead.LAUNCHED) <= set(nvptx_ahead.chosen(folder))
    assert {"libc.a:lib_a-memcpy.o", "libc.a:lib_a-memset.o"} <= set(nvptx_ahead.LAUNCHED)


PROGRAM = """int main (void) { int a = 1;
#pragma omp target teams distribute parallel for map(tofrom: a)
for (int i = 0; i < 1; i++) a += i;
return a - 1; }
"""


def ahead(form: str = "S") -> set[str]:
    """The keys of the objects that this build has compiled ahead for this processor, if this user can trust them."""
    leaf = f"{nvptx_ahead.abi.identity()[:16]}-{nvptx_ahead.cpu()}"
    folder = store.shipped_folder(leaf)
    if folder < 0:
        return set()
    os.close(folder)
    return {path.stem for path in (Path(store.SHIPPED) / leaf).glob(f"*.{form}")}


@pytest.fixture
def first_program(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., set[str]]:
    """Run a program with nothing cached; the objects that it has left there in files of a suffix."""

    def run(suffix: str, **env: str) -> set[str]:
        monkeypatch.delenv("GOMPY_PTX_CPU", raising=False)
        tools = make_tools(tmp_path_factory, XDG_CACHE_HOME=str(tmp_path), GOMPY_CUDA="emulated", **env)
        tools.ok(build(tools, "first.c", PROGRAM, "-foffload=nvptx-none"))
        return {path.name.partition(".")[0] for path in (tmp_path / "gompy" / "ptx").glob(f"*/*.{suffix}")}

    return run


@has_all
@needs("gcc")
@has_compiler
@has_driver
@has_executor
@pytest.mark.skipif(not ahead(), reason="nothing was compiled ahead")
def test_the_first_program_has_its_own_code_compiled_only(first_program: Callable[..., set[str]]) -> None:
    cached = first_program("ptx")
    assert len(cached) == 1
    assert not cached & ahead()


@pytest.mark.slow
@has_all
@needs("gcc")
@has_compiler
@has_driver
@has_executor
@pytest.mark.skipif(not ahead(), reason="nothing was compiled ahead")
def test_a_checked_program_finds_what_launches_go_through(first_program: Callable[..., set[str]]) -> None:
    """Of libgomp's objects it has those compiled that launches do not need."""
    checked = first_program("s", GOMPY_CHECK="1")
    assert checked
    assert ahead("s") and not checked & ahead("s")
