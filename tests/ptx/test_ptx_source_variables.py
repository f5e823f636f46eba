"""Where variables of the source lie in local memory; texts that do not say it (tests/cli/test_gdb.py: programs)."""

from __future__ import annotations

from typing import Any

import pytest

from gompy.ptx.source_variables import SourceVariable, read


def variable(offset: int, size: int) -> SourceVariable:
    kind: Any = None
    return SourceVariable("x", offset, size, 1, 0, kind)


@pytest.mark.parametrize(
    ("offset", "size", "frame", "pieces"),
    [
        (12, 4, 0, [(0, 4, 260)]),
        (16, 12, 0, [(0, 8, 512), (8, 4, 768)]),
        (20, 12, 16, [(0, 4, 1028), (4, 8, 1280)]),
        (7, 2, 0, [(0, 1, 7), (1, 1, 256)]),
    ],
)
def test_pieces(offset: int, size: int, frame: int, pieces: list[tuple[int, int, int]]) -> None:
    """A word of 8 bytes of each lane, 32 side by side: a lane's next word is 256 bytes on."""
    assert variable(offset, size).pieces(frame) == pieces


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".version 7.0\n.visible .entry work () { ret; }\n",
        ".section .debug_info { .b32 7 }\n",
        "\t.section\t.debug_abbrev\n\t{\n.b8 1\n\t}\n\t.section\t.debug_info\n\t{\n.b32 247\n.b8 2\n\t}\n",
        ".section .debug_abbrev\n{\n.b8 0\n}\n.section .debug_info\n{\n.b32 8\n.b8 9,0\n.b32 0\n.b8 8,1\n}\n",
    ],
)
def test_texts_that_do_not_say_it(text: str) -> None:
    assert read(text) == {}
