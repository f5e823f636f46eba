"""Device images of a linked file taken out, or others put in, without linking the file again.

Another image must have the entries of the one before, by name and order: the host's tables stay.  An image is taken out
by having the constructor and the destructor that register it return at once; its bytes are blanked.
"""

from __future__ import annotations

import re
import struct
from typing import Final

from gompy import plural
from gompy.abi.gomp import GOMP_DEVICE_INTEL_MIC, GOMP_DEVICE_NVIDIA_PTX
from gompy.objects.elf import Section
from gompy.objects.images import Image, is_device_image, is_ptx
from gompy.objects.naming import host_spelling
from gompy.objects.rewrite import RewriteError, Rewriter, given
from gompy.objects.view import Damaged, ElfView

SHT_INIT_ARRAY: Final = 14
SHT_FINI_ARRAY: Final = 15
REGISTER_CODE: Final = 96
"""Bytes of a constructor in which it names the record that it registers."""


def _known(elf: ElfView, image: Image) -> None:
    if not image.record or image.device_type not in (GOMP_DEVICE_INTEL_MIC, GOMP_DEVICE_NVIDIA_PTX):
        raise RewriteError(f"{elf.file}: images for {image.target} of this form can be read, but not changed")


def replaced(elf: ElfView, image: Image, files: list[bytes]) -> bytes:
    """The file with other contents in the place of an image's: an ELF image, or as many PTX texts as it has.

    Raises RewriteError, Damaged.
    """
    _known(elf, image)
    if len(files) != len(image.files):
        raise RewriteError(f"{elf.file}: the image has {plural(len(image.files), 'file')}, {given(len(files))}")
    if image.device_type == GOMP_DEVICE_INTEL_MIC:
        return _with_dso(elf, image, files[0])
    return _with_ptx(elf, image, files)


def _with_dso(elf: ElfView, image: Image, content: bytes) -> bytes:
    try:
        device = is_device_image(ElfView(content, elf.file))
    except Damaged:
        device = False
    if not device:
        raise RewriteError(f"what is to be put in is no image for {image.target}")
    change = Rewriter(elf)
    if len(content) <= image.size:
        change.write(image.address, content.ljust(image.size, b"\0"))
        start = image.address
    else:
        change.write(image.address, bytes(image.size))
        start = change.append(content, _section(elf, image.address))
    change.pointer(image.record, start)
    change.pointer(image.record + 8, start + len(content))
    return bytes(change.data)


def _with_ptx(elf: ElfView, image: Image, files: list[bytes]) -> bytes:
    texts = [file.rstrip(b"\0") + b"\0" for file in files]
    if not all(is_ptx(text) for text in texts):
        raise RewriteError(f"what is to be put in is no image for {image.target}: PTX begins with .version")
    joined = b"\n".join(texts)
    for entry in image.tables.funcs:
        if entry.name and not re.search(rb"\.entry\s+" + re.escape(entry.name.encode()) + rb"\b", joined):
            raise RewriteError(f"the PTX has no entry for region {host_spelling(entry.name)}")
    for entry in image.tables.vars:
        if entry.name and not re.search(rb"\b" + re.escape(entry.name.encode()) + rb"\b", joined):
            raise RewriteError(f"the PTX has no variable {host_spelling(entry.name)}")
    change = Rewriter(elf)
    array = elf.space.words(image.record, 1)
    pairs = elf.space.words(array[0].address or 0, 2 * len(files)) if array else None
    if array is None or pairs is None:
        raise RewriteError(f"{elf.file}: the image's list of PTX objects is not in the file")
    more, moved = b"", []
    for number, content in enumerate(texts):
        where, size = array[0].address or 0, pairs[2 * number + 1].address or 0
        old = pairs[2 * number].address or 0
        change.write(old, content.ljust(size, b"\0") if len(content) <= size else bytes(size))
        change.number(where + 16 * number + 8, len(content))
        if len(content) > size:
            moved.append((where + 16 * number, len(more)))
            more += content
    if moved:
        start = change.append(more, _section(elf, image.address))
        for word, offset in moved:
            change.pointer(word, start + offset)
    return bytes(change.data)


def _section(elf: ElfView, address: int) -> Section:
    place = elf.space.place(address)
    assert place is not None  # the image was read from there
    return place[0]


def stripped(elf: ElfView, image: Image) -> bytes:
    """The file without an image: nothing registers it, and its bytes are zero.  Raises RewriteError, Damaged."""
    _known(elf, image)
    change = Rewriter(elf)
    for kind, what in ((SHT_INIT_ARRAY, "constructor registers"), (SHT_FINI_ARRAY, "destructor unregisters")):
        functions = [address for address in _array(elf, kind) if _names_record(elf, address, image.record)]
        if not functions:
            raise RewriteError(f"{elf.file}: no {what} the image; link the program again without it")
        for address in functions:
            change.returns(address)
    if image.device_type == GOMP_DEVICE_NVIDIA_PTX:
        array = elf.space.words(image.record, 1)
        pairs = elf.space.words(array[0].address or 0, 2 * len(image.files)) if array else None
        for number in range(len(image.files) if pairs else 0):
            assert pairs is not None
            change.write(pairs[2 * number].address or 0, bytes(pairs[2 * number + 1].address or 0))
    else:
        change.write(image.address, bytes(image.size))
    for record in (image.record if image.device_type == GOMP_DEVICE_INTEL_MIC else 0, image.description):
        if record:
            change.write(record + 16, bytes(8))  # the magic: nobody takes it for an image
    return bytes(change.data)


def _array(elf: ElfView, kind: int) -> list[int]:
    """The functions of the constructors' or destructors' array."""
    found: list[int] = []
    for section in elf.sections:
        if section.type == kind:
            words = elf.space.words(section.address, section.size // 8) or []
            found += [word.address for word in words if word.address]
    return found


def _names_record(elf: ElfView, function: int, record: int) -> bool:
    """Whether the first instructions of a function name an address: relative to the next one, or as it is."""
    place = elf.space.place(function)
    if place is None:
        return False
    code = elf.space.read(function, min(REGISTER_CODE, place[0].size - place[1])) or b""
    end = code.find(b"\xc3\x66\x2e\x0f\x1f")  # the padding behind a function
    code = code[: end if end > 0 else len(code)]
    for at in range(2, len(code) - 3):
        (value,) = struct.unpack_from("<i", code, at)
        if function + at + 4 + value == record or value == record:
            return True
    return False
