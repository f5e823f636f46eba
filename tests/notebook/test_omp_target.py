"""``%%omp_target`` in IPython's shell: arrays go in and out, a trace is drawn, a fault leaves the shell alive."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from driver_tools import has_all

pytest.importorskip("IPython", reason="not installed: ipython")
numpy = pytest.importorskip("numpy", reason="not installed: numpy")
pytestmark = has_all

from IPython.testing.globalipapp import start_ipython  # noqa: E402
from IPython.utils.capture import capture_output  # noqa: E402


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A shell with the magic, and two arrays."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("GOMPY_ACCEL", "gcc")
    made: Any = start_ipython() or __import__("IPython").get_ipython()
    made.run_line_magic("load_ext", "gompy.notebook")
    made.user_ns.update(a=numpy.arange(6.0).reshape(2, 3), n=3, factor=2.0, words=["no array"])
    return made


def cell(shell: Any, line: str, body: str) -> Any:
    with capture_output() as said:
        shell.run_cell_magic("omp_target", line, body)
    return said


C_BODY = """
int host = 1;
#pragma omp target teams distribute parallel for map(from: host)
for (int i = 0; i < a_size; i++)
  { a[i] = factor * a[i] + n; host = omp_is_initial_device (); }
printf ("on the %s\\n", host ? "host" : "device");
"""


@pytest.mark.parametrize("language", ["c", "c++"])
def test_arrays_in_and_out(shell: Any, language: str) -> None:
    said = cell(shell, f"-l {language} a n factor", C_BODY)
    assert (said.stderr, said.stdout) == ("", "on the device\n")
    assert shell.user_ns["a"].tolist() == [[3, 5, 7], [9, 11, 13]]
    (output,) = said.outputs
    assert "gompy_cell._omp_fn.0" in output.data["image/svg+xml"]


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="not installed: gfortran")
def test_fortran(shell: Any) -> None:
    """Indices are numpy's, counted from one."""
    body = "!$omp target\na(2, 1) = a(2, 1) + a(1, 3) * n\n!$omp end target\n"
    said = cell(shell, "-l fortran --no-trace a n", body)
    assert (said.stderr, said.outputs) == ("", [])
    assert shell.user_ns["a"].tolist() == [[0, 1, 2], [9, 4, 5]]


@pytest.mark.parametrize(
    ("line", "body", "error"),
    [
        ("missing", ";", "%%omp_target: error: missing: the notebook has no such variable\n"),
        ("words", ";", "%%omp_target: error: words: neither an array of numpy nor a number, but list\n"),
        ("-l java", ";", "%%omp_target: error: argument -l/--language: invalid choice: 'java'"),
        ("a", "a[0] = nothing;", "cell:2:8: error: ‘nothing’ undeclared"),
        ("", "double *p = malloc (8);\n#pragma omp target\np[0] = 1;\n", "signal 11 (Segmentation fault)"),
    ],
)
def test_errors_are_the_cells(shell: Any, line: str, body: str, error: str) -> None:
    """No traceback; the arrays are as they were."""
    said = cell(shell, line, body)
    assert error in said.stderr and "Traceback" not in said.stderr
    assert shell.user_ns["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
