"""A few of GCC's tests under DejaGnu: only where DejaGnu is installed and the suite is unpacked already."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testsuite"))

from dejagnu import log, suite, workers  # noqa: E402

SCRIPT = ROOT / "testsuite" / "check_target_libgomp.py"

needs_suite = pytest.mark.skipif(
    bool(suite.missing_packages(need_source=False)) or not suite.unpacked(),
    reason="no DejaGnu, or the suite is not unpacked: make check-target-libgomp fetches both",
)


def check(out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the program with one gcc accelerator; never fetches anything."""
    environment = {**os.environ, "GOMPY_ACCEL": "gcc"}
    words = [sys.executable, str(SCRIPT), "--source", str(suite.root()), "--out", str(out), *options]
    return subprocess.run(words, capture_output=True, text=True, env=environment)


@needs_suite
def test_passes_on_the_device(tmp_path: Path) -> None:
    done = check(tmp_path, "-j2", "--runtestflags", "c.exp=target-1[12].c", "--dirs", "libgomp.c")
    assert done.returncode == 0, done.stdout + done.stderr
    results = [r for r in log.read(tmp_path / "libgomp.log") if r.directory == "libgomp.c"]
    assert [(r.status, r.file) for r in results] == [("PASS", f"libgomp.c/target-{n}.c") for n in (11, 11, 12, 12)]
    assert all(r.launches for r in results if r.executed)
    summary = (tmp_path / "libgomp.sum").read_text()
    assert summary.startswith("Test Run By ")
    assert "Running target unix\n" in summary
    assert "# of expected passes\t\t4\n" in summary  # c.exp of OpenACC adds a line about itself only
    assert (tmp_path / "never-launched.txt").read_text() == ""


@needs_suite
def test_difference_is_an_error(tmp_path: Path) -> None:
    kept = tmp_path / "kept.txt"
    kept.write_text("FAIL: libgomp.c/target-11.c execution test  # repaired\n")
    options = ("-j1", "--runtestflags", "c.exp=target-11.c", "--dirs", "libgomp.c", "--expected", str(kept))
    done = check(tmp_path / "out", *options)
    assert done.returncode == 1
    assert "expected otherwise: PASS: libgomp.c/target-11.c execution test (listed as FAIL: repaired)" in done.stdout


@needs_suite
def test_stock_compiler_without_offloading(tmp_path: Path) -> None:
    options = ("-j1", "--cc", "gcc", "--offload-target", "disable", "--dirs", "libgomp.c")
    done = check(tmp_path, *options, "--runtestflags", "c.exp=target-1[13].c")
    assert done.returncode == 0, done.stdout + done.stderr
    results = log.read(tmp_path / "libgomp.log")
    assert {r.status for r in results} >= {"UNSUPPORTED"}
    assert all(r.launches is None for r in results)


@needs_suite
def test_tests_without_offloading(tmp_path: Path) -> None:
    """target-11.c is none of these; affinity-1.c wants config.h; what is skipped is on their list."""
    options = ("--rest", "-j1", "--dirs", "libgomp.c,libgomp.fortran", "--levels", "1")
    flags = 'c.exp="target-11.c affinity-1.c" fortran.exp=affinity1.f90'
    done = check(tmp_path, *options, "--cc", "gcc", "--offload-target", "disable", "--runtestflags", flags)
    assert done.returncode == 0, done.stdout + done.stderr
    results = log.read(tmp_path / "libgomp.log")
    assert [(r.status, r.file) for r in results] == [
        *[("PASS", "libgomp.c/affinity-1.c")] * 2,
        ("UNSUPPORTED", "libgomp.fortran/affinity1.f90"),
    ]


@needs_suite
@pytest.mark.skipif(shutil.which("x86_64-linux-gnu-accel-nvptx-none-gcc-12") is None, reason="no nvptx compiler")
@pytest.mark.parametrize("compiler", ["gompcc", "gcc"])
def test_nvptx_on_the_emulated_driver(tmp_path: Path, compiler: str) -> None:
    options = ("-j1", "--cc", compiler, "--offload-target", "nvptx", "--dirs", "libgomp.c,libgomp.oacc-c++")
    options = (*options, "--levels", "2", "--device-only", "--skip", "target-12.c,lib-7*", "--expected", "none")
    done = check(tmp_path, *options, "--runtestflags", 'c.exp="target-1[12].c lib-69.c" c++.exp="lib-69.c lib-70.c"')
    assert done.returncode == 0, done.stdout + done.stderr
    results = log.read(tmp_path / "libgomp.log")
    sets = {result.test.partition(" ")[2] for result in results}
    assert sets == {"", "-DACC_DEVICE_TYPE_nvidia=1 -DACC_MEM_SHARED=0 -foffload=nvptx-none -O2"}
    assert {result.directory for result in results} == {"libgomp.c", "libgomp.oacc-c++"}
    # lib-69.c launches by the CUDA driver itself: cuda.h (in C++), -lcuda and who counts are right.
    assert [bool(result.launches) for result in results if result.executed] == [True, True]


@needs_suite
def test_compare_tests_reads_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        done = check(tmp_path / name, "-j1", "--runtestflags", "c.exp=target-19.c", "--dirs", "libgomp.c")
        assert done.returncode == 0, done.stdout + done.stderr
    sums = [str(tmp_path / name / "libgomp.sum") for name in ("one", "two")]
    script = suite.root() / "contrib" / "compare_tests"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    compared = subprocess.run(["sh", str(script), *sums], capture_output=True, text=True, env=environment)
    assert compared.returncode == 0, compared.stdout + compared.stderr


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--dirs", "libgomp.d"), "--dirs: libgomp.d: no such directory of tests"),
        (("--cc", "no-such-cc"), "no-such-cc: no such compiler"),
        (("--expected", "no-such-list"), "no-such-list.txt: No such file or directory"),
        (("--source", "/nowhere"), "/nowhere: no libgomp/testsuite of GCC"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    source = () if "--source" in options else ("--source", str(suite_or(tmp_path)))
    words = [sys.executable, str(SCRIPT), *source, "--out", str(tmp_path / "out"), *options]
    path = f"{fake_runtest(tmp_path)}:{os.environ['PATH']}"
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("check-target-libgomp: error: ")
    assert message in line


def suite_or(folder: Path) -> Path:
    """A tree that looks like GCC's."""
    tree = folder / "gcc"
    for part in (
        "libgomp/testsuite/libgomp.c",
        "libgomp/testsuite/libgomp.c-c++-common",
        "gcc/testsuite/lib",
        "contrib",
    ):
        (tree / part).mkdir(parents=True, exist_ok=True)
    (tree / "gcc/testsuite/lib/gcc-dg.exp").touch()
    (tree / "contrib/dg-extract-results.py").touch()
    (tree / "libgomp/testsuite/libgomp.c/a.c").write_text("#pragma omp target\n")
    return tree


def fake_runtest(folder: Path) -> Path:
    """A folder with a runtest that fails: these errors must not need DejaGnu."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "runtest").write_text("#!/bin/sh\necho 'ERROR: tcl is broken'\nexit 3\n")
    (tools / "runtest").chmod(0o755)
    return tools


def test_runtest_that_fails(tmp_path: Path) -> None:
    words = [
        sys.executable,
        str(SCRIPT),
        "--cc",
        "true",
        "--source",
        str(suite_or(tmp_path)),
        "--out",
        str(tmp_path / "o"),
    ]
    path = f"{fake_runtest(tmp_path)}:{os.environ['PATH']}"
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 2
    assert "runtest ended with status 3; it said last: ERROR: tcl is broken" in done.stderr


def test_install_without_root_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(suite.SuiteError, match=r"type:  sudo apt-get install -y .* dejagnu gcc-12-source"):
        suite.install(["dejagnu", "gcc-12-source"])


def test_selection(tmp_path: Path) -> None:
    tree = suite_or(tmp_path)
    (tree / "libgomp/testsuite/libgomp.c/b.c").write_text("int main () {}\n")
    linked = '/* { dg-additional-sources "b.c a.c" } */\nint f (void);\n'
    (tree / "libgomp/testsuite/libgomp.c/c.c").write_text(linked)
    (tree / "libgomp/testsuite/libgomp.c/d.c").write_text(linked.replace("b.c a.c", "b.c"))
    driver = next(d for d in suite.DRIVERS if d.directory == "libgomp.c")
    paths = suite.tests_of(tree, driver)
    assert [p.name for p in paths if suite.offloads(driver, p)] == ["a.c", "c.c"]


def test_merge_of_one(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    for kind in ("sum", "log"):
        (folder / f"libgomp.{kind}").write_text(f"the {kind}\n")
    workers.merge(tmp_path, [folder], tmp_path / "out")
    assert (tmp_path / "out" / "libgomp.sum").read_text() == "the sum\n"
