"""What the accelerator compiler cannot do, said of the region and the source line that asks for it.

GCC 12's texts: nvptx.md and explow.cc (``sorry``), lto-streamer-in.cc (modes), nvptx-tools' nvptx-ld.cc (symbols).
"""

from __future__ import annotations

from gompy.objects.naming import host_spelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Users = Callable[[str], list[tuple[str, str]]]
    """(function, ``file:line``) of each use of a symbol in the program's own device code."""

_WANTS = (
    ("indirect jumps are not available", "computed goto"),
    ("cannot support label values", "computed goto"),
    ("cannot support alloca", "room of a size that the compiler does not know on the stack (alloca, variable length)"),
    ("cannot support nonlocal goto", "exceptions, or a goto out of a function"),
    ("alias definitions not supported", "a second name of a weak function or of a variable (alias)"),
    ("80-bit-precision floating-point", "the host's 80-bit ‘long double’"),
    ("128-bit-precision floating-point", "128-bit floating-point numbers"),
)
_SYMBOLS = (
    (("setjmp", "_setjmp", "longjmp", "_longjmp", "siglongjmp", "__sigsetjmp"), "setjmp and longjmp"),
    (("__cxa_throw", "__cxa_rethrow", "__cxa_begin_catch", "__cxa_allocate_exception", "_Unwind_"), "exceptions"),
    (("_gfortran_st_", "_gfortran_transfer_"), "Fortran input and output"),
    (("__atomic_",), "atomic operations of that size (the variable of an atomic construct or a reduction)"),
    (("_fputwc_r",), "streams of the C library (printf and puts work)"),
    (("_ZTV", "_ZTT", "_ZTI"), "C++ virtual functions (GCC writes no vtables and type information for accelerators)"),
    (("_Zn", "_Zd", "_ZSt", "_ZNS", "_ZNKS", "__cxa_"), "C++ library"),
    (("__ctype_",), "tables of characters as glibc's isdigit, toupper and their like want them"),
)
_INSTRUMENTS = (
    ("__ubsan_", "-fsanitize=undefined"),
    ("__sanitizer_cov_", "-fsanitize-coverage"),
    ("__cyg_profile_", "-finstrument-functions"),
)
_STREAMS = ("stdin", "stdout", "stderr")
UNRESOLVED = "unresolved symbol "
_COUNTER = "__gcov"
"""What names of the variables begin with in which instrumented code counts; of a function's the rest is its own name.
(GCC coverage.cc.)"""


_COUNTED = (
    "is instrumented (--coverage, -fprofile-generate), and nvptx-none has no counters; compile its file without that, "
    "or give the function around it the attribute ‘no_profile_instrument_function’"
)


class Problem:
    """One thing that the compiler refused.  ``place``: ``file:line:column``, ``function``: where; may be empty."""

    def __init__(self, place: str, function: str, text: str) -> None:
        self.place = place
        self.function = function
        self.text = text

    @property
    def what(self) -> str:
        """The message, without a tool's name before it."""
        where = f"{self.place}: " if self.place else ""
        if self.function:
            kind = "target region" if "._omp_fn." in self.function else "device function"
            return f"{where}{kind} ‘{self.function}’ {self.text}"
        return f"{where}device code {self.text}"


def _quoted(line: str) -> str:
    """What stands between the first quotes of a line, in any locale; empty if nothing does."""
    for opening, closing in ("‘’", "''", "«»", "„“", '""'):
        _, found, rest = line.partition(opening)
        if found and closing in rest:
            return rest.partition(closing)[0].strip()
    return ""


def _located(line: str) -> tuple[str, str]:
    """(``file:line[:column]``, what follows) of a diagnostic; ("", line) if it has no place."""
    words = line.split(":")
    for index in range(1, len(words) - 1):
        if words[index].isdigit():
            end = index + 1 + words[index + 1].isdigit()
            return ":".join(words[:end]), ":".join(words[end:]).strip()
    return "", line


def problems(errors: str, users: Users, wide: Users) -> list[Problem]:
    """What the compiler's standard error tells, each thing once.  ``wide`` finds uses of floating-point types."""
    found: dict[tuple[str, str, str], Problem] = {}
    function = ""

    def add(place: str, name: str, text: str) -> None:
        found.setdefault((place, name, text), Problem(place, name, text))

    for line in errors.split("\n"):
        if line.startswith(UNRESOLVED):
            symbol = line[len(UNRESOLVED) :].strip()
            text = _missing(symbol)
            for name, place in users(symbol) or [("", "")]:
                add(place, name, text)
            continue
        if line.endswith(":") and ": " in line and not line.startswith((" ", "lto1:")) and _quoted(line):
            function = _quoted(line)  # FILE: In function ‘NAME’:
            continue
        symbol = _quoted(line)
        if symbol.startswith(_COUNTER) and "error: " in line:
            add("", symbol.partition(".")[2], _COUNTED)
            continue
        want = next((want for text, want in _WANTS if text in line), None)
        if want is not None:
            place = _located(line)[0]
            for name, where in [(function, place)] if place else wide(line) or [("", "")]:
                add(where, name, f"needs {want}, which nvptx-none does not have")
            continue
        halves = wide(line) if CRASH in line else []
        for name, where in halves:
            add(where, name, "uses ‘_Float16’, on which GCC's nvptx compiler fails; use ‘float’ in device code")
        if halves:
            continue
        place, text = _located(line)
        if place and text.startswith(("error: ", "fatal error: ", "sorry, unimplemented: ")):
            add(place, function, "cannot be compiled for nvptx-none: " + text.partition(": ")[2])
        elif place and text.startswith("internal compiler error: "):
            add(place, function, f"makes the accelerator compiler fail ({text})")
    return list(found.values())


def _missing(symbol: str) -> str:
    for starts, what in _SYMBOLS:
        if symbol.startswith(starts):
            return f"uses ‘{symbol}’: nvptx-none has no {what}"
    if symbol in _STREAMS:
        return f"uses ‘{symbol}’: nvptx-none has no streams (printf and puts write to the program's standard output)"
    if symbol.startswith("__") and symbol.endswith("_chk"):
        return f"uses ‘{symbol}’: nvptx-none has no checked functions (-U_FORTIFY_SOURCE leaves them out)"
    for start, option in _INSTRUMENTS:
        if symbol.startswith(start):
            return f"uses ‘{symbol}’: nvptx-none has no {option}; compile its file without that"
    return (
        f"uses ‘{symbol}’, which is not defined for nvptx-none; mark its definition ‘declare target’, or name its "
        "library with -foffload-options=nvptx-none=-l…"
    )


def uses(assembly: str, symbol: str) -> list[tuple[str, str]]:
    """(function, ``file:line``) of each use of a symbol in the compiler's PTX with line numbers (-S -g)."""
    found: dict[tuple[str, str], None] = {}
    files: dict[str, str] = {}
    function = place = ""
    apart = str.maketrans(",;()[]+", " " * 7)
    for line in assembly.split("\n"):
        words = line.translate(apart).split()
        if not words:
            continue
        if line.startswith("// BEGIN ") and " DEF: " in line:
            function = host_spelling(line.partition(" DEF: ")[2].strip().removesuffix("$impl"))
            place = ""
        elif words[0] == ".file" and len(words) > 2:
            files[words[1]] = line.partition('"')[2].rpartition('"')[0]
        elif words[0] == ".loc" and len(words) > 3:
            place = f"{files.get(words[1], '?')}:{words[2]}"
        elif function and line.startswith(("\t", " ")) and symbol in words[1:] and not words[0].startswith("."):
            found[function, place] = None
    return list(found)


_WIDE = {"XF": ("long double", "real(kind=10)"), "TF": ("_Float128", "__float128", "real(kind=16)")}
"""Machine mode → names of the types that have it on the host."""


CRASH = "internal compiler error: "
_HALF = ("_Float16",)
"""GCC 12's lto1 ends in a segmentation fault where the host's streams have this type, for any -misa."""


def wide_types(errors: str) -> tuple[str, ...]:
    """The types whose machine mode the compiler refused, or failed on, without a place (lto-streamer-in.cc)."""
    for line in errors.split("\n"):
        if CRASH in line:
            return _HALF
        if "floating-point numbers unsupported" in line:
            return _WIDE.get(_quoted(line), ())
    return ()


def wide_uses(dump: str, types: tuple[str, ...]) -> list[tuple[str, str]]:
    """(device function, ``file:line:column``) of the first use of those types in each, in gcc's -lineno tree dump."""
    found: dict[str, str] = {}
    function = ""
    device = False
    names: set[str] = set()
    for line in dump.split("\n"):
        if line.startswith(";; Function "):
            function = line[len(";; Function ") :].partition(" (")[0]
            device = False
            names = set()
        elif line.startswith("__attribute__((") and "omp " in line:
            device = "omp target entrypoint" in line or "omp declare target" in line
        elif device and function not in found and line.startswith("  "):
            declared = next((t for t in types if line.startswith(f"  {t} ") and line.endswith(";")), None)
            if declared is not None:
                names.add(line[len(declared) + 3 : -1])
            elif "[" in line:
                words = "".join(char if char.isalnum() or char in "_.$" else " " for char in line).split()
                versions = [stem for stem, _, number in (w.rpartition("_") for w in words) if number.isdigit()]
                if any(f"({t})" in line for t in types) or names & {*words, *versions}:
                    found[function] = line.partition("[")[2].partition("]")[0]
    return list(found.items())
