"""The runner of clients' tests: what its files say, what it makes of results.

The clients themselves are run by `make check-clients`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from testsuite.clients import run

RESULTS = run.HERE / "results.py"
TESTS = """
import unittest
class T(unittest.TestCase):
    def test_good(self): pass
    def test_wrong(self): self.assertEqual(1, 2)
    def test_error(self): raise OSError("no\\n libthing here")
    @unittest.skip("not today")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    def test_parts(self):
        for i in range(3):
            with self.subTest(i=i): self.assertEqual(i, 1)
"""
BROKEN = """
import unittest
class T(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("no device")
    def test_good(self): pass
"""


def outcome(folder: Path, text: str) -> dict[str, dict[str, str]]:
    """The last line of each test of a module."""
    (folder / "some_tests.py").write_text(text)
    subprocess.run([sys.executable, str(RESULTS), "some_tests", "lines"], cwd=folder, check=True)
    lines = [json.loads(line) for line in (folder / "lines").read_text().splitlines()]
    return {line["name"].removeprefix("some_tests.T."): line for line in lines}


def client(**more: object) -> run.Client:
    return run.Client("some", [], ["some_tests"], 60, **more)  # type: ignore[arg-type]


def test_results_of_a_module(tmp_path: Path) -> None:
    found = outcome(tmp_path, TESTS)
    assert {name: line["status"] for name, line in found.items()} == {
        "test_good": "PASS",
        "test_wrong": "FAIL",
        "test_error": "FAIL",
        "test_skipped": "SKIP",
        "test_expected": "PASS",
        "test_parts": "FAIL",
    }
    assert found["test_error"]["reason"] == "OSError: no libthing here"
    assert found["test_skipped"]["reason"] == "not today"


def test_a_class_that_cannot_be_set_up(tmp_path: Path) -> None:
    assert [line["status"] for line in outcome(tmp_path, BROKEN).values()] == ["FAIL"]


@pytest.mark.parametrize(
    ("status", "reason", "wanted"),
    [("FAIL", "OSError: no libthing here", "SKIP"), ("FAIL", "1 != 2", "FAIL"), ("PASS", "no libthing here", "PASS")],
)
def test_what_needs_something_is_skipped(status: str, reason: str, wanted: str) -> None:
    judged = run.judge(
        client(lacks=[{"text": "no libthing", "what": "libthing"}]), {"status": status, "reason": reason}
    )
    assert judged["status"] == wanted
    assert (judged["reason"] == "needs libthing") == (wanted == "SKIP")


def test_the_clients_files() -> None:
    names = [path.stem for path in sorted(run.HERE.glob("*.toml"))]
    wanted = ("drjit", "gstaichi", "halide", "iree", "monitors", "numba", "quadrants", "taichi", "tinygrad", "triton")
    assert names == [*wanted]
    page = (run.ROOT / "docs" / "clients.md").read_text().lower()
    for name in names:
        made = run.read(run.HERE / f"{name}.toml")
        assert all("==" in package for package in made.packages)
        first, _, version = made.packages[0].partition("==")
        row = next(line for line in page.splitlines() if line.startswith(f"| {first}"))
        assert row.split(" | ")[1].startswith(version)


def test_a_clients_variables_are_not_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CUDA_VERSION", "11.0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    env = run.environment(client(environment={"CUDA_HOME": "{empty}"}))
    assert env["CUDA_HOME"] == str(run.OUT / "some" / "empty")
    assert not {"GOMPY_CUDA_VERSION", "CUDA_VISIBLE_DEVICES"} & env.keys()
