"""What the emulated driver says of settings that make no sense: each complaint of its code, with the exact line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cuda_tools import Driver

SETTINGS = Path(__file__).resolve().parents[2] / "gompy" / "cuda" / "settings.pxi"
CALL = re.compile(r'complain_setting\(b"(\w+)",[^"]*?(?:b"\w+"\),\s*)?((?:\s*b"[^"]*")+)\)')
INVALID_VALUE = 1
WRONG = {
    ("GOMPY_CHECK", "neither 0 nor 1"): ["yes", "memory,races"],
    ("GOMPY_CUDA_SEED", "not a number"): ["-1", "4294967296", "x"],
    ("GOMPY_CUDA_ADDRESS", "not a hexadecimal"): ["1000", "100000001", "fffff00000000000", "zero"],
    ("GOMPY_CUDA_VERSION", "not a version"): ["new", "12.x", "0"],
    ("GOMPY_CUDA_ARCH", "not an architecture"): ["sm_7", "volta", "sm_80x"],
    ("GOMPY_CUDA_MEMORY", "not a size"): ["lots", "1K", "99T", "-1G"],
    ("GOMPY_CUDA_SMS", "not a number"): ["0", "1025", "2x"],
    ("GOMPY_CUDA_PEERS", "neither 0 nor 1"): ["2", "no"],
    ("GOMPY_CUDA_DEVICES", "more than"): [",".join(["sm_80"] * 17)],
    ("GOMPY_CUDA_DEVICES", "neither a number"): ["sm_80:much", "two", "sm_80:1G:0"],
    ("GOMPY_CUDA_DEVICES", "not a number"): ["17", "-1"],
}
"""By the variable and how its complaint begins: values that are refused."""


def complaints() -> dict[tuple[str, str], str]:
    """Each complaint of the code, by its variable and the beginning in WRONG that it has."""
    found = {}
    for variable, literals in CALL.findall(SETTINGS.read_text(encoding="utf-8")):
        text = "".join(re.findall(r'b"([^"]*)"', literals))
        begins = next((begin for known, begin in WRONG if known == variable and text.startswith(begin)), text)
        found[variable, begins] = text
    return found


def test_each_complaint_has_a_value() -> None:
    assert complaints().keys() == WRONG.keys()
    assert SETTINGS.read_text(encoding="utf-8").count("complain_setting(b") == len(WRONG)


@pytest.mark.parametrize(
    ("variable", "begins", "value"), [(*key, value) for key, values in WRONG.items() for value in values]
)
def test_a_setting_that_makes_no_sense(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    variable: str,
    begins: str,
    value: str,
) -> None:
    """cuInit fails after one line."""
    monkeypatch.setenv(variable, value)
    assert Driver(tmp_path / "driver").cuInit(0) == INVALID_VALUE
    text = complaints()[variable, begins]
    assert capfd.readouterr().err == f"libcuda (gompy): error: {variable}='{value}': {text}\n"
