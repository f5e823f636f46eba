"""`gompy run --check` on programs of testsuite/check: the exact text of each kind of report (reports.txt)."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "testsuite" / "check"
BIN = ROOT / ".venv" / "bin"
REPORTS = Path(__file__).with_name("reports.txt")
COMPILERS = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}


def expected() -> dict[str, str]:
    """The reports by program: sections that begin with `== PROGRAM`."""
    found = {}
    for part in REPORTS.read_text().split("== ")[1:]:
        name, _, text = part.partition("\n")
        found[name] = text
    return found


def checked(folder: Path, name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Build and run a program of the corpus on the emulated MIC."""
    if name.endswith(".f90") and shutil.which("gfortran") is None:
        pytest.skip("no gfortran")
    kind = "-fopenacc" if "#pragma acc" in (CORPUS / name).read_text() else "-fopenmp"
    env = {**os.environ, "GOMPY_ACCEL": "gcc"}
    compiler = str(BIN / COMPILERS[Path(name).suffix])
    subprocess.run([compiler, "-g", kind, str(CORPUS / name), "-o", "program"], check=True, cwd=folder, env=env)
    command = [str(BIN / "gompy"), "run", "--device", "intelmic", "--check", *options, "./program"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def told(text: str) -> str:
    """The report, without what the runtime said before."""
    return "".join(line for line in text.splitlines(True) if "libgomp: " not in line and line.strip())


def sees_system_calls() -> bool:
    """PR_SET_SYSCALL_USER_DISPATCH, here off: what the host reads is watched where the kernel has it (Linux 5.11)."""
    return ctypes.CDLL(None).prctl(59, 0, 0, 0, 0) == 0


@pytest.mark.parametrize("name", sorted(expected()))
def test_the_report_of_a_wrong_program(tmp_path: Path, name: str) -> None:
    if name.startswith("stale-host") and not sees_system_calls():
        pytest.skip("the kernel does not tell a process of its system calls")
    done = checked(tmp_path, name)
    assert told(done.stderr) == expected()[name]
    assert done.returncode == (0 if "advice" in expected()[name] else 86)


@pytest.mark.parametrize(
    "name", ["right-scratch.c", "right-double-buffer.c", "right-overwritten.c", "stale-host-to-right.c"]
)
def test_a_right_program_has_none(tmp_path: Path, name: str) -> None:
    done = checked(tmp_path, name)
    assert (done.returncode, done.stderr) == (0, "")


def test_json_sarif_and_another_status(tmp_path: Path) -> None:
    done = checked(tmp_path, "not-present-exit.c", "--check-json", "j", "--check-sarif", "s", "--check-status", "3")
    assert done.returncode == 3
    (finding,) = json.loads((tmp_path / "j").read_text())["findings"]
    assert (finding["kind"], finding["variable"], finding["line"], finding["size"]) == ("not-present", "b", 11, 256)
    (result,) = json.loads((tmp_path / "s").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "not-present"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 11


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Not the program, which has run; what was found is on stderr before."""
    done = checked(tmp_path, "not-present-exit.c", "--check-json", "no/j")
    assert "[not-present]" in done.stderr
    assert done.stderr.splitlines()[-1] == "gompy run: error: no/j: No such file or directory"
