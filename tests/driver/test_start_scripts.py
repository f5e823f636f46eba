"""The scripts that start the six commands are one script: they differ by the function that they call alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "gompy" / "driver" / "scripts"
GUARDED = """\
if __name__ == "__main__":  # a process that multiprocessing starts reads this, too
    raise SystemExit(main())"""
CALLS = {
    "gompcc": ("gompy.driver.main", "gompcc", "gompcc()"),
    "gompc++": ("gompy.driver.main", "gompcxx", "gompcxx()"),
    "gompfortran": ("gompy.driver.main", "gompfortran", "gompfortran()"),
    "gompclang": ("gompy.driver.clang_main", "gompclang", "gompclang()"),
    "gompclang++": ("gompy.driver.clang_main", "gompclangxx", "gompclangxx()"),
    "gompy": ("gompy.cli.main", "main", GUARDED),
}
"""Each script with its module, its function and its last line."""


def test_no_other_script() -> None:
    assert {path.name for path in SCRIPTS.iterdir()} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_scripts_differ_by_names_alone(name: str) -> None:
    module, function, last = CALLS[name]
    first = (SCRIPTS / "gompcc").read_text()
    wanted = re.sub(
        r"^( *)from gompy\.driver\.main import gompcc$", rf"\1from {module} import {function}", first, flags=re.M
    )
    assert wanted.count(f"from {module} import {function}") == 2
    wanted = wanted.replace('"gompcc: error: ', f'"{name}: error: ')
    wanted = wanted.removesuffix("gompcc()\n") + f"{last}\n"
    assert (SCRIPTS / name).read_text() == wanted
    assert (SCRIPTS / name).stat().st_mode & 0o111
