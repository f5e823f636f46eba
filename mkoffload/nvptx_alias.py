"""Second names of functions (aliases) in the compiler's PTX: there the first name is put for them.

C++ gives most constructors and destructors two names.  GCC 12 writes ``.alias`` only if -malias and PTX 6.3 are asked
for, and not always then (nvptx_asm_output_def_from_decls leaves names out that are called from code which is written
already); nvptx-tools' linker does not know of such names, and PTX has no alias of a weak function, which those of
templates are.  So the compiler is asked for a list of them, too.
"""

from __future__ import annotations

OPTION, VERSION = "-malias", "-mptx=6.3"
DUMPS = ("whole-program", "fnsummary")
"""IPA passes whose dumps list the symbols: before identical functions become one (pass icf), and after that."""
_ALIAS = ".alias "
_DECLARED = " FUNCTION DECL: "


def _words(line: str) -> list[str]:
    """The line's names and what is between them; joined they are the line."""
    words: list[str] = []
    start = 0
    inside = False
    for at, char in enumerate(line):
        name = char.isalnum() or char in "_$"
        if name != inside:
            words.append(line[start:at])
            start, inside = at, name
    words.append(line[start:])
    return words


def aliases_in(dump: str) -> dict[str, str]:
    """Second name → the name that it stands for, in a list of symbols (symtab_node::dump_base), as PTX has them."""
    found: dict[str, str] = {}
    name = ""
    for line in dump.split("\n"):
        if line[:1].strip() and "/" in line and " (" in line:
            name = line.partition("/")[0]
        elif line.startswith("  Type:"):
            name = name if {"function", "alias"} <= set(line.split()) else ""
        elif line.startswith("  References:") and name:
            words = line.split()
            if "(alias)" in words:
                target = words[words.index("(alias)") - 1].partition("/")[0]
                found[name.replace(".", "$")] = target.replace(".", "$")
    return found


def without_aliases(text: str, known: dict[str, str]) -> str:
    """The PTX of one lto1 with functions' first names in place of the others, of which some are known."""
    first = dict(known)
    for line in text.split("\n"):
        if line.startswith(_ALIAS):
            name, _, target = line[len(_ALIAS) :].rstrip(";").partition(",")
            first[name.strip()] = target.strip()
    for name in first:
        while first[name] in first:
            first[name] = first[first[name]]
    lines: list[str] = []
    declaration = False
    for line in text.split("\n"):
        if line.startswith("// BEGIN ") and _DECLARED in line:
            declaration = line.partition(_DECLARED)[2].strip() in first
        if declaration or line.startswith(_ALIAS):
            declaration = declaration and not line.endswith(";")
            continue
        if any(name in line for name in first) and not line.startswith("//:"):
            line = "".join(first.get(word, word) for word in _words(line))
        lines.append(line)
    return "\n".join(lines)
