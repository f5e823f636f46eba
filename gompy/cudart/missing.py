"""What relocatable device code lacks, told when a program is linked: `gompy cuda cc -rdc=true`, `-dlink`.

The driver's linker, which makes one module of a program's files when it runs, tells of it too: programs that another
linker makes are not seen here.  Names that no kernel can come to are not missed, nor any where code is compressed.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from gompy.abi.ptx import BUILTINS
from gompy.objects import archive, fatbin
from gompy.objects.view import Damaged, ElfView
from gompy.ptx.index import index_file, references
from gompy.ptx.parser import parse
from gompy.ptx.reach import Facts, reachable
from gompy.ptx.syntax import Module, PtxError

if TYPE_CHECKING:
    from collections.abc import Callable

TITLE: Final = re.compile(rb"// (\S.*)\.ptx$")
"""The first line of relocatable device code (clang.py, linkable)."""


class Text(NamedTuple):
    """Relocatable device code of an object, `prog.o` or `lib.a(prog.o)`; without `ptx` it is compressed."""

    object: str
    architecture: int
    ptx: bytes


def _of_elf(data: bytes, name: str) -> list[Text]:
    """Those of an ELF file; of what is none, none."""
    if data[:4] != b"\x7fELF":
        return []
    try:
        images = [image for image in fatbin.read_fatbins(ElfView(data, name)) if image.extension == "ptx"]
        texts = [Text(name, image.architecture, b"" if image.packed else image.files[0]) for image in images]
    except Damaged:
        return []
    return [text for text in texts if not text.ptx or TITLE.match(text.ptx.partition(b"\n")[0])]


def of_file(path: str, name: str) -> list[Text]:
    """The relocatable device code of an object, archive or linked file; `name` is shown.  Raises OSError."""
    with open(path, "rb") as file:
        data = file.read()
    if not archive.is_archive(data):
        return _of_elf(data, name)
    try:
        return [
            text for member in archive.members(data, name) for text in _of_elf(member.data, f"{name}({member.name})")
        ]
    except Damaged:
        return []


def newest(texts: list[Text]) -> list[Text]:
    """Of each file's code for several architectures the newest."""
    best: dict[bytes, Text] = {}
    for text in texts:
        title = text.object.encode("utf-8", "surrogateescape") + text.ptx.partition(b"\n")[0]
        if title not in best or best[title].architecture < text.architecture:
            best[title] = text
    return list(best.values())


def _function(module: Module, name: str) -> str:
    """A function in words, by the name that linkers know."""
    return f"{'kernel' if module.functions[name].entry else 'function'} '{name}'"


def undefined(texts: list[Text]) -> list[str]:
    """A line for each name that code of one file wants and no file has.  None if some code cannot be read: it may have
    them, and the driver tells."""
    if not all(text.ptx for text in texts):
        return []
    modules: dict[str, tuple[Text, Module]] = {}
    facts: dict[str, Facts] = {}
    try:
        for number, text in enumerate(newest(texts)):
            module = parse(text.ptx.decode("utf-8", "surrogateescape"), text.object)
            modules[str(number)] = (text, module)
            facts[str(number)] = Facts(index_file(module))
    except PtxError:
        return []
    exported = {name for fact in facts.values() for name in fact.exports}
    lines: list[str] = []
    for key, names in reachable(facts).items():
        text, module = modules[key]
        own = facts[key].spans.keys() | {v.name for v in module.variables.values() if v.space == "shared"}
        for name in names:
            for wanted in references(module.functions[name]):
                if wanted not in own and wanted not in exported and wanted not in BUILTINS:
                    where = f"{text.object}: in {_function(module, name)}"
                    lines.append(f"{where}: undefined reference to '{wanted}'")
    return list(dict.fromkeys(lines))


def archives(words: list[str], usual: Callable[[], list[str]] = list) -> list[str]:
    """The archives that a line's -l words name: of each the first, in the folders of -L, then in the linker's USUAL
    ones, which are asked for where a name is in none of those."""
    folders: list[str] = []
    names: list[str] = []
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word[:2] in ("-L", "-l"):
            (folders if word[1] == "L" else names).append(word[2:] or following)
    found: list[str] = []
    for name in names:
        file = name[1:] if name[:1] == ":" else f"lib{name}.a"
        path = _first(folders, file) or _first(usual(), file)
        found += [path] if path else []
    return found


def _first(folders: list[str], file: str) -> str:
    """The path of a file in the first folder that has it, or nothing."""
    paths = (os.path.join(folder, file) for folder in folders)
    return next((path for path in paths if os.path.isfile(path)), "")
