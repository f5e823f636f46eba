"""What the program calls the memory at an address: by DWARF, with the frame and the variables that the log has."""

from __future__ import annotations

import os

from gompy import NATIVE
from gompy.abi.check_log import Entry, Op
from gompy.check.dwarf import MOST_ELEMENTS, Source, Variable, is_vector
from gompy.check.log import Event, Frame, Log
from gompy.check.passed import passed
from gompy.objects.debug_files import with_dwarf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass, replace
    from typing import Final
else:
    from gompy.records import dataclass, replace

LARGEST: Final = 1 << 28
FARTHEST: Final = 1 << 30
HEAD: Final = 16
WORD: Final = 8
PAGE: Final = 4096
OURS: Final = f"{os.path.realpath(NATIVE)}/"
"""Bytes of a file beyond which its DWARF is not read; how far behind a pointer's value what it points to may reach;
bytes that malloc has between two blocks; those of a pointer, and of a page; where our own
libraries are, with variables that no program maps."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the program; ``line`` 0: not known."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file or "?"


@dataclass(slots=True)
class Module:
    """A file that is loaded."""

    path: str
    start: int
    end: int
    base: int  # of its first segment


def _is_new(event: Event) -> bool:
    return event.op == Op.ENTRY and bool(event.flags & Entry.NEW)


def given_name(event: Event) -> str:
    """The list item that an entry stands for, ``a[0:n]``, as clang has written it into the program; else empty."""
    return event.payload.decode("utf-8", "replace") if event.op in (Op.ENTRY, Op.UPDATE, Op.ABSENT) else ""


class Names:
    """Names of one run; ``peek``: the word at an address of the program while that runs, or None."""

    def __init__(self, log: Log, peek: Callable[[int], int | None] | None = None) -> None:
        self.log = log
        self.peek = peek
        self.modules: list[Module] = []
        self.closed: list[Module] = []  # in the order in which they went
        self.sources: dict[tuple[str, int], Source | None] = {}
        self.words: dict[int, int] = {}
        self.elements: dict[int, Variable] = {}
        self.count = 0  # of records that have been met
        self.later: list[Callable[[], object]] = []  # what asks for DWARF, until somebody does
        self._met: dict[int, dict[tuple[int, int], tuple[int, Event]]] = {}
        self._visible: dict[int, list[Variable]] = {}
        self._global: list[Variable] | None = None
        self._take_maps()
        self._take_words(self.log.events)

    def more(self, events: list[Event]) -> None:
        """The log has more records; variables may have other values now."""
        if not self.modules:
            self._take_maps()
        self._take_words(events)
        self._global = None

    def _take_maps(self) -> None:
        seen: dict[str, int] = {}
        for line in self.log.maps.split("\n"):
            words = line.split(None, 5)
            if len(words) == 6 and words[5].startswith("/"):
                start, _, end = words[0].partition("-")
                path = words[5]
                if "\\012" in path and not os.path.exists(path):  # all that the kernel writes in another way
                    path = path.replace("\\012", "\n")
                base = seen.setdefault(path, int(start, 16) - int(words[2], 16))
                self.modules.append(Module(path, int(start, 16), int(end, 16), base))
        self.closed = [Module(path, start, end, start) for path, start, end in self.log.closed]

    def _take_words(self, events: list[Event]) -> None:
        for event in events:
            if event.op == Op.COPY and len(event.payload) >= 8:
                for at in range(0, len(event.payload) - 7, 8):
                    self.words[event.start + at] = int.from_bytes(event.payload[at : at + 8], "little")

    def _gone(self, frame: Frame) -> Module | None:
        """The library of a frame's code, if it was closed later: others may have come in its place."""
        pc = frame.pc - 1
        return next((m for m in self.closed[frame.closed :] if m.start <= pc < m.end), None)

    def source_of(self, frame: Frame) -> Source | None:
        """The DWARF of the file that a frame's code is in."""
        module = self._gone(frame) or next((m for m in self.modules if m.start < frame.pc <= m.end), None)
        return self._open(module) if module is not None else None

    def source(self, address: int) -> Source | None:
        """The DWARF of the file that is loaded at an address; None where several have been, one after the other."""
        found = [m for m in (*self.modules, *self.closed) if m.start <= address < m.end]
        return self._open(found[0]) if len({(m.path, m.base) for m in found}) == 1 else None

    def _open(self, module: Module) -> Source | None:
        """The DWARF of a file; None: of the system's, or unknown."""
        if module.path.startswith(("/lib/", "/lib64/", "/usr/lib/")):
            return None
        key = module.path, module.base
        if key not in self.sources:
            self.sources[key] = None
            try:
                if os.path.getsize(module.path) <= LARGEST:
                    with open(module.path, "rb") as file:
                        data = with_dwarf(file.read(), module.path, LARGEST)
                    source = Source(data, module.base)
                    source.base -= source.limits[0] & -PAGE  # all of it in a program at fixed addresses
                    self.sources[key] = source
            except Exception:  # pyelftools meets damage with whatever its parsers raise
                return None
        return self.sources[key]

    def place(self, address: int, frame: Frame | None = None) -> Place:
        """The line of the code at an address, or of a frame's."""
        source = self.source_of(frame) if frame is not None else self.source(address)
        try:
            return Place(*source.line(address)) if source is not None else Place()
        except Exception:  # as above
            return Place()

    def place_of(self, event: Event | None) -> Place:
        """The line of the construct that a record is of."""
        frame = event.frame if event is not None else None
        return self.place(frame.pc - 1, frame) if frame is not None else Place()

    def function(self, address: int) -> str:
        """The function that begins at an address, as its file has it; empty: not known."""
        source = self.source(address) if address else None
        try:
            return source.function(address) if source is not None else ""
        except Exception:  # as above
            return ""

    def word(self, address: int, frame: Frame | None) -> int | None:
        """The word at an address, from the frame, the program's variables, or what was copied."""
        self.settle()
        value = frame.word(address) if frame is not None else None
        if value is None:
            value = self.words.get(address)
        at = address - self.log.data_start
        if value is None and 0 <= at <= len(self.log.data) - 8:
            value = int.from_bytes(self.log.data[at : at + 8], "little")
        if value is None and self.peek is not None:
            value = self.peek(address)
        return value

    def settle(self) -> None:
        """Do what has waited until a name is asked for, in its order: most runs ask for none, and read no DWARF."""
        waiting, self.later = self.later, []
        for step in waiting:
            step()

    def variables(self, frame: Frame | None) -> list[Variable]:
        """What is visible in a frame: its locals, then globals."""
        self.settle()
        found: list[Variable] = []
        try:
            if frame is not None:
                if id(frame) not in self._visible:
                    self._visible[id(frame)] = list(self._visible_at(frame))
                found += self._visible[id(frame)]
            if self._global is None:
                self._global = list(self._globals())
            found += self._global
        except Exception:  # pyelftools, as above
            pass
        return found

    def _globals(self) -> Iterator[Variable]:
        """The program's, then those of its libraries, but for ours; a file with damage costs its own alone."""
        start = self.log.data_start
        if not start and self.peek is not None and self.modules:
            start = self.modules[0].start  # the program, which comes first
        main = self.source(start) if start else None
        libraries = (module for module in self.modules if not module.path.startswith(OURS))
        for source in dict.fromkeys((main, *map(self._open, libraries))):
            if source is not None:
                try:
                    yield from source.globals(lambda a: self.word(a, None))
                except Exception:  # pyelftools, as above
                    continue

    def _visible_at(self, frame: Frame) -> Iterator[Variable]:
        """Locals; and of a library that has been closed its globals, which were there then."""
        source = self.source_of(frame)
        if source is not None:
            own = list(source.locals(frame, lambda a: self.word(a, frame)))
            yield from own
            yield from self._passed(source, frame, {variable.name for variable in own})
            gone = self._gone(frame)
            if gone is not None and all(m.path != gone.path or m.base != gone.base for m in self.modules):
                yield from source.globals(lambda a: self.word(a, frame))

    def _passed(self, source: Source, frame: Frame, known: set[str]) -> list[Variable]:
        """What else a frame's function was called with; nothing if its caller's file has damage."""
        of_caller = self.source_of(frame.caller) if frame.caller is not None else None
        if of_caller is None:
            return []
        try:
            return list(passed(source, frame, of_caller, lambda a: self.word(a, frame.caller), known))
        except Exception:  # pyelftools, as above
            return []

    def at(self, start: int, size: int, frame: Frame | None, begins: bool = False) -> str:
        """The variable at a host address, or the pointer to what is there; empty: not known.

        ``begins``: a block of the heap begins there.
        """
        visible = self.variables(frame)
        best: Variable | None = None
        for variable in visible:
            # The outermost object that is not larger than what is asked for, else the innermost around it.
            if variable.behind and size > variable.size:
                continue  # the structure is meant, not its first member
            if variable.address <= start < variable.address + variable.size and (
                best is None or best.address < start or best.size > max(size, 1) >= variable.size
            ):
                best = variable
        if best is not None:
            return best.name
        return self.pointer(start, visible, frame, begins)

    def pointer(self, start: int, visible: list[Variable], frame: Frame | None, begins: bool = False) -> str:
        """The pointer whose value is nearest below an address, or the array of unknown size that begins there.

        What is before a block of the heap is another one, but for an array that a program counts from 1.  Of several
        the function's own, not a member of what one of them points to, nor a vector's: ``p`` in ``int *p = v.data ()``.
        """
        name, nearest = "", FARTHEST
        for variable in sorted(visible, key=lambda variable: bool(variable.behind) or is_vector(variable.name)):
            if variable.points or variable.endless:
                value = self.begin(variable, frame)
                reach = min(nearest, min(variable.element, HEAD) + 1) if begins else nearest
                if value and 0 <= start - value < reach:
                    name, nearest = variable.name, start - value
                for number, value in self.others(variable):
                    if 0 <= start - value < min(reach, nearest):
                        name, nearest = variable.nth(number), start - value
        return name

    def pointer_to(self, address: int, frame: Frame | None) -> str:
        """The variable of a frame, or of the program, that has an address of a device."""
        return self.pointer(address, self.variables(frame), frame)

    def others(self, variable: Variable) -> Iterator[tuple[int, int]]:
        """Values of the same pointer in further elements of what one points to, as far as they were copied."""
        for number in range(1, MOST_ELEMENTS if variable.stride else 0):
            value = self.words.get(variable.address + number * variable.stride)
            if value is None:
                return
            if value:
                yield number, value

    def is_pointer(self, start: int, frame: Frame | None) -> bool:
        """Whether a pointer of the program's is at an address."""
        return any(v.address == start and v.points and v.value is None for v in self.variables(frame))

    def attached(self, pointer: Event, item: Event) -> str:
        """A pointer is attached to the item before it: its name in an array of structures, ``q[3].w``; else empty."""
        for variable in self.variables(pointer.frame):
            distance = pointer.start - variable.address
            if not variable.stride or not 0 < distance < FARTHEST or distance % variable.stride:
                continue
            name = variable.nth(distance // variable.stride)
            self.words[pointer.start] = item.start - pointer.size
            self.elements[item.start] = replace(variable, name=name, address=pointer.start)
            return name
        return ""

    def begin(self, variable: Variable, frame: Frame | None) -> int | None:
        """Where an array begins, or what a pointer points to; None where that is not known."""
        if variable.value is not None:
            return variable.value
        return self.word(variable.address, frame) if variable.points else variable.address

    def section(self, event: Event) -> str:
        """``a[0:16]``, in C's words where the elements are known, else what ``of`` says."""
        name, given = self.of(event), given_name(event)
        if given.endswith("]"):
            return given
        variable = self._called(name, event)
        if variable is None or not variable.element or not event.size:
            return name
        base: int | None = variable.address
        if given and not variable.points:
            # clang's list item is the whole variable; where arguments are pushed its DWARF tells of another place.
            base = event.start
        elif variable.points:
            if variable.address <= event.start < variable.address + variable.size:
                return name  # the pointer itself
            base = self.begin(variable, event.frame)
        if base is None or (event.start - base) % variable.element or event.size % variable.element:
            return name
        return f"{name}[{(event.start - base) // variable.element}:{event.size // variable.element}]"

    def item(self, event: Event, name: str) -> str:
        """What a clause says of a variable: its name, or of what a pointer points to the section."""
        variable = self._called(name, event)
        return self.section(event) if variable is not None and variable.points else name

    def _called(self, name: str, event: Event) -> Variable | None:
        self.settle()
        element = self.elements.get(event.start)
        if element is not None and element.name == name:
            return element
        return next((v for v in self.variables(event.frame) if v.name == name), None)

    def of(self, event: Event) -> str:
        """What a record is about; remembered for its address."""
        name = self._found(event)
        if not name:
            return self.known_at(event.start)
        self.met(event)
        return name

    def met(self, event: Event) -> None:
        """The same, where nobody has asked yet: it is looked for when somebody does."""
        self.count += 1
        met = self._met.setdefault(event.start, {})
        where = event.frame.pc if event.frame is not None else 0, event.op
        before = met.pop(where, None)  # of a place's records the last one counts
        met[where] = before[0] if before is not None else self.count, event

    def known_at(self, start: int, until: int | None = None) -> str:
        """What the last record about an address was about of which that is known; empty: of none.

        ``until``: of places that had been met when there were so many records.
        """
        for first, event in reversed(self._met.get(start, {}).values()):
            name = self._found(event) if until is None or first <= until else ""
            if name:
                return name
        return ""

    def then(self, event: Event, until: int) -> str:
        """What an earlier record was about, by what was known then: later ones may take it for something else."""
        return self._found(event) or self.known_at(event.start, until)

    def _found(self, event: Event) -> str:
        """What a record is about by itself; empty: not known."""
        self.settle()
        given = given_name(event)
        name = given.partition("[")[0] if given.endswith("]") else given
        if not name and event.start in self.elements and not _is_new(event):
            name = self.elements[event.start].name
        return name or self.at(event.start, event.size, event.frame, self._begins_block(event))

    def _begins_block(self, event: Event) -> bool:
        """Whether a block of the heap begins there, as far as that was known when it was mapped."""
        met = [event] if _is_new(event) else (of for _, of in reversed(self._met.get(event.start, {}).values()))
        return any(_is_new(of) and of.flags & Entry.BLOCK for of in met)
