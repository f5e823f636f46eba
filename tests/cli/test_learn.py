"""``gompy learn``: the lessons, copied where they are wanted and nowhere over something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_tools import ROOT, Tools

NUMBERS = range(1, 9)


@pytest.fixture
def tools(bin_folder: Path, tmp_path: Path) -> Tools:
    return Tools(bin_folder, tmp_path)


def test_the_list(tools: Tools) -> None:
    lines = tools.ok("gompy", "learn").splitlines()
    assert [line.split()[0] for line in lines[: len(NUMBERS)]] == [str(number) for number in NUMBERS]


@pytest.mark.parametrize("number", [1, 8])
def test_a_lesson_is_copied(tools: Tools, number: int) -> None:
    told = tools.ok("gompy", "learn", str(number))
    (page,) = (ROOT / "docs" / "learn").glob(f"{number}-*.md")
    wanted = {page.name: page.read_bytes(), **{path.name: path.read_bytes() for path in page.with_suffix("").iterdir()}}
    assert {path.name: path.read_bytes() for path in tools.work.iterdir()} == wanted
    assert all(name in told for name in wanted)
    assert tools.ok("gompy", "learn", str(number)) == told  # once more does no harm
    assert tools.ok("gompy", "learn", str(number), "--page") == page.read_text(encoding="utf-8")


def test_what_is_in_the_way_stays(tools: Tools) -> None:
    mine = tools.write("map.c", "mine\n")
    done = tools.run("gompy", "learn", "1")
    assert (done.returncode, mine.read_text(), [*tools.work.iterdir()]) == (1, "mine\n", [mine])
    assert done.stderr == (
        "gompy learn: error: map.c is in this folder already, with another text; --force overwrites it\n"
    )
    tools.ok("gompy", "learn", "1", "--force")
    assert mine.read_text() != "mine\n"


def test_what_is_in_the_way_is_a_folder(tools: Tools) -> None:
    (tools.work / "map.c").mkdir()
    done = tools.run("gompy", "learn", "1")
    assert (done.returncode, done.stderr) == (1, "gompy learn: error: map.c: Is a directory\n")


def test_there_is_no_ninth(tools: Tools) -> None:
    done = tools.run("gompy", "learn", "9")
    assert (done.returncode, done.stderr) == (2, "gompy learn: error: no lesson 9; there are 1 to 8\n")
