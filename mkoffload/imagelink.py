"""ld's part of the image: which libraries, and what is a constructor no more.

The libraries are those of the host's link path: the emulated device runs the host's own instruction set and C library.
"""

from __future__ import annotations

import os

from gompy.objects.elf import (
    SHF_EXCLUDE,
    SHF_GNU_RETAIN,
    SHN_UNDEF,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_PREINIT_ARRAY,
    SHT_PROGBITS,
    STT_FILE,
    STT_SECTION,
    Elf,
    Symbol,
)
from gompy.objects.lto import with_flags
from gompy.objects.names import OFFLOAD_FUNC_SECTION, OFFLOAD_IND_FUNC_SECTION, OFFLOAD_VAR_SECTION

CONSTRUCTORS = (SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY)
SANITIZER_ARRAYS = (".init_array.00099", ".fini_array.00099")
"""Constructors of -fsanitize=address: programs cannot have this priority (GCC asan.cc, asan_finish_file)."""
RUNTIMES = (
    ("stdc++", ("_Z", "__cxa_", "__gxx_", "__dynamic_cast")),
    ("gfortran", ("_gfortran",)),
    ("quadmath", ("quadmath",)),
    ("gomp", ("GOMP_", "GOACC_", "omp_", "acc_")),
    ("asan", ("__asan_",)),
    ("ubsan", ("__ubsan_",)),
    ("gcov", ("__gcov_",)),
)
"""Library → beginnings of the symbols that call for it.  To open libstdc++ and libgfortran for every image costs more
than the rest of the link."""
BASE = ("m", "gcc_s", "c")
SHADOWS = ("asan", "ubsan", "gcov")
"""Those that define, or intercept, what the C library has as well: never on mere suspicion."""


def wanted_libraries(undefined: list[str]) -> list[str]:
    """The libraries that these undefined symbols probably need, in link order."""
    chosen = [name for name, starts in RUNTIMES if any(symbol.startswith(starts) for symbol in undefined)]
    return [*chosen, *BASE]


def few_libraries(undefined: list[str]) -> list[str]:
    """Those of ``wanted_libraries`` without the C library, which ld takes longer to open than all else together, where
    each symbol is one of another library's."""
    starts = tuple(start for _, starts in RUNTIMES for start in starts)
    wanted = wanted_libraries(undefined)
    return wanted[: -len(BASE)] if all(symbol.startswith(starts) for symbol in undefined) else wanted


def all_libraries(undefined: list[str]) -> list[str]:
    """Every library that an image may need, those that shadow others only if their own symbols call for them."""
    wanted = wanted_libraries(undefined)
    return [name for name, _ in RUNTIMES if name in wanted or name not in SHADOWS] + list(BASE)


def library_arguments(library_path: str, libraries: list[str] | tuple[str, ...]) -> list[str]:
    """-L and -l arguments: the folders of the host's link path, and those of the libraries that are there."""
    directories: list[str] = []
    for directory in library_path.split(":"):
        if directory and os.path.isdir(directory):
            real = os.path.realpath(directory)
            if real not in directories:
                directories.append(real)
    present = [
        f"-l{name}"
        for name in libraries
        if any(os.path.exists(f"{d}/lib{name}.so") or os.path.exists(f"{d}/lib{name}.a") for d in directories)
    ]
    return [f"-L{d}" for d in directories] + ["--as-needed", *present]


def undefined_symbols(symbols: list[Symbol]) -> list[str]:
    """Names of the global symbols that the file does not define."""
    return [s.name for s in symbols if s.shndx == SHN_UNDEF and s.name and s.type not in (STT_SECTION, STT_FILE)]


def neutralised(elf: Elf, initialisers: set[str]) -> bytes:
    """The compiled device code with its tables kept and its constructors made no constructors.

    ``.init_array`` and its like become excluded plain data, so that they are no roots of the garbage collection either:
    what only host constructors reach is dropped from the image.  ``initialisers``: functions that stay constructors.
    """
    data = bytearray(elf.data)
    left: set[int] = set()
    if initialisers:
        from mkoffload.initialisers import kept

        left = kept(data, elf, initialisers)
    changes: dict[int, tuple[int, int]] = {}
    for section in elf.sections:
        if section.name in SANITIZER_ARRAYS and any(s.name.startswith("__asan_") for s in elf.symbols()):
            continue  # makes the image's variables known to libasan
        if section.index in left:
            continue
        if section.type in CONSTRUCTORS or section.name.startswith((".ctors", ".dtors", ".preinit_array")):
            changes[section.index] = (SHT_PROGBITS, section.flags | SHF_EXCLUDE)
        elif section.name in (OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION, OFFLOAD_IND_FUNC_SECTION):
            changes[section.index] = (section.type, section.flags | SHF_GNU_RETAIN)
    data = bytearray(with_flags(bytes(data), elf, changes))
    if any(section.name == ".debug_line" for section in elf.sections):
        from mkoffload.debuglines import with_file_zero
        from mkoffload.dropped import with_open_functions

        with_file_zero(data, elf)
        with_open_functions(data, elf)
    return bytes(data)
