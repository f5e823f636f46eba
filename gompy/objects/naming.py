"""When two table entries are the same one: the rule by which mkoffload, lto-wrapper and `gompy inspect` compare names.

Compilers change names of symbols on their way to a table.  A rule below takes a name as one of the tables has it and
gives what of it host and image must agree in; which rule, the compiler that made the image decides (``rule_for``).

Sources: GCC 12 lto/lto-partition.cc (privatize_symbol_name), cgraphclones.cc (clone_function_name), lto/lto-common.cc
(offload_handle_link_vars), config/nvptx/nvptx.cc (nvptx_name_replacement); lto_wrapper/host.py for ``gompy_priv``.
"""

from __future__ import annotations

from gompy.objects.names import TARGET_INTELMIC, TARGET_NVPTX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Rule = Callable[[str], str]

Names = list[str | None]
"""Names of table entries; None where the file (stripped, say) does not tell."""

SUFFIXES = frozenset(("lto_priv", "gompy_priv", "constprop", "part", "isra", "cold", "localalias", "linkptr", "nohost"))
"""What follows the dot behind a name that a compiler, or lto-wrapper, has changed; a number may follow.

``nohost``: GCC 13's empty function in the place of one that only the host runs, where no region of the image calls it.
"""
CONSTANTS = ("A", "C")
"""Beginnings of the names of constants that are the compiler's own: of Fortran's front end, of gimplify.cc."""
INITIALISERS = ("_Z41__static_initialization_and_destruction_0", "__tcf")
"""Beginnings of the names of functions that a unit's constructor of variables is made of, destructors among them."""
RENAMED = ("call", "malloc", "free", "realloc")
"""Names that mean something in PTX; the compiler puts ``__nvptx_`` before them."""


def base_name(name: str) -> str:
    """A symbol's name without the suffixes that LTO gives to symbols that it makes local or global.

    The rule for images made by gcc's own compiler, which reads the streams that the host's code is made of.  Constants
    that gcc has named itself, ``A.515.160``, are numbered anew there, too (GCC 16).
    """
    while True:
        stem, _, last = name.rpartition(".")
        if last.isdigit():
            stem, _, last = stem.rpartition(".")
            if last.isdigit() and stem in CONSTANTS:
                return stem
        if not stem or last not in SUFFIXES:
            return name
        name = stem


def renumbered_name(name: str) -> str:
    """The rule for images made by an accelerator compiler: variables without what follows their first dot, too.

    Its streams have no assembler names of temporaries and local statics: they are numbered anew.
    """
    name = base_name(name)
    return name if "._omp_fn." in name else name[:1] + name[1:].partition(".")[0]


def host_spelling(name: str) -> str:
    """A name in PTX as the host's symbol table has it: PTX has no dots, and some names are taken."""
    for taken in RENAMED:
        if name == "__nvptx_" + taken:
            return taken
    return name.replace("$", ".")


def ptx_name(name: str) -> str:
    """The rule for PTX."""
    return renumbered_name(host_spelling(name))


def plain_name(name: str) -> str:
    """A name of any table as its user would know it: for showing and drawing."""
    return base_name(host_spelling(name))


def rule_for(target: str, stock: bool) -> Rule:
    """The rule for an image.  ``stock``: gcc's own compiler made it, not an accelerator compiler."""
    if target == TARGET_NVPTX:
        return ptx_name
    return base_name if target == TARGET_INTELMIC and stock else renumbered_name


def comparable(names: Names, rule: Rule) -> Names:
    """What of these names the other table must have as well."""
    return [None if name is None else rule(name) for name in names]


def same(one: str | None, other: str | None, rule: Rule = base_name) -> bool:
    """Whether two names stand for one entry, as far as they are known."""
    return one is None or other is None or one == other or rule(one) == rule(other)


def differences(host: Names, image: Names, rule: Rule = base_name) -> list[tuple[int, str, str]]:
    """``(index, host's name, image's name)`` of the entries that differ; ``(none)`` where one table ends before."""
    found = []
    for index in range(max(len(host), len(image))):
        if index >= len(host):
            found.append((index, "(none)", image[index] or "(unnamed)"))
        elif index >= len(image):
            found.append((index, host[index] or "(unnamed)", "(none)"))
        elif not same(host[index], image[index], rule):
            found.append((index, host[index] or "", image[index] or ""))
    return found
