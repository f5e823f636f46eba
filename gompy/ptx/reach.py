"""Which functions of an image its kernels can reach: by calls and by addresses, also through variables."""

from __future__ import annotations

from . import unit
from .index import FUNCTION, INFO, LINKAGES, REF, RELOC, VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .store import Store

WEAK = (LINKAGES.index("weak"), LINKAGES.index("common"))
GLOBAL = (LINKAGES.index("visible"), *WEAK)


class Facts:
    """An object's index, as far as it matters here.

    `lines`: its functions, and how many lines each has; `aliases`: their second names; `entries`: the kernels among
    them; `exports`: functions and variables that other objects see; `weak`: those of them that another object's may
    replace; `openmp`: whether kernels follow GCC's conventions for OpenMP.
    """

    def __init__(self, data: bytes, to: bytes | None = None) -> None:
        parts = unit.sections(data, "index", to)
        self.strings = parts["strings"]
        self.lines: dict[str, int] = {}
        self.aliases: dict[str, str] = {}
        self.entries: list[str] = []
        self.exports: set[str] = set()
        self.weak: set[str] = set()
        self.spans: dict[str, tuple[str, int, int]] = {}
        self.tables = {"refs": (REF, 0, parts["refs"]), "relocs": (RELOC, 1, parts["relocs"])}
        self.openmp = bool(INFO.unpack(parts["info"])[1])
        for name_at, entry, linkage, line, last, _, _, _, _, _, first, count, _, _, alias, _ in FUNCTION.iter_unpack(
            parts["functions"]
        ):
            name = self.string(name_at)
            if alias:
                place = FUNCTION.size * (alias - 1)
                self.aliases[name] = self.string(FUNCTION.unpack_from(parts["functions"], place)[0])
            else:
                self.lines[name] = last - line + 1
            self.spans[name] = ("refs", first, count)
            if entry:
                self.entries.append(name)
            if linkage in GLOBAL or entry:
                self.exports.add(name)
            if linkage in WEAK:
                self.weak.add(name)
        for name_at, _, linkage, _, _, _, _, _, first, count, _, _ in VARIABLE.iter_unpack(parts["variables"]):
            if linkage == LINKAGES.index("extern"):
                continue
            name = self.string(name_at)
            self.spans.setdefault(name, ("relocs", first, count))
            if linkage in GLOBAL:
                self.exports.add(name)
            if linkage in WEAK:
                self.weak.add(name)

    def string(self, offset: int) -> str:
        """A string of the file's table."""
        return self.strings[offset : self.strings.index(b"\0", offset)].decode("utf-8", "surrogateescape")

    def references(self, name: str) -> list[str]:
        """The names that a function, or a variable's initial value, refers to."""
        table, first, count = self.spans[name]
        shape, place, data = self.tables[table]
        return [self.string(shape.unpack_from(data, shape.size * i)[place]) for i in range(first, first + count)]


def reachable(objects: dict[str, Facts]) -> dict[str, list[str]]:
    """The functions of each object that some kernel of any of them can reach, in the object's order."""
    homes: dict[str, str] = {}
    for weak in (False, True):
        for key, facts in objects.items():
            for name in facts.exports:
                if (name in facts.weak) == weak:
                    homes.setdefault(name, key)
    todo = [(key, name) for key, facts in objects.items() for name in facts.entries]
    seen = set(todo)
    while todo:
        key, name = todo.pop()
        for other in objects[key].references(name):
            own = other in objects[key].spans and other not in objects[key].weak
            home = key if own else homes.get(other, "")
            if home and (home, other) not in seen:
                seen.add((home, other))
                todo.append((home, other))
    return {key: [name for name in facts.lines if (key, name) in seen] for key, facts in objects.items()}


def functions_of_code(store: Store, name: str) -> set[str] | None:
    """The functions that a code file and its further parts have; None if one is not there or not whole."""
    found: set[str] = set()
    part, parts = 0, 0
    while part <= parts:
        file = f"{name}+{part}" if part else name
        try:
            data = store.read(file)
            code = unit.sections(data, "code", store.subject(file))
        except (OSError, ValueError):
            return None
        if part == 0:
            parts = unit.HEADER.unpack_from(data)[6]
        strings = code["strings"]
        for offset, *_ in unit.CODE.iter_unpack(code["code"]):
            found.add(strings[offset : strings.index(b"\0", offset)].decode("utf-8", "surrogateescape"))
        part += 1
    return found
