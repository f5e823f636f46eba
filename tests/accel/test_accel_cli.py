"""``gompy accel`` on the command line, and the parts of a build that need no compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
from accel_tools import call
from test_accel_store import install

from gompy.accel import build, host
from gompy.accel.errors import AccelError
from gompy.accel.progress import Lines
from gompy.tools import accelstore as store


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """Data and cache folders of the test's own."""
    return {
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_DATA_DIRS": str(tmp_path / "none"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def test_list_without_any(home: dict[str, str]) -> None:
    assert call("gompy", "accel", "list", **home).stdout == (
        "no accelerator compiler is built; 'gompy accel build' builds one\n"
    )


def test_list_tells_which_is_in_use(home: dict[str, str]) -> None:
    """One for the compiler in use, one whose compiler is gone."""
    current = host.choose()
    folder = Path(home["XDG_DATA_HOME"]) / "gompy" / "accel"
    install(folder, current.name, current.identity, compiler=current.title, host_lto1=current.lto1)
    install(folder, "gcc-12.0.0", "abcd", compiler="gcc 12.0.0", host_lto1="/nonexistent/lto1")
    lines = call("gompy", "accel", "list", **home).stdout.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("gcc-12.0.0  gcc 12.0.0") and "stale: its compiler has changed or is gone" in lines[0]
    assert lines[1].startswith(current.name) and lines[1].endswith("(in use)")


def test_build_of_what_is_there(home: dict[str, str]) -> None:
    current = host.choose()
    place = install(Path(home["XDG_DATA_HOME"]) / "gompy" / "accel", current.name, current.identity)
    assert (
        f"{place}: the accelerator compiler for {current.title} is built already"
        in call("gompy", "accel", "build", **home).stdout
    )


def test_remove(home: dict[str, str]) -> None:
    folder = Path(home["XDG_DATA_HOME"]) / "gompy" / "accel"
    place = install(folder, "gcc-12.0.0", "abcd")
    done = call("gompy", "accel", "remove", "gcc-9", check=False, **home)
    assert done.returncode == 1
    assert done.stderr == (
        "gompy accel: error: no accelerator compiler named 'gcc-9'; 'gompy accel list' shows those that are built\n"
    )
    assert "removed" in call("gompy", "accel", "remove", "gcc-12.0.0", **home).stdout
    assert not place.exists()


def test_remove_all_takes_unfinished_builds(home: dict[str, str]) -> None:
    install(Path(home["XDG_DATA_HOME"]) / "gompy" / "accel", "gcc-12.0.0", "abcd")
    work = Path(home["XDG_CACHE_HOME"]) / "gompy" / "accel" / "gcc-12.0.0"
    work.mkdir(parents=True)
    assert "unfinished build removed" in call("gompy", "accel", "remove", "--all", **home).stdout
    assert not work.exists() and store.installed([f"{home['XDG_DATA_HOME']}/gompy/accel"]) == []


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("words", [(), ("--openacc",), ("--check",)])
@pytest.mark.parametrize("given", ["", "there is none"])
def test_a_home_that_is_not_there_is_not_made(tmp_path: Path, words: tuple[str, ...], given: str) -> None:
    """As useradd writes it for who is to have none, or HOME is empty: as root, either was made, or filled."""
    home = given and str(tmp_path / given)
    empty = {"HOME": home, "XDG_DATA_HOME": "", "XDG_CACHE_HOME": "", "XDG_DATA_DIRS": str(tmp_path / "none")}
    done = call("gompy", "accel", "build", *words, check=False, **empty)
    assert (done.returncode, done.stderr) == (
        1,
        "gompy accel: error: there is no home folder to keep it in\n  set HOME or XDG_DATA_HOME, or give --prefix\n",
    )
    prefix = tmp_path / "prefix"
    if not words:
        done = call("gompy", "accel", "build", "--prefix", prefix, check=False, **empty)
        assert (done.returncode, done.stderr) == (
            1,
            "gompy accel: error: there is no home folder to build it in\n  set HOME or XDG_CACHE_HOME\n",
        )
    assert call("gompy", "accel", "remove", "--all", **empty).stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_relative_folder_is_nobodys(home: dict[str, str]) -> None:
    """XDG's specification passes over it; the first of the system's folders is not taken for the user's own."""
    place = install(Path(home["XDG_DATA_DIRS"]) / "gompy" / "accel", "gcc-12.0.0", "abcd")
    relative = home | {"XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache"}
    done = call("gompy", "accel", "build", check=False, **relative)
    told = "XDG_DATA_HOME=data: not an absolute path\n  give it one, or unset it, or give --prefix\n"
    assert (done.returncode, done.stderr) == (1, f"gompy accel: error: {told}")
    call("gompy", "accel", "remove", "--all", HOME=home["XDG_DATA_HOME"], **relative)
    assert place.exists()
    done = call(
        "gompy", "accel", "build", check=False, HOME="", **(relative | {"XDG_DATA_HOME": home["XDG_DATA_HOME"]})
    )
    told = "XDG_CACHE_HOME=cache: not an absolute path\n  give it one, or set HOME\n"
    assert (done.returncode, done.stderr) == (1, f"gompy accel: error: {told}")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ((), 2, "required: COMMAND"),
        (("build", "--jobs", "0"), 2, "'0' is not a positive number"),
        (("build", "--source", "/nonexistent"), 1, "/nonexistent: not a source tree of GCC 12 with the target"),
        (("test",), 1, "build it: gompy accel build"),
    ],
)
def test_wrong_usage(home: dict[str, str], words: tuple[str, ...], status: int, message: str) -> None:
    done = call("gompy", "accel", *words, check=False, **home)
    assert done.returncode == status and message in done.stderr and "Traceback" not in done.stderr


def test_compiler_of_another_kind(home: dict[str, str], tmp_path: Path) -> None:
    """GOMPY_CC that is no gcc is refused in one line."""
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho 'clang version 14.0.6' >&2\n")
    fake.chmod(0o755)
    done = call("gompy", "accel", "build", check=False, GOMPY_CC=str(fake), **home)
    assert done.returncode == 1 and "is not gcc" in done.stderr and "Traceback" not in done.stderr


def test_compiler_that_fails(tmp_path: Path) -> None:
    """It may be gcc: what it failed with is said."""
    fake = tmp_path / "cc"
    fake.write_text("#!/bin/sh\necho 'cc: 1: exec: nosuch: not found' >&2\nexit 127\n")
    fake.chmod(0o755)
    with pytest.raises(
        AccelError, match=r"/cc has ended with status 127 \(cc: 1: exec: nosuch: not found\) when asked -v$"
    ):
        host.examine([str(fake)], str(fake))
    fake.write_text("no program")
    with pytest.raises(AccelError, match=r"/cc cannot be run: Exec format error$"):
        host.examine([str(fake)], str(fake))


def test_compile_lines_are_counted() -> None:
    counted = (
        b"x86_64-linux-gnu-g++ -fno-PIE -c   -O1 -DIN_GCC -o insn-emit.o -MT insn-emit.o insn-emit.cc\n",
        b"g++ -no-pie -c -o build/genmatch.o x.cc\n",
    )
    others = (b"make: Entering directory\n", b"build/gencodes x.md > tmp-codes.h\n", b"/bin/sh ../move-if-change a b\n")
    assert all(build.COMPILE_LINE.match(line) for line in counted)
    assert not any(build.COMPILE_LINE.match(line) for line in others)


def test_the_telling_line_of_a_failure() -> None:
    log = [b"g++ -c x.cc\n", b"x.cc:3:1: error: 'y' was not declared\n", b"make: *** [x.o] Error 1\n"]
    assert build.error_line(log) == "x.cc:3:1: error: 'y' was not declared"
    assert build.error_line(log[2:]) == "make: *** [x.o] Error 1"
    assert build.error_line([]) == "(no message)"


def test_lines_show_every_tenth(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.compiling(0, 40)
    for _ in range(45):
        lines.compiled()
    shown = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[2] for line in shown] == ["40 objects", *(f"{n} %" for n in range(10, 100, 10))]


def test_signature_changes_with_what_matters(tmp_path: Path) -> None:
    """Another source means another build, more jobs do not."""
    current = host.choose()
    first = build.Plan(current, 2, tmp_path)
    assert first.signature == build.Plan(current, 4, tmp_path).signature
    assert first.signature != build.Plan(current, 2, tmp_path, Path("/source")).signature
