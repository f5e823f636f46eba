"""Every command that a page shows is run, in the page's order, and must print what the page shows.

The programs are files of ``docs/programs`` and ``examples``, those of a lesson in the folder beside its page.

A page shows one by ``$ cat FILE``: its text is compared
like any other output.  ``docs/diagnosis.md`` and ``docs/debugging.md`` have a test of their own.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import llvm_tools
import pytest
from docs_pages import alike, sections
from driver_tools import ROOT, Tools, has_all

PROGRAMS = ROOT / "docs" / "programs"
LESSONS = sorted((ROOT / "docs" / "learn").glob("*.md"))
ERRORS = sorted((ROOT / "docs" / "errors").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *ERRORS, *LESSONS]
NEEDS = {
    "nvptx-none": "x86_64-linux-gnu-accel-nvptx-none-gcc-12",
    "gompfortran": "gfortran-12",
    "gompclang": "clang-16",
    "clang-16": "clang-16",
    "clang-16 -fopenmp": "clang-offload-packager-16",
    "gompy cuda": "clang++-16",
    "vector_add": "clang++-16",
    "half_clang": "clang-16",
    "whole": "clang-16",
    "GOMPY_PLUGINS=llvm": "clang-offload-packager-16",
    "gdb": "gdb",
    "perf": "perf",
    "cmake": "cmake",
    "valgrind": "valgrind",
    "gcc-14": "gcc-14",
}
"""What a command needs, by a word in it."""

NOT_RUN: dict[tuple[str, str], str] = {
    ("start.md", "1. Install"): "make check-newcomer types it in a fresh system: minutes, and the network",
    ("testsuite.md", "Other systems"): "makes a tree of another release: minutes, and the network",
}
"""Sections whose commands are not run, and why."""

ELSEWHERE: dict[tuple[str, str], list[str]] = {
    # nvptx-tools of Debian 13 keep the order; test_tables.py holds what is found against the image itself.
    ("inspect.md", "gompy inspect --check linked"): ["linked: 1 function, 3 variables, 1 image: agree"],
}
"""What a command prints with newer tools beside gompy."""

SOURCE = re.compile(r"(?<![\w/.-])[\w-]+\.(?:c|cc|cpp|C|f90)(?![\w.])")


def shown() -> dict[Path, list[str]]:
    """The titles of each page's sections whose commands are run."""
    return {
        page: titles
        for page in PAGES
        if page.name not in ("diagnosis.md", "debugging.md")
        if (titles := [title for title in sections(page) if (page.name, title) not in NOT_RUN])
    }


def obstacle(commands: list[tuple[str, list[str]]]) -> str | None:
    """What the machine lacks for them."""
    for word, program in NEEDS.items():
        if any(word in command for command, _ in commands) and not shutil.which(program):
            return program
    # Beside the command itself: what makes its programs, and the library's headers.
    if any("clang" in command and "cuda" not in command for command, _ in commands) and llvm_tools.missing():
        return llvm_tools.missing()
    return None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The programs of the pages, and a page's own folder to type its commands in."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for source in (PROGRAMS, ROOT / "examples" / "fruit"):
        for path in source.iterdir():
            if path.is_file():
                shutil.copy(path, tmp_path)
            elif not path.name.startswith("__"):
                shutil.copytree(path, tmp_path / path.name)
    return tmp_path


@pytest.mark.slow(sample=1)
@has_all
@pytest.mark.parametrize("page", shown(), ids=lambda page: str(page.relative_to(ROOT).with_suffix("")))
def test_what_the_page_shows(page: Path, bin_folder: Path, folder: Path) -> None:
    """Sections follow each other in one folder, as a reader types them; one that cannot be run here is left out."""
    if page in LESSONS:  # which begins with the command that copies its programs
        folder = folder / "lesson"
        folder.mkdir()
    tools = Tools(bin_folder, folder)
    path = os.pathsep.join((str(bin_folder), str(Path(sys.executable).parent), os.environ["PATH"]))
    tools.env |= {"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "2", "PATH": path}
    lacking = set()
    for title in shown()[page]:
        commands = sections(page)[title]
        if program := obstacle(commands):
            lacking.add(program)
            continue
        for command, lines in commands:
            printed = tools.run("bash", "-c", f"exec 2>&1; {command}").stdout.splitlines()
            as_shown = alike(lines, printed) or printed == ELSEWHERE.get((page.name, command))
            assert as_shown, f"{title}:\n$ {command}\n" + "\n".join(printed)
    if lacking:
        pytest.skip(f"the other sections are right; not installed: {', '.join(sorted(lacking))}")


def test_programs_are_files() -> None:
    """A program that a command of a page names is in the tree."""
    folders = (PROGRAMS, ROOT / "examples", ROOT / "docs" / "learn")
    have = {path.name for folder in folders for path in folder.rglob("*")}
    lost = {
        f"{page.name}: {name}"
        for page, titles in shown().items()
        for title in titles
        for command, _ in sections(page)[title]
        for name in SOURCE.findall(command)
        if name not in have
    }
    assert lost == set()


PROGRAM = re.compile(
    r"^    (?:#include\b|int main\b|program \w+$|kernel void\b|__global__ |class \w+.*:$|def \w+ ?\(.*:$)"
)


def test_no_program_is_shown_without_its_file() -> None:
    """What begins as a program does stands below a command, so that it is compared with a file."""
    found = []
    for page in PAGES:
        commanded = False
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("    "):
                commanded |= line.startswith("    $ ")
                if PROGRAM.match(line) and not commanded:
                    found.append(f"{page.name}:{number}: {line.strip()}")
            elif line:
                commanded = False
    assert found == []


def test_every_program_is_shown_or_named() -> None:
    """A file of docs/programs that no page names any more goes."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [path.name for path in sorted(PROGRAMS.iterdir()) if path.name not in text and path.is_file()] == []


@pytest.mark.parametrize("page", [page for page in LESSONS if page.name != "index.md"], ids=lambda page: str(page.stem))
def test_a_lesson_names_each_of_its_programs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [path.name for path in page.with_suffix("").iterdir() if path.name not in text] == []


def test_the_list_of_what_is_not_run_names_sections() -> None:
    have = {(page.name, title) for page in PAGES for title in sections(page)}
    assert set(NOT_RUN) <= have
    assert all(NOT_RUN.values()) and os.path.isdir(PROGRAMS)


def test_the_comparison_can_fail() -> None:
    assert alike(["a 0x… b"], ["a 0x12f b"]) and not alike(["a 0x… b"], ["a 0x12f c"])
    assert alike(["a", "…", "z"], ["a", "b", "c", "z"]) and not alike(["a", "…", "z"], ["a", "b", "c"])
    assert alike(["==12== a"], ["==345== a"]) and not alike(["a"], ["", "a"]) and not alike(["a", "b"], ["a", "", "b"])
    assert not alike(["a"], ["a", "b"]) and not alike([], ["a"]) and not alike(["x.y"], ["xzy"])
