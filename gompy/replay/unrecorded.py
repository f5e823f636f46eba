"""What a recording lacks: the memory of the device's own C library, which regions' code uses without the host."""

from __future__ import annotations

import re
from typing import Final

from gompy.objects.elf import SHT_DYNSYM
from gompy.objects.view import ElfView
from gompy.replay.devices import functions_of
from gompy.replay.recording import KERNELS, Image, Recording, Region

KEEPING: Final = {
    "malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign", "free",
    "_Znwm", "_Znam", "_ZdlPv", "_ZdlPvm", "_ZdaPv",
    "omp_alloc", "omp_aligned_alloc", "omp_calloc", "omp_realloc", "omp_free",
    "rand", "srand", "random", "srandom", "drand48", "lrand48", "mrand48", "srand48", "strtok",
    "_gfortran_random_r4", "_gfortran_random_r8", "_gfortran_arandom_r4", "_gfortran_arandom_r8",
}  # fmt: skip
"""Functions whose results depend on what they have kept: blocks of memory, the state of random numbers."""
REVERSE: Final = "GOMP_target_ext"
"""What device code calls to have the host run a region (GCC, libgomp/config/nvptx/target.c)."""
RENAMED: Final = "__nvptx_"
"""GCC's begin of malloc and its like in PTX (config/nvptx/nvptx.cc: nvptx_name_replacement)."""
EXTERN: Final = re.compile(rb"^\.extern \.func\s*(?:\([^)]*\)\s*)?([\w$]+)", re.MULTILINE)


def called_beside(recording: Recording, region: Region) -> set[str]:
    """The functions of others that the code beside a region calls: its image of a MIC, its object of a GPU's."""
    loaded = region.home
    if loaded is None:
        return set()
    image = recording.images[loaded.image]
    try:
        if image.kind in ("nvptx", KERNELS):
            return _of_ptx(recording, image, region, loaded.table)
        return _of_elf(recording, image)
    except Exception:  # a hint only, from a file that may have been changed by anybody
        return set()


def _of_elf(recording: Recording, image: Image) -> set[str]:
    """What a shared library takes from others."""
    elf = ElfView(recording.bytes_of(image), "image")
    tables = [section for section in elf.sections if section.type == SHT_DYNSYM]
    return {symbol.name for table in tables for symbol in elf.symbols(table) if not symbol.shndx}


def _of_ptx(recording: Recording, image: Image, region: Region, table: list[tuple[int, int]]) -> set[str]:
    """What the object with the region's kernel takes from others; all of clang's are one object."""
    index = [pair[0] for pair in table].index(region.word)
    kernel = re.compile(rb"\.entry\s+" + re.escape(functions_of(recording, image)[index].encode()) + rb"(?![\w$])")
    data, at = recording.bytes_of(image), 0
    for size in image.objects or [image.size]:
        text = data[at : at + size]
        at += size
        if kernel.search(text):
            return {name.decode().removeprefix(RENAMED) for name in EXTERN.findall(text)}
    return set()


def hints(recording: Recording, region: Region, ended: bool) -> list[str]:
    """Lines for a region that is not as recorded, or has ``ended`` its process: what may be why."""
    found = called_beside(recording, region)
    names = sorted(found & KEEPING)
    lines = []
    if names:
        called = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        lines.append(f"recording what the device's C library keeps (its image calls {called})")
    if ended and REVERSE in found:
        lines.append(f"reverse offload in a replayed region (its image calls {REVERSE})")
    return [f"not implemented: {line}: this may be why" for line in lines]
