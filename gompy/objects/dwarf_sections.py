"""pyelftools' reader of DWARF on sections that our own reader of ELF has found.

Its own reads all section headers anew for each section of DWARF, and loads what knows processors and notes: for a file
of ours that takes twice as long as what a finding asks for.
"""

from __future__ import annotations

import io
import sys

from gompy.objects.elf import SHF_COMPRESSED, SHT_NOBITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gompy.objects.elf import Elf, Section

OLD_COMPRESSED = ".zdebug_"
OLD_HEAD = 12
CHDR = 24
"""How GNU's first sections of compressed DWARF are called, with "ZLIB" and their length before them; bytes of the
header that others have (gABI, Elf64_Chdr).
"""
STAND_INS: dict[str, dict[str, object]] = {
    "elftools.construct.debug": {"Probe": None, "Debugger": None},
    "pprint": {"pformat": repr},
}
"""What pyelftools loads for those who debug its parsers, and takes longer to load than all of these: by module, what
they have in its place.
"""


def dwarf_of(elf: Elf) -> Any:
    """pyelftools' DWARFInfo of a linked file; None if it has none: .eh_frame alone says nothing of variables.

    Relocations that it has kept (ld's --emit-relocs) have been applied.  pyelftools would do so once more, and fail.
    """
    found = {_name(section): section for section in elf.sections if section.type != SHT_NOBITS}
    if ".debug_info" not in found:
        return None
    _load_parsers()
    from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

    code = DWARFInfo.__init__.__code__
    words: dict[str, Any] = dict.fromkeys(code.co_varnames[1 : code.co_argcount])  # newer ones know more sections
    words["config"] = DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8)
    for name, section in found.items():
        word = f"{name[1:]}_sec"
        if word in words:
            data = _contents(elf, section)
            words[word] = DebugSectionDescriptor(io.BytesIO(data), name, section.offset, len(data), section.address)
    return DWARFInfo(**words)


def _name(section: Section) -> str:
    """Its name, as if it were not compressed."""
    return f".{section.name[2:]}" if section.name.startswith(OLD_COMPRESSED) else section.name


def _contents(elf: Elf, section: Section) -> bytes:
    """A section's bytes, decompressed; zlib.error if it is compressed by something else, such as zstd."""
    head = OLD_HEAD if section.name.startswith(OLD_COMPRESSED) else CHDR if section.flags & SHF_COMPRESSED else 0
    data = elf.contents(section)
    if not head:
        return data
    from zlib import decompress

    return decompress(memoryview(data)[head:])


def _load_parsers() -> None:
    """Load pyelftools' parsers without what nobody asks them for."""
    if "elftools.construct" in sys.modules:
        return
    lent = [name for name in STAND_INS if name not in sys.modules]
    for name in lent:
        sys.modules[name] = type(sys)(name)
        sys.modules[name].__dict__.update(STAND_INS[name])
    try:
        import elftools.construct  # noqa: F401
    finally:
        for name in lent:
            del sys.modules[name]
