"""What a linked file tells of its link: the libraries that it needs, whether it is static, which linker made it."""

from __future__ import annotations

import struct

from gompy.objects.elf import DT_NEEDED, SHT_DYNAMIC, SHT_NOBITS
from gompy.objects.view import ElfView, text


def needed(elf: ElfView) -> list[str]:
    """The DT_NEEDED entries in order; none for a static program.  Raises Damaged."""
    found: list[str] = []
    for section in elf.sections:
        if section.type != SHT_DYNAMIC or not 0 < section.link < len(elf.sections):
            continue
        strings = elf.contents(elf.sections[section.link])
        data = elf.contents(section)
        for tag, value in struct.iter_unpack("<QQ", data[: len(data) // 16 * 16]):
            end = strings.find(b"\0", value)
            if tag == DT_NEEDED and end >= 0:
                found.append(text(strings[value:end]))
    return found


def is_static(elf: ElfView) -> bool:
    """Whether a program is loaded by the kernel alone: nothing can be preloaded into it, nor a device."""
    interpreter = elf.by_name.get(".interp")
    return elf.kind == "executable" and (interpreter is None or interpreter.type == SHT_NOBITS)


def linker(elf: ElfView) -> str:
    """The linker that made a file, as far as it signs: ``mold 1.10.1``, ``LLD 14.0.6``, ``gold``; else empty."""
    if ".note.gnu.gold-version" in elf.by_name:
        return "gold"
    comment = elf.by_name.get(".comment")
    for line in elf.contents(comment).split(b"\0") if comment is not None else ():
        words = text(line).removeprefix("Linker: ").split()
        if len(words) > 1 and words[0] in ("mold", "LLD"):
            return " ".join(words[:2])
    return ""
