"""``gompy env``: the variables of docs/environment.md."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from driver_tools import ROOT, Tools

PAGE = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8").partition("## Between the parts")[0]


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    return Tools(bin_folder, tmp_path)


def test_every_variable_of_the_page(tools: Tools) -> None:
    """Each row's names, readers and meanings; none of what the parts say to each other."""
    rows = json.loads(tools.ok("gompy", "env", "--json"))
    named = [name for row in re.findall(r"^\| (`[A-Z][^|]*)\|", PAGE, re.MULTILINE) for name in re.findall(r"\w+", row)]
    assert [row["name"] for row in rows] == named
    assert all(row["meaning"] and row["reader"] and row["part"] for row in rows)
    assert not any(mark in row["meaning"] for row in rows for mark in ("`", "]("))


def test_values(tools: Tools) -> None:
    env = {"GOMPY_CHECK": "1", "GOMPY_STATS": "a\nb"}
    out = tools.run("gompy", "env", "--set", "GOMPY_CHECK", "GOMPY_STATS", "GOMPY_CUDA", env=env).stdout
    assert "  GOMPY_CHECK=1\n" in out and "  GOMPY_STATS=a\\nb\n" in out and "GOMPY_CUDA" not in out
    assert tools.ok("gompy", "env", "--set", "GOMPY_CUDA") == "none of gompy's variables is set\n"


def test_a_name_that_nobody_reads(tools: Tools) -> None:
    done = tools.run("gompy", "env", "GOMPY_CHEK")
    assert (done.returncode, done.stderr) == (2, "gompy env: error: gompy reads no variable 'GOMPY_CHEK'\n")
