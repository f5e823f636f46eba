"""What the compiled front of the drivers (front.c) knows of command lines: a header that the build makes of this.

The front tells options from inputs, and leaves out of a line's key the names that no plan depends on.  All else of the
line is in the key, so that nothing of what an option means is known there.
"""

from __future__ import annotations

from gompy.driver.options import SOURCE_SUFFIXES
from gompy.driver.searches import LARGEST_SEARCHED
from gompy.tools.options import SEPARATE

INPUTS = frozenset((*SOURCE_SUFFIXES, ".o", ".a"))
"""Suffixes of inputs: one is for a plan as good as another that has the same."""
NOT_ALIKE = "libgomp"
"""What inputs begin with whose names do mean something (gompy/driver/options.py, ``_input``)."""
NAMES = frozenset(("-o", "-MF", "-MT", "-MQ"))
"""Options whose argument is but a name."""
ENVIRONMENT = ("GOMPY_", "HOME=", "PATH=", "PYTHON", "XDG_")
"""Beginnings of the variables that a plan may depend on."""
MAGIC = b"gompycm1"
MARK = "\x01"
"""Begins the stand-ins of names; a line that has one is not kept."""


def _strings(name: str, values: frozenset[str]) -> str:
    listed = ", ".join(f'"{value}"' for value in sorted(values))
    return f"static const char *const {name}[] = {{ {listed} }};\n"


def _text(text: str) -> str:
    lines = (line.replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines())
    return "\n".join(f'  "{line}\\n"' for line in lines)


def header(program: str, script: str) -> str:
    """The header for one of the three commands; ``script``: its text, whose last line is the call."""
    text, _, call = script.rstrip("\n").rpartition("\n")
    return (
        f'#define PROGRAM "{program}"\n#define CALL "{call.removesuffix("()")}"\n'
        f"#define SCRIPT \\\n{_text(text)}".replace('"\n  "', '" \\\n  "')
        + f'\n#define ENTRY_MAGIC "{MAGIC.decode()}"\n#define NOT_ALIKE "{NOT_ALIKE}"\n'
        + f"#define MARK {ord(MARK)}\n#define LARGEST_SEARCHED {LARGEST_SEARCHED}\n"
        + _strings("separate", SEPARATE)
        + _strings("inputs", INPUTS)
        + _strings("names", NAMES)
        + _strings("concerned", frozenset(ENVIRONMENT))
    )
