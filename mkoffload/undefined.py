"""What an undefined symbol of the emulated device's image means to the user: who uses it, on which source line, and
what to do about it.

ld names functions of an object that the user never saw.  So the compiler is asked again, for assembly with line
numbers (LTO streams have places of statements with or without -g); only after a failure, when time does not count.
"""

from __future__ import annotations

from gompy.objects.elf import SHN_UNDEF
from gompy.objects.naming import base_name
from gompy.tools.process import Child, ToolError, find_tool
from mkoffload.inputs import Input

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_PLACES = 8
"""Uses of one symbol that are shown."""


def parse_undefined(errors: str) -> dict[str, list[str]]:
    """Symbol → functions in which ld saw undefined references to it; an empty name where ld does not tell."""
    result: dict[str, list[str]] = {}
    function = ""
    for line in errors.split("\n"):
        if ": in function `" in line:
            function = line.partition(": in function `")[2].partition("':")[0]
        before, found, rest = line.partition("undefined reference to `")
        if found:
            known = "(.text" in before or "(." not in before  # not in a variable's section
            names = result.setdefault(rest.rpartition("'")[0], [])
            if (function if known else "") not in names:
                names.append(function if known else "")
    return result


def defines(item: Input, name: str) -> bool:
    """Whether the object's own symbol table, or its IR, defines that symbol."""
    if any(s.name == name and s.defined for s in item.symbols):
        return True
    return any(s.name == name and s.shndx != SHN_UNDEF for s in item.elf.symbols())


def uses(assembly: str, symbols: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Symbol → (function or variable, ``file:line``) of each use in the compiler's assembly with line numbers.

    A variable (of whose initialiser the symbol is a part) has no place: it is empty.
    """
    found: dict[str, dict[tuple[str, str], None]] = {}
    files: dict[str, str] = {}
    owner = place = ""
    split = str.maketrans("(),@+-:*\t", " " * 9)
    for line in assembly.split("\n"):
        if line[:1] not in ("\t", " ", "") and line.rstrip().endswith(":"):
            if not line.startswith(".L"):
                owner, place = line.rstrip()[:-1], ""
            continue
        words = line.translate(split).split()
        if not words:
            continue
        if words[0] == ".file" and len(words) > 2 and words[1].isdigit():
            files[words[1]] = line.partition('"')[2].rpartition('"')[0]
        elif words[0] == ".loc" and len(words) > 2:
            place = f"{files.get(words[1], '?')}:{words[2]}"
        elif owner and (not words[0].startswith(".") or words[0] in (".quad", ".long")):
            for symbol in symbols.intersection(words[1:]):
                found.setdefault(symbol, {})[base_name(owner), place] = None
    return {symbol: list(places) for symbol, places in found.items()}


def demangled(messages: list[str], env: Mapping[str, str]) -> list[str]:
    """The messages with C++ names as their user wrote them, where c++filt is at hand."""
    if not any("_Z" in message for message in messages):
        return messages
    try:
        text = "\n".join(messages).encode("utf-8", "surrogateescape")
        status, output, _ = Child([find_tool("c++filt")], env, text, capture_stdout=True).wait()
    except ToolError:
        return messages
    return output.decode("utf-8", "surrogateescape").split("\n") if not status else messages


def described_use(place: str, owner: str, variable: bool) -> str:
    """``file:line: target region ‘name’``, or as much of it as is known."""
    where = f"{place}: " if place else ""
    if not owner:
        return f"{where}device code"
    kind = "target region" if "._omp_fn." in owner else "device variable" if variable else "device function"
    return f"{where}{kind} ‘{owner}’"


def explain_undefined(errors: str, assembly: str, inputs: list[Input]) -> list[str]:
    """One message for each place where device code uses what nothing in the image defines.

    ``assembly``: the image's, with line numbers; empty if it could not be had, and then the object is named.
    """
    wanted = parse_undefined(errors)
    places = uses(assembly, set(wanted))
    messages = []
    for symbol, functions in wanted.items():
        names = {base_name(name) for name in functions}
        known = places.get(symbol) or [(base_name(functions[0]), "")]
        # What the linker dropped may use it as well, and is not to blame.
        known = [(name, place) for name, place in known if name in names or ("" in names and not place)] or known
        holder = next((i.shown for i in inputs if not i.has_ir and defines(i, symbol)), None)
        if holder:
            mend = f"it is defined in {holder}, which has no device code: compile that with gompcc"
        else:
            mend = (
                "mark its definition ‘declare target’ and compile that file with gompcc, "
                "or name its library with -foffload-options=-l…"
            )
        for name, place in known[:MOST_PLACES]:
            where = place or next((i.shown for i in inputs if name and i.has_ir and defines(i, name)), "")
            user = described_use(where, name, bool(assembly) and not place)
            messages.append(f"{user} uses ‘{symbol}’, which is not defined for the device; {mend}")
        if len(known) > MOST_PLACES:
            messages.append(f"‘{symbol}’ is used in {len(known) - MOST_PLACES} more places")
    return messages
