"""Which device images a link takes: those of its objects, and of archives' members that are needed.

Archives are lazy for each target: a member's image is taken if it defines a symbol that is undefined so far, or a
visible one that nobody has, and its target has images already.  The archive is walked again after each.  Clang's own
device runtime for GPUs is no such archive here: nvptx.py adds it.  Sources:
clang-linker-wrapper of LLVM 16 by what it does; GNU ld's manual for -l and -L.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from gompy.abi import llvm
from gompy.objects.archive import is_archive, members
from gompy.objects.elf import SHN_UNDEF, STB_LOCAL, STB_WEAK, STT_FILE, STT_SECTION, STV_HIDDEN
from gompy.objects.offload_binary import MAGIC, OffloadBinary, read_all
from gompy.objects.view import Damaged, ElfView
from gompy.tools.process import ToolError

_WITH_VALUE = frozenset(
    (
        *("-o", "-m", "-z", "-e", "-h", "-soname", "-u", "-T", "-y", "-Y", "-rpath", "-rpath-link", "-dynamic-linker"),
        *(
            "--dynamic-linker",
            "--output",
            "--version-script",
            "-plugin",
            "-plugin-opt",
            "--build-id=",
            "-Map",
            "-F",
            "-f",
            "-A",
            "-R",
        ),
        *("-a", "-c", "-G", "-b", "--format", "--rpath", "--soname", "--defsym", "--undefined", "-I", "--script"),
    )
)


CPUS: Final = ("x86_64", "aarch64", "powerpc64le", "powerpc64")
GENERIC: Final = "generic"


@dataclass(frozen=True)
class Found:
    """An image and where it comes from."""

    binary: OffloadBinary
    source: str
    entries: str = llvm.ENTRIES_SECTION
    """The section of its object that has the host's entries: by their form."""
    linked_for: tuple[str, str] | None = None
    """A target other than its own."""

    @property
    def target(self) -> tuple[str, str]:
        """The link that it belongs to; clang 22 calls a CPU generic where older ones say nothing."""
        if self.linked_for is not None:
            return self.linked_for
        arch, triple = self.binary.arch, self.binary.triple
        return triple, "" if arch == GENERIC and triple.startswith(CPUS) else arch

    def fits(self, target: tuple[str, str]) -> bool:
        """Whether it can be linked for that one, too: code for any architecture, or for any setting of a processor."""
        triple, arch = self.target
        processor, *settings = arch.split(":")
        other, *theirs = target[1].split(":")
        if triple != target[0] or triple.startswith(CPUS):
            return self.target == target
        return arch == GENERIC or (processor == other and {*settings} <= {*theirs})


@dataclass
class _Symbols:
    """A target's symbols: what is defined, what is not."""

    defined: set[str] = field(default_factory=set)
    undefined: set[str] = field(default_factory=set)


def names_of(image: bytes, shown: str) -> tuple[set[str], set[str], set[str]]:
    """Symbols of an image: visible ones it defines, all it defines for others, those it needs.  Raises Damaged."""
    visible: set[str] = set()
    defined: set[str] = set()
    needed: set[str] = set()
    if not image.startswith(b"\x7fELF"):
        return visible, defined, needed
    for symbol in ElfView(image, shown).symbols():
        if symbol.bind == STB_LOCAL or symbol.type in (STT_SECTION, STT_FILE) or not symbol.name:
            continue
        if symbol.shndx == SHN_UNDEF:
            if symbol.bind != STB_WEAK:
                needed.add(symbol.name)
            continue
        defined.add(symbol.name)
        if symbol.visibility != STV_HIDDEN:
            visible.add(symbol.name)
    return visible, defined, needed


IR_MAGICS: Final = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""LLVM IR as it is, and in the wrapper that some systems have."""
Compile = Callable[[bytes, str], bytes]
"""An object of a host's LLVM IR (-flto)."""


def _images_of(data: bytes, shown: str, compiled: Compile | None) -> list[Found]:
    """The images of an object, or of a file of images.  Raises Damaged, ToolError.

    An object of LLVM IR has them in a variable that its compiler puts into the section.
    """
    if data.startswith(MAGIC):
        return [Found(binary, shown) for binary in read_all(data, shown)]
    if data.startswith(IR_MAGICS) and compiled is not None:
        data = compiled(data, shown)
    if not data.startswith(b"\x7fELF"):
        return []
    elf = ElfView(data, shown)
    if not elf.relocatable:
        return []
    sections = [
        section
        for section in elf.sections
        if section.type == llvm.SHT_LLVM_OFFLOADING and section.name != llvm.LINKED_SECTION
    ]
    newer = any(section.name == llvm.NEWER_ENTRIES_SECTION for section in elf.sections)
    entries = llvm.NEWER_ENTRIES_SECTION if newer else llvm.ENTRIES_SECTION
    return [
        Found(binary, shown, entries)
        for section in sections
        for binary in read_all(elf.contents(section), shown, section.name, section.offset)
    ]


DEVICE_RUNTIME = "libomptarget.devicertl.a"
Names = tuple[set[str], set[str], set[str]]


class Inputs:
    """The files of a link line and the images that they bring; ``ir_names``: names_of for an image of LLVM IR;
    ``compiled``: makes an object of a host's; ``extract``: architectures whose members count without an object."""

    def __init__(
        self,
        link: list[str],
        ir_names: Callable[[bytes, str], Names] | None = None,
        compiled: Compile | None = None,
        extract: list[str] | None = None,
    ) -> None:
        self.link = link
        self.ir_names = ir_names
        self.compiled = compiled
        self.extract = frozenset(extract or [])
        self.whole: set[str] = set()
        self.known = 0  # so many of those taken are in ``symbols``
        self.sysroot = next((w.partition("=")[2] for w in link if w.startswith("--sysroot=")), "")
        self.folders = [self._in_sysroot(folder) for folder in folders_of(link)]
        self.taken: list[Found] = []
        self.symbols: dict[tuple[str, str], _Symbols] = {}

    def _in_sysroot(self, folder: str) -> str:
        return self.sysroot + folder[1:] if folder.startswith("=") else folder

    def library(self, name: str, static: bool) -> str:
        """The file that ``-l`` means.  Raises ToolError."""
        wanted = (
            [name[1:]] if name.startswith(":") else [f"lib{name}.a"] if static else [f"lib{name}.so", f"lib{name}.a"]
        )
        for folder in self.folders:
            for file in wanted:
                path = os.path.join(folder, file)
                if os.path.exists(path):
                    return path
        raise ToolError(f"unable to find library -l{name}")

    def files(self) -> list[str]:
        """The files of the line, in order."""
        found: list[str] = []
        words = iter(self.link)
        static = whole = False
        for word in words:
            known = len(found)
            if word in ("-Bstatic", "-static", "-dn"):
                static = True
            elif word in ("-Bdynamic", "-dy"):
                static = False
            elif word in ("--whole-archive", "--no-whole-archive"):
                whole = word == "--whole-archive"
            elif word in ("-l", "--library"):
                found.append(self.library(next(words, ""), static))
            elif word.startswith("--library="):
                found.append(self.library(word.partition("=")[2], static))
            elif word in ("-L", "--library-path") or word in _WITH_VALUE:
                next(words, "")
            elif word.startswith("-l"):
                found.append(self.library(word[2:], static))
            elif not word.startswith(("-", "@")):
                found.append(word)
            if whole:
                self.whole |= {*found[known:]}
        return found

    def read(self) -> list[Found]:
        """The images to link.  Raises ToolError, Damaged."""
        for path in self.files():
            try:
                with open(path, "rb") as file:
                    start = file.read(20)
                    known = (b"\x7fELF\x02\x01", MAGIC, b"!<", *IR_MAGICS)
                    if not start.startswith(known) or (start.startswith(b"\x7f") and start[16:18] == b"\3\0"):
                        continue  # a linker script, or a shared library
                    data = start + file.read()
            except OSError as error:
                raise ToolError(f"cannot open {path}: {error.strerror}") from None
            if is_archive(data):
                self._archive(data, path)
            else:
                for found in _images_of(data, path, self.compiled):
                    self._take(found)
        return self.taken

    def _take(self, found: Found) -> None:
        self.taken.append(found)

    def _names(self, found: Found) -> Names:
        if found.binary.image_kind == llvm.IMG_BITCODE and self.ir_names is not None:
            return self.ir_names(found.binary.image, found.source)
        return names_of(found.binary.image, found.source)

    def _catch_up(self) -> None:
        """Enter the symbols of what has been taken: only archives ask for them."""
        for found in self.taken[self.known :]:
            known = self.symbols.setdefault(found.target, _Symbols())
            _visible, defined, needed = self._names(found)
            known.defined |= defined
            known.undefined = (known.undefined | needed) - known.defined
        self.known = len(self.taken)

    def _archive(self, data: bytes, path: str) -> None:
        if not any(magic in data for magic in (MAGIC, *IR_MAGICS)) and not data.startswith(b"!<thin>"):
            return
        if os.path.basename(path) == DEVICE_RUNTIME:
            return
        self._catch_up()
        left: list[Found] = []
        for member in members(data, path):
            left += _images_of(member.data, f"{path}({member.name})", self.compiled)
        if path in self.whole:
            self.taken += left
            return
        left += self._for_others(left)
        again = True
        while again:
            again = False
            for found in left:
                if self._wanted(found):
                    left.remove(found)
                    self._take(found)
                    self._catch_up()
                    again = True
                    break

    def _for_others(self, members: list[Found]) -> list[Found]:
        """Members as images of targets that they are not named for, but fit."""
        pairs = [(found, target) for found in members for target in self.symbols if target != found.target]
        return [replace(found, linked_for=target) for found, target in pairs if found.fits(target)]

    def _wanted(self, found: Found) -> bool:
        known = self.symbols.get(found.target)
        if known is None and found.binary.arch in self.extract:
            known = _Symbols()
        if known is None:
            return False
        visible, defined, _needed = self._names(found)
        return bool(defined & known.undefined or visible - known.defined - known.undefined)


def folders_of(words: list[str]) -> list[str]:
    """Where the linker looks for libraries."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-L", "--library-path"):
            found.append(next(rest, ""))
        elif word.startswith(("-L", "--library-path=")):
            found.append(word.removeprefix("-L").removeprefix("--library-path="))
    return found


__all__ = ("Damaged", "Found", "Inputs", "Names", "folders_of", "names_of")
