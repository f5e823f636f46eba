"""Images by clang in a linked file taken out, or another put in, without linking it again.

The registered descriptor says how many images there are, and where: it is changed, the host's entries stay.
"""

from __future__ import annotations

from gompy.abi import llvm
from gompy.objects.clang_images import IMAGE_RECORD, ClangImage
from gompy.objects.elf import EM_X86_64, ET_DYN
from gompy.objects.offload_binary import packed
from gompy.objects.rewrite import RewriteError, Rewriter, given
from gompy.objects.view import Damaged, ElfView


def _known(elf: ElfView, image: ClangImage) -> None:
    if not image.record:
        raise RewriteError(f"{elf.file}: nothing registers its image for {image.target}: it cannot be changed")


def with_image(elf: ElfView, image: ClangImage, files: list[bytes]) -> bytes:
    """The file with other contents in the place of an image's.  Raises RewriteError, Damaged."""
    _known(elf, image)
    if len(files) != 1:
        raise RewriteError(f"{elf.file}: the image has 1 file, {given(len(files))}")
    content, binary = files[0], image.binary
    if binary.image_kind == llvm.IMG_OBJECT and binary.triple.startswith("x86_64"):
        try:
            new = ElfView(content, elf.file)
            fits = new.type == ET_DYN and new.machine == EM_X86_64
        except Damaged:
            fits = False
        if not fits:
            raise RewriteError(f"what is to be put in is no library for {image.target}")
    if image.wrapped:
        content = packed(content, binary.strings, binary.image_kind, binary.offload_kind)
    change = Rewriter(elf)
    start = image.address
    if len(content) <= image.room:
        change.write(start, content.ljust(image.room, b"\0"))
    else:
        place = elf.space.place(start)
        assert place is not None  # the image was read from there
        change.write(start, bytes(image.room))
        start = change.append(content, place[0])
    change.pointer(image.record, start)
    change.pointer(image.record + 8, start + len(content))
    return bytes(change.data)


def without_image(elf: ElfView, image: ClangImage, others: list[ClangImage]) -> bytes:
    """The file without an image; ``others``: all images of the file.  Raises RewriteError, Damaged."""
    _known(elf, image)
    change = Rewriter(elf)
    mine = [one for one in others if one.descriptor == image.descriptor]
    for after in (one for one in mine if one.record > image.record):
        change.pointer(after.record - IMAGE_RECORD, after.address)
        change.pointer(after.record - IMAGE_RECORD + 8, after.address + after.room)
    change.number(image.descriptor, len(mine) - 1)
    change.write(image.address, bytes(image.room))
    return bytes(change.data)
