"""What front.c has to know to start the device's compiler before Python looks: a header that the build makes of this.

Python compares what the front has begun with what it would do itself (gompy/tools/begun.py).  So nothing here decides
what a link comes to; it decides how often the front guesses right.
"""

from __future__ import annotations

from gompy.abi.targets import INTELMIC
from gompy.objects import lto
from gompy.objects.names import (
    DEBUG_LTO_SECTION_PREFIX,
    DEVICE_IR_SECTION_PREFIX,
    LTO_SECTION_PREFIX,
    OFFLOAD_OPTS_SECTION,
)
from gompy.tools.begun import WORDS_FILE
from gompy.tools.linkcompiler import KEPT_IN, SYSTEM_DATA, USER_DATA
from gompy.tools.process import BEGUN
from lto_wrapper.options import DIAGNOSTICS_LINK, LEVELS, PASSED
from mkoffload.accel import DYNAMIC, IMAGE_FLAGS
from mkoffload.job import CLEARED, POSITION_INDEPENDENCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

UNUSUAL = (
    *("'-v'", "-save-temps", "-foffload-options=", "-Xassembler", "-Wa,", "-flinker-output", "'-r'", "-fplugin"),
    *("-wrapper", "-fdump"),
)
"""In the link's options: what makes another command of it, or shows commands."""
UNUSUAL_UNIT = ("-foffload-options=", "-Xassembler", "-fplugin", "-fdump", "-fsanitize", "-foffload-check")
"""Beginnings of an object's options that make another command of it."""


def _strings(name: str, values: Iterable[str]) -> str:
    listed = ",\n  ".join(f'"{value}"' for value in values)
    return f"static const char *const {name}[] = {{\n  {listed} }};\n"


def header() -> str:
    """The header."""
    defines = {
        "BEGUN_OPTION": BEGUN,
        "BEGUN_WORDS": WORDS_FILE,
        "INTELMIC_NAME": INTELMIC.name,
        "OPTS_SECTION": OFFLOAD_OPTS_SECTION,
        "DEBUG_PREFIX": DEBUG_LTO_SECTION_PREFIX,
        "OUR_PREFIX": DEVICE_IR_SECTION_PREFIX,
        "STOCK_PREFIX": LTO_SECTION_PREFIX,
        "ACCEL_FOLDER": KEPT_IN,
        "USER_DATA": USER_DATA,
        "SYSTEM_DATA": SYSTEM_DATA,
        "PREVAILS": lto.PREVAILS,
        "PREEMPTED": lto.PREEMPTED,
        "RESOLVED": lto.RESOLVED,
        "UNDEFINED": lto.UNDEFINED,
        "DYNAMIC_OUTPUT": DYNAMIC,
    }
    ranks = (lto.RANKS.get(kind, -1) for kind in range(lto.KIND_COMMON + 1))
    return (
        "/* Made by lto_wrapper/front_tables.py.  */\n"
        + "".join(f'#define {name} "{value}"\n' for name, value in defines.items())
        + f"#define KIND_COMMON {lto.KIND_COMMON}\n#define SYMBOL_TAIL {lto.SYMTAB_ENTRY.size}\n"
        + f"static const int ranks[] = {{ {', '.join(map(str, ranks))} }};\n"
        + _strings("passed", sorted(PASSED))
        + _strings("levels", LEVELS)
        + _strings("diagnostics", sorted(DIAGNOSTICS_LINK))
        + _strings("cleared", CLEARED)
        + _strings("dropped", POSITION_INDEPENDENCE)
        + _strings("image_flags", IMAGE_FLAGS)
        + _strings("unusual", UNUSUAL)
        + _strings("unusual_unit", UNUSUAL_UNIT)
    )
