"""The pages are written for someone who reads them once: short sentences, short lines, and for whom a page is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
AVERAGE, LONGEST, COLUMNS = 25, 45, 160


def paragraphs(text: str) -> list[str]:
    """A page's running text: one string for each paragraph and list item, without code, tables, headings, pictures."""
    found: list[str] = []
    fenced = False
    after = True  # whether the line before ended a paragraph
    for line in text.splitlines():
        if line.startswith("```"):
            fenced, after = not fenced, True
        elif fenced or not line.strip() or line.startswith(("    ", "|", "#", "![")):
            after = True
        elif after or re.match(r" *(?:[*-]|\d+\.) ", line):
            found.append(re.sub(r"^ *(?:[*-]|\d+\.) ", "", line))
            after = False
        else:
            found[-1] += " " + line
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a page.  Code in backquotes is one word, a link its text."""
    found = []
    for paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "CODE", paragraph)
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain).replace("*", "")
        found += [part for part in re.split(r"""(?<=[.?!])["')]*\s+(?=["'(]*[A-Z0-9])""", plain) if words(part)]
    return found


def words(sentence: str) -> int:
    """How many words it has; signs that stand alone are none."""
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


def problems(text: str) -> list[str]:
    """What makes a page hard to read."""
    said = sentences(text)
    average = sum(map(words, said)) / max(len(said), 1)
    found = [] if average <= AVERAGE else [f"{average:.1f} words in a sentence, on the average"]
    found += [f"a sentence of {words(sentence)} words: {sentence}" for sentence in said if words(sentence) > LONGEST]
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > COLUMNS and not line.startswith(("|", "    ")):
            found.append(f"line {number} has {len(line)} columns")
    return found


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_page_is_easy_to_read(page: Path) -> None:
    assert problems(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != ROOT], ids=name)
def test_the_page_says_for_whom_it_is(page: Path) -> None:
    """The first words of the first paragraph."""
    assert paragraphs(page.read_text(encoding="utf-8"))[0].startswith("For ")


def test_the_rules_can_fail() -> None:
    long = "word " * 46 + "end."
    assert "a sentence of 47 words" in problems(f"# Title\n\n{long}\n")[1]
    assert problems("Ten of `a b c` [these words](there.md), 3 in all. Short.\n\n    " + "x " * 99) == []
    assert problems(f"| {long} |\n\n```\n{'a ' * 70}\n```\n") == []
    assert problems("Short.\n" + "x" * 161 + "\n")[-1] == "line 2 has 161 columns"
    assert sentences("- One. Two `a. B` three?\n  Four.\n1. Five\n") == ["One.", "Two CODE three?", "Four.", "Five"]
