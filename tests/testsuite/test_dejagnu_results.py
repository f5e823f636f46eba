"""Results of a libgomp.log, the kept lists, and the reports made of them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "testsuite"))

import side_by_side  # noqa: E402
from dejagnu import expectation, log, report, site, workers  # noqa: E402

from gompy.driver import paths  # noqa: E402

LOG = """\
Test run by root on Sat Nov 21 14:37:07 2026
Native configuration is x86_64-pc-linux-gnu

\t\t=== libgomp tests ===

Running target unix
Running /suite/libgomp.c/c.exp ...
Executing on host: cc a.c (timeout = 300)
PASS: libgomp.c/../libgomp.c-c++-common/a.c (test for excess errors)
Device launches of ./probe.exe: libgompy: regions: 9 on device 0 (intelmic), 0 on the host
spawn [open ...]
PASS: the program prints this
Device launches of ./a.exe: libgompy: regions: 3 on device 0 (mic) | libgompy: regions: 1 on device 1 (x)
PASS: libgomp.c/../libgomp.c-c++-common/a.c execution test
UNSUPPORTED: libgomp.c/b.c
PASS: libgomp.c/c.c (test for excess errors)
killed\x07here
Device launches of ./c.exe:\x20
FAIL: libgomp.c/c.c execution test
Running /suite/libgomp.fortran/fortran.exp ...
PASS: libgomp.fortran/t.f90   -O0  (test for excess errors)
Device launches of ./t.exe: libgompy: regions: 0 on device 0 (intelmic), 0 on the host
PASS: libgomp.fortran/t.f90   -O0  execution test
PASS: libgomp.fortran/t.f90   -O3 -g  (test for excess errors)
Device launches of ./t.exe: libgompy: regions: 2 on device 0 (intelmic), 0 on the host
PASS: libgomp.fortran/t.f90   -O3 -g  execution test
XFAIL: libgomp.fortran/t.f90   -O3 -g  some remark at line 7 (test for errors, line 6)

\t\t=== libgomp Summary ===

# of expected passes\t\t7
"""


@pytest.fixture
def results() -> list[log.Result]:
    return log.parse(LOG.splitlines(keepends=True))


def test_parse(results: list[log.Result]) -> None:
    assert [(r.status, r.test, r.launches) for r in results] == [
        ("PASS", "libgomp.c/../libgomp.c-c++-common/a.c", None),
        ("PASS", "libgomp.c/../libgomp.c-c++-common/a.c", 4),
        ("UNSUPPORTED", "libgomp.c/b.c", None),
        ("PASS", "libgomp.c/c.c", None),
        ("FAIL", "libgomp.c/c.c", None),
        ("PASS", "libgomp.fortran/t.f90 -O0", None),
        ("PASS", "libgomp.fortran/t.f90 -O0", 0),
        ("PASS", "libgomp.fortran/t.f90 -O3 -g", None),
        ("PASS", "libgomp.fortran/t.f90 -O3 -g", 2),
        ("XFAIL", "libgomp.fortran/t.f90 -O3 -g", None),
    ]
    assert "the program prints this" in results[1].text


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("d/x.c (test for excess errors)", "d/x.c"),
        ("d/x.c -DA=1 -O2  test1 at line 49 (test for warnings, line 15)", "d/x.c -DA=1 -O2"),
        ("d/x.c scan-offload-tree-dump optimized 'x'", "d/x.c"),
        ("d/x.f90   -Os  execution test", "d/x.f90 -Os"),
        ("d/x.f90   -O  compilation failed to produce executable", "d/x.f90 -O"),
        ("libgomp.oacc-c nvptx-none offloading", "libgomp.oacc-c nvptx-none offloading"),
    ],
)
def test_test_of(name: str, test: str) -> None:
    assert log.test_of(name) == test


def test_rows(results: list[log.Result]) -> None:
    rows = {row.name: row for row in report.rows(results)}
    assert list(rows) == ["libgomp.c (c-c++-common)", "libgomp.c", "libgomp.fortran", "all"]
    fortran = rows["libgomp.fortran"]
    assert (len(fortran.files), len(fortran.runs), fortran.executed, fortran.launched) == (1, 2, 2, 1)
    assert (rows["all"].executed, rows["all"].launched) == (4, 2)
    assert "libgomp.fortran" in report.table(results)


def test_never_launched(results: list[log.Result]) -> None:
    assert report.never_launched(results) == ["libgomp.fortran/t.f90 -O0 (no region)"]


def test_junit(results: list[log.Result], tmp_path: Path) -> None:
    report.junit(results, tmp_path / "x.xml")
    top = ElementTree.parse(tmp_path / "x.xml").getroot()
    suites = {s.get("name"): s for s in top}
    assert (suites["libgomp.c"].get("tests"), suites["libgomp.c"].get("failures")) == ("5", "1")
    assert suites["libgomp.c"].get("skipped") == "1"
    failures = top.findall(".//failure")
    assert len(failures) == 1
    assert "killed?here" in (failures[0].text or "")


def entries(*lines: str) -> list[expectation.Entry]:
    return [expectation.entry(*line.split(": ", 1), reason="because") for line in lines]


def test_expectation_met(results: list[log.Result]) -> None:
    assert not expectation.compare(
        entries("UNSUPPORTED: libgomp.c/b.c", "FAIL: libgomp.c/c.c   execution test"), results
    )


def test_expectation_both_directions(results: list[log.Result]) -> None:
    known = entries("FAIL: libgomp.c/b.c", "FAIL: libgomp.fortran/t.f90 * execution test", "FAIL: libgomp.c/not-run.c")
    difference = expectation.compare(known, results)
    assert difference.unexpected == ["UNSUPPORTED: libgomp.c/b.c", "FAIL: libgomp.c/c.c execution test"]
    assert [line.split(" (")[0] for line in difference.gone] == [
        "PASS: libgomp.fortran/t.f90 -O0 execution test",
        "PASS: libgomp.fortran/t.f90 -O3 -g execution test",
    ]


def test_expectation_launches(results: list[log.Result]) -> None:
    bad = ["UNSUPPORTED: libgomp.c/b.c", "FAIL: libgomp.c/c.c execution test"]
    (only,) = expectation.compare(entries(*bad), results, launches=True).unexpected
    assert only == "NOLAUNCH: libgomp.fortran/t.f90 -O0"
    assert not expectation.compare(entries(*bad, "NOLAUNCH: libgomp.fortran/t.f90 -O0"), results, launches=True)
    assert not expectation.compare(entries(*bad), results, launches={"libgomp.c/d.c"})
    assert expectation.compare(entries(*bad), results, launches={"libgomp.fortran/t.f90"}).unexpected == [only]
    difference = expectation.compare(entries(*bad, "NOLAUNCH: libgomp.fortran/t.f90 *"), results, launches=True)
    assert [line.split(" (")[0] for line in difference.gone] == ["NOLAUNCH: libgomp.fortran/t.f90 -O3 -g"]


def test_expectation_of_a_timing_test(results: list[log.Result]) -> None:
    lines = ["UNSUPPORTED: libgomp.c/b.c", "FAIL: libgomp.fortran/t.f90 -O0 execution test"]
    assert expectation.compare(entries(*lines), results)
    lines = ["UNSUPPORTED: libgomp.c/b.c", "TIMING: libgomp.fortran/t.f90 * execution test"]
    assert expectation.compare(entries(*lines), results).unexpected == ["FAIL: libgomp.c/c.c execution test"]
    assert not expectation.compare(entries(*lines, "TIMING: libgomp.c/c.c *"), results)


def test_launches_of() -> None:
    assert log.launches_of("libgompy: regions: 0 on the host") == 0
    assert log.launches_of("") is None


def test_expectation_pattern_of_directory() -> None:
    result = log.Result("libgomp.oacc-c", "UNTESTED", "libgomp.oacc-c x offloading", "libgomp.oacc-c x offloading")
    assert not expectation.compare(entries("UNTESTED: libgomp.oacc-* offloading"), [result])


def test_expectation_file(tmp_path: Path) -> None:
    file = tmp_path / "l.txt"
    file.write_text("# remark\n\nFAIL: a.c execution  test  # needs hardware  # 2\n")
    (only,) = expectation.read(file)
    assert (only.status, only.name, only.reason) == ("FAIL", "a.c execution test", "needs hardware  # 2")
    file.write_text("FAIL: a.c\n")
    with pytest.raises(expectation.ExpectationError, match=r"l\.txt:1: write: STATUS: NAME"):
        expectation.read(file)
    file.write_text("include m.txt\n")
    (tmp_path / "m.txt").write_text("FAIL: b.c  # why\n")
    assert [e.name for e in expectation.read(file)] == ["b.c"]
    with pytest.raises(expectation.ExpectationError, match="No such file"):
        expectation.read(tmp_path / "none.txt")


@pytest.mark.slow(sample=8)
@pytest.mark.parametrize(
    "path", sorted((ROOT / "testsuite" / "expected" / "dejagnu").glob("*.txt")), ids=lambda p: p.name
)
def test_kept_lists(path: Path) -> None:
    names = [(e.status, e.name) for e in expectation.read(path)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("text", ["plain", 'a "b" c', "$x [exit] \\n", "/with blank/x"])
def test_tcl_quote(text: str, tmp_path: Path) -> None:
    if not shutil.which("expect"):
        pytest.skip("no Tcl interpreter here")
    script = f"set file [open out w]\nputs -nonewline $file {site.quote(text)}\nclose $file\n"
    (tmp_path / "x.tcl").write_text(script)
    subprocess.run(["expect", "x.tcl"], cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_text() == text


def test_progress() -> None:
    said: list[str] = []
    progress = workers.Progress(7, said.append, taken=2)
    for line in ("Running /s/libgomp.c/c.exp ...", "PASS: libgomp.c/a.c x", "FAIL: libgomp.c/b.c execution test"):
        progress.line(line)
    progress.show()
    assert said[0] == "FAIL: libgomp.c/b.c execution test"
    assert said[1].endswith("test 2/7, libgomp.c: 1 PASS, 1 FAIL")


def test_side_by_side(results: list[log.Result]) -> None:
    both = side_by_side.counts(results)
    assert both["libgomp.c"] == {"runs": 2, "passed": 0, "failed": 1, "unsupported": 1, "on device": 0}
    assert both["libgomp.fortran"] == {"runs": 2, "passed": 2, "failed": 0, "unsupported": 0, "on device": 1}
    lines = side_by_side.table({"one": results, "two": []}).splitlines()
    assert lines[-1] == "| all | 5 | 3 / 1 / 1 / 2 | 0 / 0 / 0 / 0 |"
    assert lines[2] == "| libgomp.c | 2 | 0 / 1 / 1 / 0 | – |"


def test_side_by_side_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert side_by_side.main(["x.log"]) == 2
    assert side_by_side.main([f"x={tmp_path}/no"]) == 2
    assert "no: No such file or directory" in capsys.readouterr().err


def test_kernels_that_the_driver_counts() -> None:
    said = "libcuda (gompy): device {}: {}, 8 bytes in, 4 bytes out"
    assert log.launches_of(f"{said.format(0, '2 kernels')} | {said.format(1, '1 kernel')}") == 3
    assert log.launches_of("libcuda (gompy): no device was used") == 0
    assert log.launches_of("") is None


@pytest.mark.parametrize("compiler", ["/usr/bin/gcc -O3", "/opt/bin/gompcc"])
@pytest.mark.parametrize("driver", ["emulated", "real"])
def test_site_of_nvptx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: str, driver: str) -> None:
    monkeypatch.setenv("GOMPY_CUDA", driver)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/my/libs")
    monkeypatch.setenv("GOMPY_CUDA_STATS", "1")
    where = site.Site(tmp_path / "gcc" / "libgomp" / "testsuite", compiler, "nvptx")
    stock = "gcc" in compiler.split()[0].rsplit("/", 1)[1].removeprefix("gompcc")
    options = site.options(where, tmp_path).split()
    assert options[:3] == ["-foffload=nvptx-none", f"-I{tmp_path}/include", f"-I{tmp_path}/gcc/include/cuda"]
    assert ("-no-pie" in options) is stock
    folder = str(paths.CUDALIBDIR)
    assert (f"-L{folder}" in options) is (driver == "emulated")
    seen = workers.environment(where, tmp_path)
    assert seen["GOMPY_CUDA"] == driver
    assert seen["LD_LIBRARY_PATH"] == ("/my/libs" if driver == "real" else f"{folder}:/my/libs")
    assert ("GOMPY_PLUGINS" in seen) is not stock
    assert "GOMPY_CUDA_STATS" not in seen
    site.write(where, tmp_path)
    text = (tmp_path / "site.exp").read_text()
    assert ('set gompy_stats_variable "GOMPY_CUDA_STATS"' in text) is (driver == "emulated")
    # Nobody counts for the stock runtime on a real GPU.
    assert where.counts_launches is not (stock and driver == "real")


def test_site_of_other_targets(tmp_path: Path) -> None:
    for target, options in (("intelmic", ""), ("disable", "-foffload=disable")):
        where = site.Site(tmp_path, "/usr/bin/gcc", target)
        assert (site.options(where, tmp_path), site.environment(where)) == (options, {})
