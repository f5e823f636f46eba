"""Constructors of C++ ``declare target`` variables: which of the host's initialisers the device can run.

GCC 12 has one function of initialisers for a translation unit, of host variables as of device variables (GCC 15 makes
one for the device alone: cp/decl2.cc, emit_partial_init_fini_fn).  The host's must not run as a whole: what it prints,
opens or registers would happen twice.  A function that initialises device variables and does nothing else may.
Whether that is so is read from gcc's own listing of it (-fdump-tree-optimized), statement by statement: every call
must have to do with a device variable, and no variable of the host's may stand in it.
"""

from __future__ import annotations

import os
import struct

from gompy.objects.elf import (
    RELA,
    SHDR,
    SHN_UNDEF,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_RELA,
    STT_FUNC,
    Elf,
    Symbol,
    open_object,
)
from gompy.objects.entrynames import Namer
from gompy.objects.names import OFFLOAD_LTO_SECTION_PREFIX
from gompy.objects.naming import INITIALISERS, Names, base_name
from gompy.tools.process import Child
from mkoffload.inputs import Input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mkoffload.listing import Initialiser

LISTING = "-fdump-tree-optimized-lineno-asmname"
NO_MERGING = "-fdisable-ipa-cdtor"
"""lto1 makes one function of all units' initialisers; notes that it was told not to."""


def _of_arrays(elf: Elf, types: Sequence[int] = (SHT_INIT_ARRAY,)) -> list[str]:
    """Names of the functions in the file's constructor arrays, or those of other types."""
    arrays = [s for s in elf.sections if s.type in types and s.size and not s.name.endswith(".00099")]
    if not arrays:
        return []
    namer = Namer(elf, elf.symbols())
    found = [namer.name(symbol, addend) for array in arrays for _, _, symbol, addend in elf.relocations(array)]
    return [name for name in found if name is not None]


def device_functions(inputs: Sequence[Input]) -> set[str]:
    """Constructor and destructor functions (attributes) that are the device's: those of ``declare target``.

    gcc writes streams of those for accelerators.  Names that another unit has for one of the host's alone are left out.
    """
    own: set[str] = set()
    others: set[str] = set()
    for item in inputs:
        names = set(_of_arrays(item.elf, (SHT_INIT_ARRAY, SHT_FINI_ARRAY)))
        start = OFFLOAD_LTO_SECTION_PREFIX
        streams = {s.name[len(start) :].rsplit(".", 2)[0] for s in item.elf.sections if s.name.startswith(start)}
        own |= names & streams if names else set()
        others |= names - streams
    return own - others


def of_image(compiled: Elf, functions: set[str]) -> set[str]:
    """The names that these have in the arrays of the compiled device code."""
    return {n for n in _of_arrays(compiled, (SHT_INIT_ARRAY, SHT_FINI_ARRAY)) if base_name(n) in functions}


def concerned(elf: Elf, device: Names) -> list[str]:
    """Constructors of the file, if any of them refers to one of those device variables; else none."""
    wanted = {base_name(name) for name in device if name is not None}
    names = _of_arrays(elf) if wanted else []
    if not names:
        return []
    symbols = elf.symbols()
    namer = Namer(elf, symbols)
    chosen = [s for s in symbols if s.type == STT_FUNC and (s.name in names or s.name.startswith(INITIALISERS))]
    for index in {s.shndx for s in chosen if s.shndx != SHN_UNDEF}:
        held = [s for s in chosen if s.shndx == index]
        for offset, _, number, addend in elf.relocations(elf.sections[index]):
            if any(s.value <= offset < s.value + s.size for s in held) and _refers(
                symbols[number], namer, addend, wanted
            ):
                return names
    return []


def _refers(symbol: Symbol, namer: Namer, addend: int, wanted: set[str]) -> bool:
    """Whether a relocation names a wanted variable, or a place in it (less what follows in the instruction)."""
    if base_name(symbol.name) in wanted:
        return True
    for variable in namer.symbols if not symbol.name and symbol.shndx != SHN_UNDEF else ():
        near = variable.value - 8 <= symbol.value + addend < variable.value + variable.size
        if near and variable.shndx == symbol.shndx and base_name(variable.name) in wanted:
            return True
    return False


def kept(data: bytearray, elf: Elf, names: set[str]) -> set[int]:
    """Leave only those functions in the constructor arrays, in ``data``; indices of the arrays that are not empty.

    The destructors that such a function leaves to -fno-use-cxa-atexit stay with it.
    """
    left: set[int] = set()
    namer = Namer(elf, elf.symbols())
    wanted = names | {name.replace("_GLOBAL__sub_I_", "_GLOBAL__sub_D_") for name in names}
    for rela in elf.sections:
        if rela.type != SHT_RELA or rela.info >= len(elf.sections):
            continue
        array = elf.sections[rela.info]
        if array.type not in (SHT_INIT_ARRAY, SHT_FINI_ARRAY):
            continue
        count = 0
        for at in range(rela.offset, rela.offset + rela.size, RELA.size):
            _, kind, symbol, addend = RELA.unpack_from(elf.data, at)
            if namer.name(symbol, addend) in wanted:
                RELA.pack_into(data, rela.offset + count * RELA.size, 8 * count, kind, symbol, addend)
                count += 1
        if count:
            left.add(array.index)
            struct.pack_into("<Q", data, elf.shoff + array.index * SHDR.size + 32, 8 * count)
            struct.pack_into("<Q", data, elf.shoff + rela.index * SHDR.size + 32, RELA.size * count)
    return left


def warnings(found: Iterable[Initialiser], device: str, env: Mapping[str, str]) -> list[str]:
    """A message for each variable that the device will not have initialised, names of C++ as their user knows them."""
    messages = []
    for item in found:
        for variable, place in item.variables.items() if item.cause else ():
            where = f"{place[2:-1]}: " if place else ""
            messages.append(
                f"{where}‘{variable}’ is initialised when the program runs, and stays zero on {device}: {item.cause}; "
                f"copy the host's by ‘target update to’, or give it its value in a target region"
            )
    if not messages:
        return []
    from mkoffload.undefined import demangled

    return demangled(messages, env)


def in_objects(inputs: Sequence[Input], device: Names, folder: str, env: dict[str, str]) -> list[Initialiser]:
    """The host's initialisers of those device variables, in objects whose device code comes without them.

    An accelerator compiler gets no function of initialisers (GCC 12 streams what regions reach); gcc's own lto1 tells
    what is in the host's, where gompcc has kept its streams.
    """
    found: list[Initialiser] = []
    if not device:
        return found
    for index, given in enumerate(inputs):
        item = given
        slim = item.lto and any(s.name.startswith(f"{item.prefix}_GLOBAL__sub_I_") for s in item.elf.sections)
        if item.prefix is None or not (slim or concerned(item.elf, device)):
            continue
        item = given.for_host()
        item.extract(folder, index)
        listing = os.path.join(folder, f"{index}.listing")
        words = [os.environ["COLLECT_GCC"], "-xlto", "-c", item.device_file, "-o", listing + ".o", "-w", NO_MERGING]
        if Child([*words, f"{LISTING}={listing}"], env, capture_stderr=True).wait()[0]:
            continue
        from mkoffload.listing import reader

        elf = open_object(listing + ".o")
        with open(listing, encoding="utf-8", errors="replace") as file:
            read = reader(file.read(), elf, device)
        for function in _of_arrays(elf):
            unit = read.read(function)
            unit.cause = "this compiler has no device code of initialisers"
            found += [unit] if unit.variables else []
    return found
