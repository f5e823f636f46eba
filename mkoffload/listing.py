"""gcc's listing of initialisers (-fdump-tree-optimized), read statement by statement: what they concern.

Every call must have to do with a device variable, and no variable of the host's may stand in what the device runs
(mkoffload/initialisers.py has the whole).
"""

from __future__ import annotations

import os
import re

from gompy.objects.elf import SHF_WRITE, SHN_UNDEF, STT_OBJECT, Elf, Symbol
from gompy.objects.naming import INITIALISERS, Names, base_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PLACE = re.compile(r"\[([^\[\]\s][^\[\]]*?):(\d+):\d+(?: discrim \d+)?\] ?")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_CAST = re.compile(r"\((?:const |volatile |struct |union |class )*[\w.$ ]+(?: \*+|&)+\)|MEM <[^>]*>|<[^>]*>")
_AFTER = re.compile(r";(?: \[[^\[\]]*\])+$")
"""What follows a call: ``[tail call]``, ``[return slot optimization]``."""
_CALL = re.compile(r"^(?:[^=()]+ = )?\(?([A-Za-z_.$][\w.$]*) \(")
_TOKEN = re.compile(r"(?<![\w.$])[A-Za-z_$][\w.$]*")
_DECLARED = re.compile(r"^  [^#\[<(=]*?([\w.$]+)(?:\[[^\]]*\])*;$")
_NO_EFFECT = ("__builtin_", "_Unwind_", "__cxa_guard", "__cxa_begin", "__cxa_end", "__cxa_rethrow", "_ZSt9terminatev")
_OF_IOSTREAM = "_ZStL8__ioinit"
_DEVICE_PART = ("_Z42__omp_target_static_init_and_destruction_0", "__omp_tcf")
"""What GCC 15 and later make of a file's initialisers for devices alone (cp/decl2.cc)."""
_CLONE = re.compile(r"\.(?:constprop|isra|part)\.\d+$")


class Initialiser:
    """A function of initialisers.  ``variables``: of the device, with the place of each, that it initialises.

    ``cause``: why it cannot run there, and the place of that; empty if it can.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.variables: dict[str, str] = {}
        self.cause = ""


def bodies(listing: str) -> dict[str, list[str]]:
    """Assembler name → lines of each function in gcc's listing."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in listing.splitlines():
        if line.startswith(";; Function "):
            head = line.partition(", funcdef_no=")[0].rpartition("(")[2]
            lines = found[head] = []
        else:
            lines.append(line)
    return found


class Reader:
    """Reads functions of initialisers in a listing.  ``symbols``: of the file that was compiled with it."""

    def __init__(self, listing: str, symbols: Iterable[Symbol], sections: list[bool], device: Names) -> None:
        self.bodies = bodies(listing)
        self.device = {base_name(name) for name in device if name is not None}
        self.host = {
            base_name(s.name)
            for s in symbols
            if s.type == STT_OBJECT and (s.shndx >= len(sections) or s.shndx == SHN_UNDEF or sections[s.shndx])
        }
        self.unknown = {base_name(s.name) for s in symbols if s.shndx == SHN_UNDEF and s.name}
        self.host -= self.device
        self.host = {name for name in self.host if not name.startswith(("_ZT", "_ZGV", _OF_IOSTREAM))}

    def read(self, name: str) -> Initialiser:
        """One function, with those that it is made of."""
        result = Initialiser(name)
        groups = Groups()
        steps: list[Step] = []
        waiting, seen = [name], {name}
        if name not in self.bodies:
            result.cause = "gcc does not list them"
        while waiting:
            current = waiting.pop()
            for made_of in self._read_body(current, result, groups, steps):
                if made_of not in seen and made_of in self.bodies:
                    seen.add(made_of)
                    waiting.append(made_of)
        alive = {groups.root(variable) for variable in (*self.device, _OF_IOSTREAM)}
        for index, step in enumerate(steps):
            if result.cause or not step.called or groups.root(step.member) in alive or step.decides:
                continue
            before = next((other.variable for other in reversed(steps[:index]) if other.variable), "")
            after = next((other for other in steps[index:] if other.variable), step)
            if not before or before != after.variable or not after.changes:
                result.cause = f"the same initialisers call ‘{step.called}’{step.place}"
        return result

    def _read_body(self, name: str, result: Initialiser, groups: Groups, steps: list[Step]) -> list[str]:
        """Read the statements of one function; names of those that it is made of."""
        decisions = {
            word
            for line in self.bodies.get(name, [])
            if " if (" in f" {line}"
            for word in re.findall(r"[\w.$]*_\d+\b", line)
        }
        locals_: set[str] = set()
        made_of: list[str] = []
        for line in self.bodies.get(name, []):
            declared = _DECLARED.match(line)
            if declared is not None:
                locals_.add(declared[1])
                continue
            places = _PLACE.findall(line)
            place = f" ({os.path.basename(places[0][0])}:{places[0][1]})" if places else ""
            text = _STRING.sub('""', _PLACE.sub("", line)).strip()
            if "= PHI <" in text:
                text = text.lstrip("# ").replace("= PHI <", "= PHI (") + ";"
            text = _AFTER.sub(";", _CAST.sub(" ", text))
            if not text.endswith(";") or text.startswith(("# DEBUG", "return", "goto", "if ")):
                continue
            step = Step(place)
            call = _CALL.match(text)
            called = call[1] if call is not None else ""
            if called.startswith("__builtin_") and called not in ("__builtin_puts", "__builtin_printf"):
                called = ""
            tokens = _TOKEN.findall(text)
            # A destructor of an array's elements is all that array's.
            members = [f"{name}:"] if name.startswith(("__tcf", "__omp_tcf")) else []
            members += [f"{name}:{token}" for token in tokens if self._is_local(token, locals_)]
            members += [f"{name}:{token}" for token in re.findall(r"(?<![\w.$])_\d+\b", text)]
            for token in map(base_name, tokens):
                plain = token.partition(".")[0] if token not in self.device | self.host else token
                if plain in self.device:
                    members.append(plain)
                    step.variable = plain
                    step.changes = self._note(plain, text, called, place, result)
                elif plain.startswith(_OF_IOSTREAM):
                    members.append(_OF_IOSTREAM)
                elif plain.startswith("_ZGV") and self._guarded(plain):
                    continue
                elif plain in self.host or (plain in self.unknown and f"&{plain}" in text and plain != "__dso_handle"):
                    result.cause = result.cause or f"the same initialisers use ‘{plain}’{place}"
            parts = [token for token in tokens if token.startswith((*INITIALISERS, *_DEVICE_PART))]
            parts += [called] if self._is_for_one_variable(called) else []
            made_of += parts
            groups.join(members)
            if called and not called.startswith((*_NO_EFFECT, *INITIALISERS)) and not parts:
                step.called, step.member = called, members[0] if members else f"{name}:"
                step.decides = " = " in text and text.partition(" = ")[0] in decisions
            steps.append(step)
        return made_of

    def _is_for_one_variable(self, called: str) -> bool:
        """Whether gcc has copied a function for this call, with a device variable in it instead of an argument."""
        if not _CLONE.search(called):
            return False
        words = {base_name(word) for line in self.bodies.get(called, []) for word in re.findall(r"&?([\w$]+)", line)}
        return not words.isdisjoint(self.device)

    @staticmethod
    def _is_local(token: str, declared: set[str]) -> bool:
        return token in declared or token.rpartition("_")[0] in declared or token.partition(".")[0] in declared

    def _guarded(self, guard: str) -> bool:
        return "_Z" + guard[4:] in self.device

    @staticmethod
    def _note(variable: str, text: str, called: str, place: str, result: Initialiser) -> bool:
        """Enter a variable that the statement changes: it is assigned to, or a function gets its address."""
        target = text.partition(" = ")[0] if " = " in text and not called else ""
        changed = any(variable in (base_name(t), t.partition(".")[0]) for t in _TOKEN.findall(target))
        changed |= f"&{variable}" in text
        if changed and (called == "__cxa_atexit" or variable not in result.variables):
            result.variables[variable] = place
        return changed


class Step:
    """A statement, in the order of the listing.

    ``variable``: of the device, that it names, and whether it ``changes`` it.  ``called``: the function, and a
    ``member`` of the group that the call belongs to; ``decides``: its result chooses what comes next.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.variable = self.called = self.member = ""
        self.changes = self.decides = False


class Groups:
    """Names that have to do with one another."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def root(self, name: str) -> str:
        """The one that stands for its group."""
        while self.parent.setdefault(name, name) != name:
            name = self.parent[name]
        return name

    def join(self, names: list[str]) -> None:
        """Make one group of theirs."""
        for name in names[1:]:
            self.parent[self.root(name)] = self.root(names[0])


def reader(listing: str, elf: Elf, device: Names) -> Reader:
    """The listing's reader for a file that was compiled with it."""
    writable = [bool(section.flags & SHF_WRITE) for section in elf.sections]
    return Reader(listing, elf.symbols(), writable, device)
