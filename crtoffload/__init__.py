"""The crtoffload objects: crtoffloadbegin.o, crtoffloadend.o, crtoffloadtable.o, and three more of the same kind.

Written as assembly text and assembled, so that no compiler's defaults get in.  Symbols, sections, order and layout are
those of GCC's libgcc (offloadstuff.c), apart from mends: the tables are SHF_GNU_RETAIN, so that ``--gc-sections``
keeps them, and writable, and ``__OFFLOAD_TABLE__`` lies in ``.data.rel.ro``, so that a PIE gets no DT_TEXTREL.
"""

from __future__ import annotations

import os
import subprocess

from gompy.objects.names import (
    HOST_TABLE,
    OFFLOAD_FUNC_SECTION,
    OFFLOAD_IND_FUNC_SECTION,
    OFFLOAD_VAR_SECTION,
    TABLE_BOUNDS,
    TARGET_TABLE,
)

SECTIONS = (OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION, OFFLOAD_IND_FUNC_SECTION)
NOTE = '\t.section .note.GNU-stack,"",@progbits\n'


def marker(section: str, symbol: str) -> str:
    """A hidden object of size 0 in an empty table section: it marks where the linker's table begins or ends.

    Writable, as the entries' sections are (GCC's markers are not): mold keeps sections of unlike flags apart.
    """
    return (
        f'\t.section {section},"awR",@progbits\n\t.balign 8\n'
        f"\t.globl {symbol}\n\t.hidden {symbol}\n\t.type {symbol}, @object\n\t.size {symbol}, 0\n{symbol}:\n"
    )


def table(symbol: str, visibility: str, bounds: tuple[str, ...] = TABLE_BOUNDS) -> str:
    """Pointers to begin and end of each table, in relocatable read-only data.

    The last two are for GOMP_VERSION 3; runtimes read no more than the version that a host object registers with has.
    """
    size = 8 * len(bounds)
    return (
        '\t.section .data.rel.ro.local,"aw",@progbits\n\t.balign 32\n'
        f"\t.globl {symbol}\n{visibility}\t.type {symbol}, @object\n\t.size {symbol}, {size}\n{symbol}:\n"
        + "".join(f"\t.hidden {bound}\n\t.quad {bound}\n" for bound in bounds)
    )


def markers(symbols: tuple[str, ...]) -> str:
    """One for each table."""
    return "".join(marker(section, symbol) for section, symbol in zip(SECTIONS, symbols, strict=True))


BEGIN = markers(TABLE_BOUNDS[::2])
END = markers(TABLE_BOUNDS[1::2])
LAST = "gompy_offload_funcs_end", "gompy_offload_vars_end", "gompy_offload_ind_funcs_end"
DSO_HANDLE = (
    '\t.section .data.rel.ro.local,"aw",@progbits\n\t.balign 8\n\t.globl __dso_handle\n\t.hidden __dso_handle\n'
    "\t.type __dso_handle, @object\n\t.size __dso_handle, 8\n__dso_handle:\n\t.quad __dso_handle\n"
)
"""C++ objects with destructors pass its address to __cxa_atexit; crtbeginS.o, which has it, is not in an image."""
FINALISE = (
    "\t.text\n\t.type gompy_finalise, @function\ngompy_finalise:\n\t.cfi_startproc\n\tendbr64\n"
    "\t.hidden __dso_handle\n\tleaq __dso_handle(%rip), %rdi\n\tjmp __cxa_finalize@PLT\n\t.cfi_endproc\n"
    "\t.size gompy_finalise, .-gompy_finalise\n"
    '\t.section .fini_array,"aw",@fini_array\n\t.balign 8\n\t.quad gompy_finalise\n'
)
"""Runs the destructors of the image's objects when it is unloaded, as crtbeginS.o does."""

OBJECTS = {
    "crtoffloadbegin.o": BEGIN + NOTE,
    "crtoffloadend.o": END + NOTE,
    "crtoffloadtable.o": table(HOST_TABLE, f"\t.hidden {HOST_TABLE}\n") + NOTE,
    "crtoffloadlast.o": (
        markers(LAST)
        + table(
            HOST_TABLE,
            f"\t.hidden {HOST_TABLE}\n",
            tuple(bound for pair in zip(TABLE_BOUNDS[::2], LAST, strict=True) for bound in pair),
        )
        + NOTE
    ),
    "imgbegin.o": BEGIN + table(TARGET_TABLE, f"\t.protected {TARGET_TABLE}\n") + DSO_HANDLE + NOTE,
    "imgend.o": END + NOTE,
    "imgfini.o": FINALISE + NOTE,
}
"""Name → assembly text.  imgbegin.o and imgend.o stand first and last in the link of an intelmic image.

crtoffloadlast.o is the table for linkers that put host LTO's objects behind crtoffloadend.o: it brings end marks of its
own and stands behind them."""


def write_all(outdir: str | os.PathLike[str], assembler: str = "as") -> None:
    """Write the objects into ``outdir`` (made if missing).  Raises RuntimeError with the assembler's message."""
    directory = os.fspath(outdir)
    os.makedirs(directory, exist_ok=True)
    for name, text in OBJECTS.items():
        target = os.path.join(directory, name)
        part = f"{target}.{os.getpid()}"
        done = subprocess.run([assembler, "--64", "-o", part, "-"], input=text, text=True, capture_output=True)
        if done.returncode:
            raise RuntimeError(f"crtoffload: {name}: {assembler}: {done.stderr.strip()}")
        os.replace(part, target)
