"""C++ vtables and type information that regions get from the host, made variables of the device.

GCC 12 treats the vtable of a class that a region constructs inline as a host variable to be mapped: the device's
objects would point to a copy full of host function addresses.  The same goes for what `throw`, `typeid` and
`dynamic_cast` in a region name.  So the image's own vtables and type information of these classes get entries at the
end of its variable table, and the host object has the same entries behind the host's, with a record like any
object's: a mapping of the host's then finds the device's.  What a library defines (`typeinfo for int`, libstdc++'s
exceptions) is the library's, on the host as on the device; the runtime finds its size when the image is loaded.

Source of the mapping: GCC gimplify.cc (omp_notice_variable: a vtable is a variable like any other, and the declare
target region around the class does not reach it).
"""

from __future__ import annotations

from gompy.objects.elf import SHN_UNDEF, SHT_PROGBITS, STT_FUNC, STT_SECTION, Elf, Symbol
from gompy.objects.names import OBJECT_KIND_ID, OBJECT_RECORD_SECTION, OFFLOAD_VAR_SECTION, SIZE_UNKNOWN
from mkoffload.inputs import Described, Input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PREFIXES = ("_ZTV", "_ZTT", "_ZTI")
TARGET_CALLS = ("GOMP_target_ext", "GOMP_target_data_ext", "GOMP_target_enter_exit_data", "GOMP_target_update_ext")
NAME = "C++ vtables"


def host_uses(elf: Elf, wanted: Callable[[str], bool]) -> set[str]:
    """Names of symbols, of those wanted, that the object's functions with target constructs refer to."""
    symbols = elf.symbols()
    if not any(s.name in TARGET_CALLS for s in symbols):
        return set()
    found: set[str] = set()
    functions: dict[int, list[Symbol]] = {}
    for symbol in symbols:
        if symbol.type == STT_FUNC and symbol.shndx != SHN_UNDEF:
            functions.setdefault(symbol.shndx, []).append(symbol)
    for index, held in functions.items():
        calls: list[int] = []
        uses: list[tuple[int, str]] = []
        for offset, _, number, _ in elf.relocations(elf.sections[index]):
            name = symbols[number].name if number < len(symbols) else ""
            if name in TARGET_CALLS:
                calls.append(offset)
            elif wanted(name):
                uses.append((offset, name))
        for function in held if calls and uses else ():
            end = function.value + function.size
            if any(function.value <= at < end for at in calls):
                found.update(name for at, name in uses if function.value <= at < end)
    return found


class Candidates:
    """What some region may get from the host.

    ``names``: defined by device code, in order of definition; ``foreign``: of libraries; ``weak``: those that the
    program may turn out not to have (only archive members or LTO objects define or name them).
    """

    def __init__(self, names: list[str], foreign: list[str], weak: set[str]) -> None:
        self.names = names
        self.foreign = foreign
        self.weak = weak


def candidates(inputs: list[Input]) -> Candidates:
    """Find them.  Of an LTO object, whose host code may not be there yet, all that its IR names are taken."""
    own = [i for i in inputs if i.has_ir]
    sure: set[str] = set()
    used: set[str] = set()
    for item in own:
        if item.lto:
            used.update(
                s.name for s in item.symbols if s.name.startswith(PREFIXES) and (item.nfuncs or not item.has_tables)
            )
        else:
            found = host_uses(item.elf, lambda name: name.startswith(PREFIXES))
            used |= found
            if "@0x" not in item.name:
                sure |= found
    if not used:
        return Candidates([], [], set())
    names = dict.fromkeys(s.name for i in own for s in i.symbols if s.defined and s.name in used)
    foreign = sorted(used.difference(names, (s.name for i in inputs for s in i.symbols if s.defined)))
    firm = {s.name for i in own if not i.lto and "@0x" not in i.name for s in i.symbols if s.defined}
    weak = {n for n in names if n not in firm} | {n for n in foreign if n not in sure}
    return Candidates(list(names), foreign, weak)


def of_device_classes(inputs: list[Input]) -> list[str]:
    """Vtables that regions get from the host and whose functions are device code, of objects with host code.

    Other vtables that a function with a region names are those of the host's own part of it.
    """
    functions = {s.name for i in inputs for s in i.symbols}
    found: dict[str, None] = {}
    for item in inputs:
        symbols = [] if item.lto else item.elf.symbols()
        tables = {s.name: s for s in symbols if s.name.startswith("_ZTV") and s.shndx != SHN_UNDEF}
        for name in sorted(host_uses(item.elf, tables.__contains__)) if tables else ():
            table = tables[name]
            for offset, _, number, _ in item.elf.relocations(item.elf.sections[table.shndx]):
                if table.value <= offset < table.value + table.size and symbols[number].name in functions:
                    found[name] = None
    return list(found)


class Vtables:
    """Those vtables, with their sizes, once the device code is compiled."""

    def __init__(self, names: list[str], compiled: Elf, found: Candidates) -> None:
        sizes = {s.name: s.size for s in compiled.symbols() if s.shndx != SHN_UNDEF} if names else {}
        self.entries = [(name, str(sizes[name])) for name in names if sizes.get(name)]
        self.entries += [(name, str(SIZE_UNKNOWN)) for name in found.foreign]
        self.weak = found.weak

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def ident(self) -> int:
        """Id of their record: a hash of their names (FNV-1a), never 0."""
        value = 0xCBF29CE484222325
        for byte in "\n".join(name for name, _ in self.entries).encode():
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        return value | 1

    def described(self) -> Described:
        """Their place among the objects of the image: the last."""
        return Described(self.ident, 0, len(self.entries), OBJECT_KIND_ID, NAME)

    def table_text(self) -> str:
        """Assembly text of the entries, for the image as for the host."""
        lines = [f'\t.section {OFFLOAD_VAR_SECTION},"awR",@progbits\n\t.balign 8']
        lines += [f"\t.quad {name}, {size}" for name, size in self.entries]
        return "\n".join(lines) + "\n"

    def host_text(self) -> str:
        """The host's entries, and their record."""
        weak = "".join(f"\t.weak {name}\n" for name, _ in self.entries if name in self.weak)
        return (
            weak
            + self.table_text()
            + (
                ".Lvtables_end:\n"
                f'\t.section {OBJECT_RECORD_SECTION},"aR",@progbits\n\t.balign 8\n'
                f"\t.quad {self.ident:#x}\n\t.long 0, {len(self.entries)}\n"
                f'.Lrecord:\n\t.ascii "{NAME}"\n\t.zero 48 - (. - .Lrecord)\n'
            )
        )

    def drop(self, compiled: Elf, undefined: set[str]) -> bool:
        """Leave out the vtables from which undefined symbols can be reached; False if there is none such.

        A class of which the device has only a part (host-only methods) must not make the link fail.
        """
        symbols = compiled.symbols()
        edges: dict[int, set[int]] = {}
        lacking: set[int] = set()
        starts: dict[str, int] = {}
        for symbol in symbols:
            if symbol.shndx != SHN_UNDEF:
                starts.setdefault(symbol.name, symbol.shndx)
        for section in compiled.sections:
            for _, _, number, _ in compiled.relocations(section) if section.type == SHT_PROGBITS else ():
                symbol = symbols[number]
                if symbol.shndx != SHN_UNDEF:
                    edges.setdefault(section.index, set()).add(symbol.shndx)
                elif symbol.type != STT_SECTION and symbol.name in undefined:
                    lacking.add(section.index)
        kept = []
        for name, size in self.entries:
            seen: set[int] = set()
            waiting = [starts[name]] if name in starts else []
            while waiting:
                index = waiting.pop()
                if index not in seen:
                    seen.add(index)
                    waiting += edges.get(index, ())
            if not seen & lacking and (name in starts or name not in undefined):
                kept.append((name, size))
        dropped = len(kept) < len(self.entries)
        self.entries = kept
        return dropped
