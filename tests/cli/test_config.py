"""gompy config, gompy doctor, and the command that finds them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, has_as, make_wrappers, needs

from gompy.abi.gcc import NAMED, SUPPORTED
from gompy.cli import config, doctor, main
from gompy.driver import paths

STOCK_GCC = shutil.which("gcc") or "gcc"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command in this process."""
    status = main.dispatch(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def test_each_option_on_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--bdir", "--libdir", "--cuda-libdir", "--llvm-libdir", "--llvm-rtldir", "--prefix")
    status, out, err = run(capsys, "config", *options)
    assert (status, err) == (0, "")
    folders = [paths.BDIR, paths.LIBDIR, paths.CUDALIBDIR, paths.LLVMLIBDIR, paths.LLVMRTLDIR, paths.PREFIX]
    assert out.splitlines() == folders


@needs("gcc")
def test_folder_of_headers(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "config", "--incdir")
    assert (Path(out.strip()) / "omp.h").is_file()


def test_flags_are_words_for_gcc(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "config", "--cflags", "--libs", "--env")
    cflags, libs, env = (shlex.split(line) for line in out.splitlines())
    assert cflags[0].rstrip("/") == f"-B{paths.BDIR}"
    assert {"-flto", "-ffat-lto-objects", "-fopenmp"} <= set(cflags)
    assert libs.index("-Wl,--push-state,--no-as-needed") < libs.index("-lgompy") < libs.index("-Wl,--pop-state")
    assert f"-Wl,-rpath,{paths.LIBDIR}" in libs
    assert all("=" in word for word in env)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    _, one, _ = run(capsys, "--version")
    _, two, _ = run(capsys, "config", "--version")
    assert one == f"gompy {two}"
    assert two.strip() == main.version()
    assert two[0].isdigit()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "usage: gompy"),
        (["nonsense"], "no command 'nonsense'"),
        (["--nonsense"], "no option '--nonsense'"),
        (["config"], "usage: gompy config"),
        (["config", "--nonsense"], "no option '--nonsense'"),
        (["doctor", "x"], "takes no arguments"),
    ],
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], arguments: list[str], text: str) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert text in err


@pytest.mark.parametrize("arguments", [["--help"], ["config", "--help"], ["doctor", "--help"]])
def test_help(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, err) == (0, "")
    assert out.startswith("usage: gompy")


def test_every_option_is_in_the_help() -> None:
    assert all(name in config.usage() for name in config.ANSWERS)
    assert all(name in main.usage() for name in main.available())
    assert {"config", "doctor"} <= set(main.available()) == set(main.COMMANDS), "a command without its module"


def test_command_that_is_not_there_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(main.COMMANDS, "later", "something")
    status, out, err = run(capsys, "later")
    assert (status, out, err) == (2, "", "gompy: error: 'later' is not implemented\n")
    assert "later" not in main.usage()


def test_no_compiler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("GOMPY_CC", raising=False)
    status, out, err = run(capsys, "config", "--incdir")
    assert (status, out) == (1, "")
    assert err == ""  # the message goes straight to the file descriptor, see the next test
    status, out, _ = run(capsys, "doctor")
    assert status == 1
    assert "NO  gompcc: no gcc and no gcc-12 to gcc-" in out
    assert "install gcc, or set GOMPY_CC  -> apt-get install gcc\n" in out


def test_no_compiler_is_said(tmp_path: Path) -> None:
    script = make_wrappers(tmp_path / "bin") / "gompy"
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path), "LC_ALL": "C"}
    done = subprocess.run([script, "config", "--incdir"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("gompy config: error: no gcc and no gcc-12 to gcc-")


def test_doctor_names_missing_parts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "NATIVE", str(tmp_path))
    monkeypatch.setattr(paths, "LIBDIR", str(tmp_path / "lib"))
    report = doctor.Report()
    doctor.check_parts(report)
    out = capsys.readouterr().out
    assert report.failed
    assert f"NO  missing: {tmp_path}/lib/libgompy.so.1  -> build again" in out
    assert out.count("NO  ") == len(paths.NEEDED)


def test_doctor_names_a_library_that_does_not_load(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = tmp_path / "libgompy.so.1"
    broken.write_text("not a library")
    report = doctor.Report()
    doctor.load(report, str(broken), doctor.BAD)
    assert report.failed
    assert "NO  libgompy.so.1 does not load: OSError:" in capsys.readouterr().out


@has_as
@needs("gcc")
def test_doctor_sees_a_compiler_that_streams_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A compiler that says it offloads and leaves the streams out of its objects."""
    fake = tmp_path / "gcc"
    fake.write_text('#!/bin/sh\ncase "$*" in -v) exec gcc -v;; esac\nwhile [ "$1" != -o ]; do shift; done\n: > "$2"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("GOMPY_CC", str(fake))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    report = doctor.Report()
    assert doctor.check_compilers(report, str(tmp_path)) is None
    assert report.failed
    assert "no offload streams in its objects" in capsys.readouterr().out


NEWER = """\
#!/bin/sh
echo OFFLOAD_TARGET_NAMES=nvptx-none >&2
echo 'gcc version 17.2.0 (Fake)' >&2
exit 1
"""
"""A gcc that gompy does not work with yet."""


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, first in PATH, whose gcc, g++ and gfortran are newer; the rest of the PATH has no compiler."""
    folder = tmp_path / "newer"
    folder.mkdir()
    for name in ("gcc", "g++", "gfortran"):
        (folder / name).write_text(NEWER)
        (folder / name).chmod(0o755)
    for name in ("ld", "as", "sh", "env"):
        (folder / name).symlink_to(shutil.which(name) or "/bin/false")
    for name in ("GOMPY_CC", "GOMPY_CXX", "GOMPY_FC"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(folder))
    return folder


def test_doctor_refuses_a_newer_gcc_alone(capsys: pytest.CaptureFixture[str], newer: Path, tmp_path: Path) -> None:
    report = doctor.Report()
    assert doctor.check_compilers(report, str(tmp_path)) is None
    assert report.failed
    lines = capsys.readouterr().out.splitlines()
    for line, state, program, package in zip(
        lines[2:], ("NO", "--", "--"), ("gompcc", "gompc++", "gompfortran"), ("gcc", "g++", "gfortran"), strict=True
    ):
        assert line.startswith(f"  {state}  {program}: ") and "is gcc 17.2.0, whose device code" in line
        assert line.endswith(f"-> apt-get install {package}-{SUPPORTED[-1]}")


@has_all
@needs("gcc")
def test_gcc_12_steps_in_for_a_newer_gcc(capsys: pytest.CaptureFixture[str], newer: Path, tmp_path: Path) -> None:
    """All commands go to it, and doctor says why."""
    plain = [newer / "gcc", "-c", "x.c"]
    (newer / "gcc-12").symlink_to(STOCK_GCC)
    report = doctor.Report()
    command = doctor.check_compilers(report, str(tmp_path))
    assert command is not None and command.words == ["gcc-12"]
    assert not report.failed
    assert f"streams device code (gcc is 17.2.0; gompy needs {NAMED})" in capsys.readouterr().out
    status, out, _ = run(capsys, "config", "--cc", "--incdir")
    assert (status, out.splitlines()[0]) == (0, "gcc-12")
    assert (Path(out.splitlines()[1]) / "omp.h").is_file()
    assert subprocess.run(plain, capture_output=True).returncode == 1  # what the PATH's own gcc says to anything
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    tools.write("x.c", "int f (void) { return 0; }\n")
    assert tools.run("gompcc", "-c", "x.c").returncode == 0


@pytest.mark.slow
@has_all
@needs("gcc")
def test_doctor_is_content_where_programs_run(tmp_path: Path) -> None:
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    done = tools.run("gompy", "doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok  a program with one region runs it on the emulated device" in done.stdout
    assert not any(line.startswith("  NO") for line in done.stdout.splitlines())


@has_all
@needs("gcc")
def test_doctor_shows_what_keeps_regions_on_the_host(tmp_path: Path) -> None:
    tools = Tools(make_wrappers(tmp_path / "bin"), tmp_path)
    done = tools.run("gompy", "doctor", env={"OMP_TARGET_OFFLOAD": "disabled"})
    assert done.returncode == 1
    assert "NO  a program with one region runs it on the host" in done.stdout
    assert "--  OMP_TARGET_OFFLOAD=disabled" in done.stdout


def test_output_to_a_closed_pipe(tmp_path: Path) -> None:
    script = make_wrappers(tmp_path / "bin") / "gompy"
    done = subprocess.run(
        ["sh", "-c", f"{shlex.quote(str(script))} --help | true"], capture_output=True, text=True, env=dict(os.environ)
    )
    assert done.stderr == ""
