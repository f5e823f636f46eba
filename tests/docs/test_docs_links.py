"""Every link between the pages leads to a file, and to a heading where it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The names that a page's headings get, as GitHub and GitLab make them."""
    found = set()
    for line in page.read_text().splitlines():
        if match := re.match(r"#+\s+(.*)", line):
            text = re.sub(r"[^\w\- ]", "", match[1].lower())
            found.add(text.replace(" ", "-"))
    return found


def problems(page: Path) -> list[str]:
    """The links that lead nowhere."""
    wrong = []
    for target in LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = (page.parent / name).resolve() if name else page
        if not other.exists():
            wrong.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(other):
            wrong.append(f"{target}: no such heading")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert problems(page) == []


def test_a_lost_file_and_a_lost_heading_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One `x`, two\n[a](#one-x-two) [b](#three) [c](none.md) [d](https://example.org/none)\n")
    assert problems(page) == ["#three: no such heading", "none.md: no such file"]


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} - {"index.md"}
    assert {page for page in pages if f"({page})" not in index} == set()
