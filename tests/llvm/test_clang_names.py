"""`gompy run` on programs by clang: variables and regions have the names that clang writes for the runtime."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import ROOT
from llvm_tools import HALVES, PROGRAMS, needs_clang

BIN = ROOT / ".venv" / "bin"
CORPUS = ROOT / "testsuite" / "check"
pytestmark = [needs_clang, pytest.mark.skipif(not (BIN / "gompclang").exists(), reason="gompclang is not installed")]


def built(folder: Path, source: Path, *options: str) -> Path:
    """A program by clang."""
    made = folder / source.stem
    words = [str(BIN / "gompclang"), "-fopenmp", *options, str(source), "-o", str(made)]
    subprocess.run(words, check=True, cwd=folder, capture_output=True)
    return made


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """`gompy run` on the emulated MIC."""
    env = {**os.environ, "OFFLOAD_EMUL_MEM": "64M", "LC_ALL": "C"}
    command = [str(BIN / "gompy"), "run", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=120)


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2"])
def test_maps_have_the_list_items(tmp_path: Path, level: str) -> None:
    program = built(tmp_path, ROOT / "examples" / "diagnosis" / "mapped.c", "-g", level)
    shown = re.sub("0x[0-9a-f]+", "0x…", run("--show-maps", program).stderr)
    assert "mapped.c:11 map(tofrom: a[0:16]) host 0x… -> device 0x…, new, count 1, 64 bytes to\n" in shown
    assert "mapped.c:13 map(to: heap[0:n]) host 0x… -> device 0x…, new, count 1, 128 bytes to\n" in shown
    assert "mapped.c:14 map(tofrom: heap[4:8]) host 0x… -> device 0x…, present, count 2\n" in shown
    assert re.search(r"mapped\.c:11 region __omp_offloading_\w+_main_l11 on device 0\n", shown), shown


@pytest.mark.slow
def test_without_debug_information_there_are_sizes(tmp_path: Path) -> None:
    program = built(tmp_path, ROOT / "examples" / "diagnosis" / "mapped.c", "-O1")
    shown = run("--show-maps", program).stderr
    assert shown.startswith("map(tofrom: 64 bytes) host 0x"), shown
    assert "unknown" not in shown


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "stale-host-update.c",
            ":14: error: the host reads a (byte 0 of 256), which device 0 has changed, and which has not been copied "
            "back since [stale-host]",
        ),
        ("still-mapped.c", ": error: a (256 bytes) is still mapped to device 0 when the program ends [still-mapped]"),
    ],
)
def test_findings_have_names(tmp_path: Path, name: str, line: str) -> None:
    done = run("--check", built(tmp_path, CORPUS / name, "-g", "-O1"))
    assert done.returncode == 86
    assert line in done.stderr


@pytest.mark.slow
def test_a_right_program_has_none(tmp_path: Path) -> None:
    for name in ("stale-host-update-right.c", "still-mapped-right.c", "unmapped-heap-right.c"):
        done = run("--check", built(tmp_path, CORPUS / name, "-g", "-O1"))
        assert (done.returncode, done.stderr) == (0, ""), name


ABSENT = """\
absent.c:10: error: update of a (64 bytes), which is not mapped to device 0 [not-present]
absent.c:10: mend: map a before (target data or target enter data)
absent.c:11: error: exit data of p (32 bytes), which is not mapped to device 0 [not-present]
absent.c:11: mend: remove p from this exit data, or add the enter data that is missing
gompy run: --check: 2 errors
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_what_is_not_mapped(tmp_path: Path, level: str) -> None:
    """Update and exit data, as of gcc's programs; not the end of target data, which is the same call."""
    shutil.copy(PROGRAMS / "absent.c", tmp_path)
    program = built(tmp_path, Path("absent.c"), "-g", level)
    assert run("--check", program).stderr == ABSENT
    shown = re.sub("0x[0-9a-f]+", "0x…", run("--show-maps", program).stderr).splitlines()
    assert [line for line in shown if "not present" in line] == [
        "absent.c:10 update to(a[0:16]) host 0x…, not present",
        "absent.c:11 map(from: p[0:8]) host 0x…, not present",
    ]


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("level", "option", "place"),
    [("-O1", "-g", " (oops.c:10)"), ("-O0", "-g", " (oops.c:10)"), ("-O1", "-DNO_LINES", "")],
)
def test_a_fault_names_the_region(tmp_path: Path, level: str, option: str, place: str) -> None:
    """What the device runs is its caller of kernels: the region is the first word of what that is given."""
    shutil.copy(HALVES / "oops.c", tmp_path)
    program = built(tmp_path, Path("oops.c"), level, option)
    shown = run(program).stderr
    region = r"region __omp_offloading_\w+_main_l8" + re.escape(place)
    fault = r"signal 11 \(Segmentation fault\): address 0x\w+ is not mapped on the device: it is the host's"
    start = r"\nlibgomp: device 0 \(intelmic\): "
    assert re.search(rf"{start}{region}: {fault} \(its heap\); was a map clause forgotten\?\n", shown), shown


GLOBALS = """#include <stdlib.h>
static float *field;
static struct { int n; double *grid; } world;
int
main (int argc, char **argv)
{
  float sum = 0;
  field = malloc (4000);
  world.grid = malloc (8000);
#pragma omp target map(tofrom : sum)
  sum += argc > 1 ? field[1] : world.grid[1];
}
"""


@pytest.mark.parametrize("version", ["-gdwarf-5", "-gdwarf-4"])
def test_a_global_pointer_that_is_not_mapped_has_its_name(tmp_path: Path, version: str) -> None:
    """In DWARF 5 clang's variables have their addresses in .debug_addr (DW_OP_addrx)."""
    (tmp_path / "globals.c").write_text(GLOBALS)
    program = built(tmp_path, tmp_path / "globals.c", version)
    for arguments, name in ([], "world.grid"), (["1"], "field"):
        done = run("--check", program, *arguments)
        assert done.returncode == 86
        assert f"globals.c:11: error: {name} is used in region __omp_offloading_" in done.stderr, done.stderr


@pytest.mark.slow
def test_top(tmp_path: Path) -> None:
    """Regions by name, and none of what libgompy has put into its table itself."""
    (tmp_path / "wait.c").write_text(
        "#include <stdio.h>\nint main (void)\n{\n  int a = 0;\n  for (int i = 0; i < 3; i++)\n"
        '#pragma omp target\n    a++;\n  puts ("ready");\n  fflush (stdout);\n  getchar ();\n}\n'
    )
    program = built(tmp_path, Path("wait.c"))
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdin
        assert process.stdout.readline() == "ready\n"
        command = [str(BIN / "gompy"), "top", "--json", "--interval", "0.01", str(process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        process.stdin.close()
    (device,) = json.loads(done.stdout)["devices"]
    (row,) = device["regions"]
    assert re.fullmatch(r"__omp_offloading_\w+_main_l6", row["region"]) and row["calls"] == 3, row
