"""gcc's dump of OpenMP and OpenACC constructs after lowering, ``-fdump-tree-omplower-lineno``.

It has all clauses, the implicit ones with their lengths, the name of the outlined function, and the assignments to
``.omp_data_arr``, which stand in the order of the arguments at run time (GCC 12: omp-low.cc, lower_omp_target).
The format is not promised: tests compare it with what a program asks of the runtime.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_FUNCTION: Final = re.compile(r"^;; Function (.*) \(([^\s,()]+), funcdef_no=")
_PLACE: Final = re.compile(r"\[(?:[^\[\]:]|::)*:\d+:\d+(?: discrim \d+)?\] ?")
_CONSTRUCT: Final = re.compile(r"^\s*\[([^\[\]]*?):(\d+):(\d+)[^\]]*\] #pragma omp (target\b.*)$")
_SLOT: Final = re.compile(r"^\.omp_data_arr\.(\d+)\.(\S+) = (.*);$")
_KIND: Final = re.compile(r"^\.omp_data_kinds\.(\d+)\[(\d+)\] = (.*);$")
_TEMPORARY: Final = re.compile(r"^((?:[\w.]*_\d+)|D\.\d+) = (.*);$")
_USE: Final = re.compile(r"(?<![\w.])((?:[A-Za-z]\w*(?:\.\d+)?)?_\d+|D\.\d+)(?![\w.])")
_COPY: Final = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\.\d+(?:_\d+)?(?![\w.])")
_CHILD: Final = re.compile(r"\[child fn: (\S+) \((?:\.omp_data_arr\.(\d+)|[^),]*)[^)]*\)\]")
_CHOICE: Final = re.compile(r"^\S+ (?:==|!=) \S+ \? (\d+) : (\d+)$")
_DEEPEST: Final = 8

KINDS: Final = ("enter data", "exit data", "data", "update")
"""What may follow ``target`` in a construct without code; in gcc's dump OpenACC's have ``oacc_`` and their name."""


@dataclass
class Clause:
    """A clause as gcc has it after lowering; ``text`` is what stands in its parentheses, without marks."""

    name: str
    text: str = ""
    kind: str = ""
    variable: str = ""
    length: str = ""
    bias: str = ""
    implicit: bool = False
    pointer: bool = False
    temporary: bool = False
    """It is for a variable of gcc's own, which has no field of its name."""


@dataclass
class Slot:
    """An assignment to a field of ``.omp_data_arr``: one argument at run time."""

    field: str
    value: str


@dataclass
class Construct:
    """A target construct of the dump."""

    kind: str
    caller: str
    file: str
    line: int
    column: int
    function: str = ""
    clauses: list[Clause] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    kinds: dict[int, list[int]] = field(default_factory=dict)
    """Those kinds that are computed, by index: the values that the expression may have."""
    kinds_number: int = -1


class _State:
    """What has been seen of a function."""

    def __init__(self) -> None:
        self.temporaries: dict[str, str] = {}
        self.slots: list[Slot] = []
        self.number = -1
        self.kinds: dict[int, list[int]] = {}

    def resolve(self, text: str, depth: int = 0) -> str:
        """The text with temporaries replaced by what was assigned to them."""

        def put(match: re.Match[str]) -> str:
            value = self.temporaries.get(match[1])
            if value is None or depth >= _DEEPEST:
                return match[0]
            value = self.resolve(value, depth + 1)
            return value if re.fullmatch(r"[\w.]+(?:->\w+)*", value) else f"({value})"

        return _COPY.sub(r"\1", _USE.sub(put, text))

    def clear(self) -> None:
        self.slots, self.number, self.kinds = [], -1, {}


def constructs(text: str) -> list[Construct]:
    """All target constructs of a dump, in its order."""
    found: list[Construct] = []
    caller, state = "", _State()
    for line in text.splitlines():
        if match := _FUNCTION.match(line):
            caller, state = match[2], _State()
            continue
        if "#pragma omp target" in line and (match := _CONSTRUCT.match(line)):
            found.append(_construct(match, caller, state))
            state.clear()
            continue
        _note(_PLACE.sub("", line).strip(), state)
    return found


def _note(line: str, state: _State) -> None:
    """Remember an assignment that a later construct needs."""
    if match := _SLOT.match(line):
        if int(match[1]) != state.number:
            state.clear()
            state.number = int(match[1])
        state.slots.append(Slot(match[2], match[3]))
    elif match := _KIND.match(line):
        value = state.temporaries.get(match[3], match[3])
        if choice := _CHOICE.match(value):
            state.kinds[int(match[2])] = [int(choice[2]), int(choice[1])]
        elif value.isdecimal():
            state.kinds[int(match[2])] = [int(value)]
    elif match := _TEMPORARY.match(line):
        state.temporaries[match[1]] = match[2]


def _construct(match: re.Match[str], caller: str, state: _State) -> Construct:
    text = match[4]
    result = Construct("target", caller, match[1], int(match[2]), int(match[3]))
    if child := _CHILD.search(text):
        result.function = child[1]
        text = text[: child.start()]
    if numbers := re.search(r"\.omp_data_kinds\.(\d+)", match[4]):
        result.kinds_number = int(numbers[1])
    elif state.number >= 0:
        result.kinds_number = state.number + 2  # arr, sizes and kinds are made one after another
    rest = text[len("target") :].strip()
    for word in KINDS:
        if rest == word or rest.startswith(f"{word} "):
            result.kind, rest = f"target {word}", rest[len(word) :]
            break
    else:
        first = rest.partition(" ")[0]
        if first.startswith("oacc_"):
            result.kind, rest = first, rest[len(first) :]
    result.clauses = [_clause(name, value, state) for name, value in split_clauses(rest)]
    result.slots, result.kinds = state.slots, state.kinds
    return result


def split_clauses(text: str) -> list[tuple[str, str]]:
    """The words of a directive, each with what stands in its parentheses."""
    found: list[tuple[str, str]] = []
    at = 0
    while word := re.compile(r"[\s,]*([A-Za-z_]\w*)\s*").match(text, at):
        at = word.end()
        value = ""
        if at < len(text) and text[at] == "(":
            end = closing(text, at)
            value, at = text[at + 1 : end], end + 1
        found.append((word[1], value))
    return found


def closing(text: str, start: int) -> int:
    """Where the parenthesis that opens at ``start`` is closed; the text's end if it is not."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    return len(text)


_NOTE: Final = re.compile(r"\s*\[((?:len|bias|implicit|pointer assign|pointer set)[^\[\]]*)\]")
_MAPPING: Final = re.compile(r"^((?:[a-z_]+[ ,]?)+):(?!:)(.*)$", re.DOTALL)


def _clause(name: str, value: str, state: _State) -> Clause:
    """A clause of the dump, taken apart as far as it is about data."""
    clause = Clause(name)
    text = _PLACE.sub("", value)
    # A length may have brackets in it: what follows "[len: " up to its own closing one.
    while (at := text.rfind(" [len: ")) >= 0 or (at := text.rfind("[implicit]")) >= 0:
        end = closing(text, text.index("[", at))
        note = text[text.index("[", at) + 1 : end]
        text = text[:at] + text[end + 1 :]
        if note.startswith("len: "):
            clause.length = state.resolve(note[5:])
        else:
            clause.implicit = True
    for note in _NOTE.findall(text):
        clause.pointer |= note.startswith("pointer")
        if "bias: " in note:
            clause.bias = state.resolve(note.partition("bias: ")[2])
    text = _NOTE.sub("", text).strip()
    clause.text = state.resolve(text)
    clause.temporary = _USE.fullmatch(text) is not None
    if name in ("map", "reduction", "in_reduction") and (match := _MAPPING.match(text)):
        clause.kind, clause.variable = match[1], state.resolve(match[2].strip())
    elif name in ("to", "from", "_cache_"):
        clause.kind, clause.variable = name, clause.text
    else:
        clause.variable = clause.text
    return clause
