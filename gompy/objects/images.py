"""Device images that a host file carries, and their tables.

Found by structure, not by symbol name, so stripped files and relocatables (mkoffload's output) show the same:

* ours (intelmic): the target data by its magic (docs/internals.md, "Link");
* GCC's intelmic: ELF files in ``.gnu.offload_images`` (GCC 12: config/i386/intelmic-mkoffload.cc);
* nvptx: PTX text, the array of pointers to it, the target data that points to the array
  (config/nvptx/mkoffload.cc, libgomp/plugin/plugin-nvptx.c);
* gcn: an amdgcn ELF file, its descriptor, the target data (config/gcn/mkoffload.cc, libgomp/plugin/plugin-gcn.c).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gompy.abi.targets import GCN, INTELMIC, NVPTX, Target
from gompy.objects import names, tables
from gompy.objects.elf import (
    EM_AMDGPU,
    EM_X86_64,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_RELA,
    SHT_SYMTAB,
    Section,
)
from gompy.objects.naming import rule_for
from gompy.objects.pairing import ObjectDesc, Pairing, by_object, by_position
from gompy.objects.streams import ptx_map
from gompy.objects.tables import Entry, ObjectRecord, Tables
from gompy.objects.view import Damaged, ElfView, text

if TYPE_CHECKING:
    from gompy.objects.naming import Rule

IMAGES_SECTION: Final = ".gnu.offload_images"
MAX_ENTRIES: Final = 1 << 24
"""Entries of an image's array beyond which a target data is not believed."""
SEARCH_BUDGET: Final = 1 << 22
"""Words that the search for images may look at beyond one pass over the data."""
_OBJECT_DESC: Final = 32
_FUNC_MAPPING: Final = 16
_GCN_KERNEL: Final = 32
_PTX_START: Final = re.compile(rb"(?:// BEGIN PREAMBLE\n)?[ \t]*\.version[ \t]+\d+\.\d+")


@dataclass
class Image:
    """One image: ``files`` are its contents (one ELF file, or the PTX objects), addresses those of the host file."""

    kind: Target
    address: int
    size: int
    files: list[bytes]
    tables: Tables = field(default_factory=Tables)
    objects: list[ObjectDesc] = field(default_factory=list)
    dims: list[tuple[int, int, int]] = field(default_factory=list)  # nvptx: gangs, workers, vector of each function
    accel: int = 0
    abi: int = 0
    name: str = ""
    problems: list[str] = field(default_factory=list)
    record: int = 0
    """Address of the target data that is registered; 0 if it is not known."""
    description: int = 0
    """Address of our description beside GCC's own record (nvptx); 0 if there is none."""

    @property
    def target(self) -> str:
        """Its target's name."""
        return self.kind.name

    @property
    def device_type(self) -> int:
        """GCC's number of the devices that it is for."""
        return self.kind.type

    @property
    def extension(self) -> str:
        """How files of this kind are called."""
        return self.kind.extension

    @property
    def rule(self) -> Rule:
        """What of the names of entries host and image must agree in."""
        return rule_for(self.target, self.accel == names.ACCEL_STOCK)

    def pair(self, host: Tables, records: list[ObjectRecord]) -> Pairing:
        """Pair the host's tables with the image's."""
        mine = (len(host.funcs), len(host.vars))
        theirs = (len(self.tables.funcs), len(self.tables.vars))
        if self.objects:
            return by_object(mine, theirs, records, self.objects)
        return by_position(mine, theirs)


class Finder:
    """Search of one host file; keeps the map from an address to the places that point there."""

    def __init__(self, elf: ElfView) -> None:
        self.elf = elf
        self.space = elf.space
        self._pointing: dict[int, list[int]] | None = None
        self._budget = SEARCH_BUDGET
        self._bytes = 0
        self.described: dict[int, list[int]] = {}  # address of a record in GCC's form to address and words of ours
        self.sections = [
            s
            for s in elf.sections
            if s.flags & SHF_ALLOC and s.type not in (SHT_NOBITS, SHT_RELA) and not s.flags & SHF_EXECINSTR and s.size
        ]

    def find(self, pattern: bytes, step: int = 1) -> Iterator[tuple[Section, int]]:
        """(section, offset in it) of each occurrence in the allocated data."""
        data = self.elf.data
        for section in self.sections:
            start = section.offset
            end = min(start + section.size, len(data))
            at = data.find(pattern, start, end)
            while at >= 0:
                if (at - start) % step == 0:
                    yield section, at - start
                at = data.find(pattern, at + 1, end)

    def pointing(self, address: int) -> list[int]:
        """Addresses of the words that point to an address."""
        if self._pointing is None:
            self._pointing = {}
            seen: set[int] = set()
            for section in self.sections:
                pointers = self.space.pointers(section)
                if id(pointers) in seen:  # a linked file has one set for all sections
                    continue
                seen.add(id(pointers))
                for where, pointer in pointers.items():
                    if pointer.address is not None:
                        self._pointing.setdefault(pointer.address, []).append(where)
            if not self.elf.relocatable and self.sections:
                self._plain_pointers(self._pointing)
        self._spend(1)
        return self._pointing.get(address, [])

    def _plain_pointers(self, into: dict[int, list[int]]) -> None:
        """Add the words of a linked file that hold an address of its data: without PIE nothing relocates them."""
        bounds = [(self.space.base[s.index], s.size) for s in self.sections]
        low, high = min(b for b, _size in bounds), max(b + size for b, size in bounds)
        for section in self.sections:
            start = self.space.base[section.index]
            skip = -start % 8
            data = self.elf.data[section.offset + skip : section.offset + section.size]
            words = memoryview(data[: len(data) // 8 * 8]).cast("Q")
            known = self.space.pointers(section)
            for i, word in enumerate(words):
                if low <= word < high and start + skip + 8 * i not in known:
                    into.setdefault(word, []).append(start + skip + 8 * i)

    def _spend(self, words: int) -> None:
        """Bound the search: a file full of words that look like target data must not take minutes."""
        self._budget -= words
        if self._budget < 0:
            raise Damaged(self.elf.file, "", 0, "too many words that could be the description of a device image")

    def string(self, address: int) -> str | None:
        """The NUL-terminated string at an address."""
        found = self.space.string(address)
        self._spend(len(found or "") // 8)
        return found

    def _contents(self, size: int) -> None:
        """Count the bytes of images: descriptions that overlap could make many large ones of a small file."""
        self._bytes += size
        if self._bytes > 4 * len(self.elf.data):
            raise Damaged(self.elf.file, "", 0, "the device images are together larger than the file")

    def words(self, address: int, count: int) -> list[int] | None:
        """Relocated words; None where one is missing or refers to another file."""
        if not 0 <= count <= MAX_ENTRIES or address >= 1 << 63:
            return None
        self._spend(count + 1)
        words = self.space.words(address, count) if count else []
        if words is None or any(w.address is None for w in words):
            return None
        return [w.address or 0 for w in words]

    def images(self) -> list[Image]:
        """All images, by address."""
        found = [*self.intelmic(), *self.nvptx(), *self.gcn()]
        covered = [(i.address, i.address + i.size) for i in found]
        found += self.stock_intelmic(covered)
        return sorted(found, key=lambda image: image.address)

    def intelmic(self) -> Iterator[Image]:
        """Images of ours."""
        for section, at in self.find(struct.pack("<Q", names.IMAGE_MAGIC), 8):
            base = self.space.base[section.index] + at - 16
            raw = self.space.words(base, 11)
            if raw is None or at < 16:
                continue
            words = [word.address or 0 for word in raw]
            start, end = words[0], words[1]
            if start == end:
                self.described[start] = [base, *words]  # of a record in GCC's form: what it has to say besides
                continue
            data = self.space.read(start, end - start) if start < end else None
            if data is None:
                raise self.elf.damaged(section, at - 16, f"the image from {start:#x} to {end:#x} is not in the file")
            self._contents(len(data))
            image = Image(INTELMIC, start, len(data), [data])
            image.record = base
            image.abi, image.accel = words[3] & 0xFFFFFFFF, words[3] >> 32
            image.name = self.string(words[10]) or ""
            self._object_descs(image, words[8], words[9])
            _read_elf_tables(image, f"{self.elf.file}: image at {start:#x}")
            counts = (len(image.tables.funcs), len(image.tables.vars))
            if not image.problems and counts != (words[4], words[5]):
                where = f"section {section.name} at offset {section.offset + at + 16:#x}"
                said, found = f"{words[4]} functions and {words[5]} variables", f"{counts[0]} and {counts[1]}"
                image.problems.append(f"{self.elf.file}: {where}: {said} announced, the image has {found}")
            yield image

    def _object_descs(self, image: Image, address: int, count: int) -> None:
        words = self.words(address, count * (_OBJECT_DESC // 8))
        if words is None:
            image.problems.append(
                f"{self.elf.file}: offset {address:#x}: {count} object descriptions are not in the file"
            )
            return
        for i in range(0, len(words), 4):
            identity, lengths, kind, name = words[i : i + 4]
            shown = self.string(name) or "?"
            image.objects.append(ObjectDesc(identity, lengths & 0xFFFFFFFF, lengths >> 32, kind & 0xFFFFFFFF, shown))

    def stock_intelmic(self, covered: list[tuple[int, int]]) -> Iterator[Image]:
        """ELF files in .gnu.offload_images that no target data of ours names."""
        for section in self.elf.sections:
            if section.name != IMAGES_SECTION or section.type == SHT_NOBITS or section.index not in self.space.base:
                continue
            data = self.elf.contents(section)
            base = self.space.base[section.index]
            at = data.find(b"\x7fELF")
            while at >= 0:
                if any(start <= base + at < end for start, end in covered):
                    at = data.find(b"\x7fELF", at + 1)
                    continue
                size = _elf_size(data, at)
                image = Image(INTELMIC, base + at, size, [data[at : at + size]])
                _read_elf_tables(image, f"{self.elf.file}: image at {base + at:#x}")
                yield image
                at = data.find(b"\x7fELF", at + max(size, 1))

    def nvptx(self) -> Iterator[Image]:
        """PTX images."""
        starts: dict[int, None] = {}
        for section, at in self.find(b".version"):
            data, offset = self.elf.data, section.offset
            begin = max(data.rfind(b"\0", offset, offset + at) + 1, offset)
            if _PTX_START.match(data, begin):
                starts[self.space.base[section.index] + begin - offset] = None
        tried: set[int] = set()
        for start in starts:
            for array in self.pointing(start):
                if array in tried:
                    continue
                tried.add(array)
                for data_at in self.pointing(array):
                    if data_at in tried:
                        continue
                    tried.add(data_at)
                    image = self._nvptx_image(data_at)
                    if image is not None:
                        yield image

    def _nvptx_image(self, address: int) -> Image | None:
        """The image whose target data lies at an address; None if none does."""
        words = self.words(address, 6)
        if words is None:
            return None
        objects, num_objects, variables, num_vars, funcs, num_funcs = words
        num_funcs &= 0xFFFFFFFF  # the other half: number of indirect functions (GCC 14)
        pairs = self.words(objects, 2 * num_objects) if 0 < num_objects < 1 << 16 else None
        names_of_vars = self.words(variables, num_vars) if num_vars < MAX_ENTRIES else None
        mappings = self.words(funcs, 2 * num_funcs) if num_funcs < MAX_ENTRIES else None
        if pairs is None or names_of_vars is None or mappings is None:
            return None
        files = [self.space.read(code, size) for code, size in zip(pairs[::2], pairs[1::2], strict=True)]
        if any(file is None for file in files):
            return None
        self._contents(sum(pairs[1::2]))
        whole = [file.rstrip(b"\0") for file in files if file is not None]
        image = Image(NVPTX, pairs[0], sum(map(len, whole)), whole)
        image.record = address
        image.tables.source = "target data"
        image.tables.funcs = [Entry(self.string(word), None) for word in mappings[::2]]
        image.dims = [(word & 0xFFFF, word >> 16 & 0xFFFF, word >> 32 & 0xFFFF) for word in mappings[1::2]]
        image.tables.vars = [Entry(self.string(word), None) for word in names_of_vars]
        if address in self.described:
            image.description, *words = self.described[address]
            image.name = self.string(words[10]) or ""
            self._object_descs(image, words[8], words[9])
        return image

    def gcn(self) -> Iterator[Image]:
        """amdgcn images."""
        for section, at in self.find(b"\x7fELF\x02\x01"):
            data = self.elf.data[section.offset + at : section.offset + section.size]
            if len(data) < 64 or struct.unpack_from("<H", data, 18)[0] != EM_AMDGPU:
                continue
            start = self.space.base[section.index] + at
            for pointer in self.pointing(start):
                for data_at in self.pointing(pointer - 8):
                    image = self._gcn_image(pointer - 8, data_at)
                    if image is not None:
                        yield image

    def _gcn_image(self, descriptor: int, address: int) -> Image | None:
        head, words = self.words(descriptor, 2), self.words(address, 4)
        if head is None or words is None:
            return None
        size, start = head
        data = self.space.read(start, size)
        count, variables = words[1] & 0xFFFFFFFF, words[3] & 0xFFFFFFFF
        kernels = self.words(words[2], count * (_GCN_KERNEL // 8)) if count < MAX_ENTRIES else None
        if data is None or kernels is None:
            return None
        shown = [self.string(word) for word in kernels[:: _GCN_KERNEL // 8]]
        self._contents(size)
        image = Image(GCN, start, size, [data])
        image.tables.source = "target data"
        # The first two are the constructors and destructors of the device (mkoffload), not regions.
        kernel_names = [name for name in shown if name not in ("_init_array", "_fini_array")]
        image.tables.funcs = [Entry(name, None) for name in kernel_names]
        if variables <= MAX_ENTRIES:
            image.tables.vars = [Entry(None, None)] * variables
        return image


def _elf_size(data: bytes, at: int) -> int:
    """Length of an ELF file that is followed by something else: its section headers end it."""
    if at + 64 > len(data):
        return len(data) - at
    (shoff,) = struct.unpack_from("<Q", data, at + 40)
    entsize, count = struct.unpack_from("<HH", data, at + 58)
    size: int = shoff + entsize * count
    return size if 64 <= size <= len(data) - at else len(data) - at


def _read_elf_tables(image: Image, shown: str) -> None:
    """Read an ELF image's tables; what is wrong with it goes to its problems."""
    try:
        inner = ElfView(image.files[0], shown)
        if inner.machine != EM_X86_64:
            image.problems.append(f"{shown}: machine {inner.machine} is not x86-64")
        image.tables = tables.read_tables(inner)
    except Damaged as error:
        image.problems.append(str(error))


def find_images(elf: ElfView) -> list[Image]:
    """The images in a host file, by address.  Raises Damaged."""
    return Finder(elf).images()


def is_device_image(elf: ElfView) -> bool:
    """Whether the file itself is an intelmic image: it exports its table."""
    return any(
        symbol.name == names.TARGET_TABLE and symbol.shndx
        for table in elf.sections
        if table.type in (SHT_SYMTAB, SHT_DYNSYM)
        for symbol in elf.symbols(table)
    )


def is_ptx(data: bytes) -> bool:
    """Whether a file is PTX text."""
    return _PTX_START.match(data[:4096].lstrip()) is not None


def ptx_tables(data: bytes) -> Tables:
    """The tables that the marker comments of a PTX file name."""
    result = Tables(source="markers")
    for kind, name in ptx_map(data):
        into = result.funcs if kind == "func" else result.vars
        into.append(Entry(name, None))
    return result


def ptx_objects(data: bytes) -> list[str]:
    """One line for each NUL-terminated PTX object of a file: version and target."""
    found: list[str] = []
    for part in data.split(b"\0"):
        if part.strip():
            version = re.search(rb"^\s*\.version\s+(\S+)", part, re.MULTILINE)
            target = re.search(rb"^\s*\.target\s+(\S+)", part, re.MULTILINE)
            found.append(
                f"PTX {text(version[1]) if version else '?'} {text(target[1]) if target else '?'}, {len(part)} bytes"
            )
    return found
