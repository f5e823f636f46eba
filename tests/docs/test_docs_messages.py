"""Each message with which the runtime, a device or a link tool ends has a row below docs/errors."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ERRORS = ROOT / "docs" / "errors"
STRING = r'"((?:[^"\\]|\\.)*)"'
FATAL = re.compile(rf"\b(?:gompy_fatal|GOMP_PLUGIN_fatal|fatal_mandatory) ?\(\s*((?:b?{STRING}\s*)+)")
RAISED = re.compile(rf"raise (?:ToolError|ChildFailed)\(\s*((?:f?{STRING}\s*)+)")
NUMBER = re.compile(r"%[-+#0-9.]*[hlz]*[a-zA-Z]")
FEWEST = 5
"""Letters that a page's words must have, beside what ``…`` stands for: fewer would name anything."""


def messages() -> dict[str, str]:
    """Each message, with one sign for all that it puts in, and a file that says it."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "gompy").rglob("*.p[yx][xi]")):
        for match in FATAL.finditer(path.read_text(encoding="utf-8")):
            text = NUMBER.sub("\0", "".join(re.findall(STRING, match[1])))
            found[text.replace("\\n", "").replace('\\"', '"')] = path.name
    for room in ("lto_wrapper", "mkoffload", "gompy/clang_link"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for match in RAISED.finditer(path.read_text(encoding="utf-8")):
                found[re.sub(r"\{[^{}]*\}", "\0", "".join(re.findall(STRING, match[1])))] = path.name
    return {text: file for text, file in found.items() if letters(text)}


def letters(text: str) -> int:
    """How many letters stand fast."""
    return sum(sign.isalpha() for sign in text)


def patterns() -> list[re.Pattern[str]]:
    """The messages of the pages: their code, and their titles."""
    text = "".join(path.read_text(encoding="utf-8") for path in ERRORS.glob("*.md"))
    words = [word for word in re.findall(r"`([^`\n]+)`", text) if letters(word) >= FEWEST]
    return [re.compile(re.escape(word).replace("…", ".*"), re.DOTALL) for word in words]


def test_every_message_has_a_row() -> None:
    known = patterns()
    lost = {text: file for text, file in messages().items() if not any(one.fullmatch(text) for one in known)}
    assert lost == {}


def test_messages_are_found() -> None:
    """Enough of them, in both ways of writing."""
    found = messages()
    assert len(found) > 100
    assert "omp_invalid_device encountered" in found and "environment variable ‘COLLECT_GCC’ must be set" in found


def test_every_page_of_a_message_is_listed() -> None:
    text = (ERRORS / "index.md").read_text(encoding="utf-8")
    assert [path.name for path in ERRORS.glob("*.md") if path.name != "index.md" and f"({path.name})" not in text] == []


def test_a_message_without_a_row_is_seen() -> None:
    assert not any(one.fullmatch("device \0 has \0 wheels") for one in patterns())
