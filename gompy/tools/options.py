"""Options of gcc's command lines, each with its argument, as the link tools read them and hand them on.

Source: GCC 12's option files (common.opt, c-family/c.opt, fortran/lang.opt).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SEPARATE = """
-o -x -I -L -l -D -U -A -B -T -u -z -e -h -R -F -J -MF -MT -MQ -Tbss -Tdata -Ttext -Xlinker -Xassembler -Xpreprocessor
-aux-info -dumpbase -dumpbase-ext -dumpdir -fintrinsic-modules-path -idirafter -imacros -imultiarch -imultilib -include
-iprefix -iquote -isysroot -isystem -iwithprefix -iwithprefixbefore -specs -wrapper --param --sysroot --assert
--define-macro --dump --dumpbase --dumpbase-ext --dumpdir --entry --for-assembler --for-linker --force-link --imacros
--include --include-directory --include-directory-after --include-prefix --include-with-prefix
--include-with-prefix-after --include-with-prefix-before --language --library-directory --output --output-pch= --prefix
--print-file-name --print-prog-name --specs --undefine-macro"""
SEPARATE = frozenset(_SEPARATE.split())
"""Options that take the next word as their argument when they stand alone."""

_JOINED = (
    "fdiagnostics-show-location=",
    "fdiagnostics-color=",
    "fdiagnostics-format=",
    "fopenacc-dim=",
    "fcf-protection=",
    "foffload-abi=",
    "foffload-options=",
    "flto-partition=",
    "flto=",
    "save-temps=",
)
INPUT = "input"
"""Key of what is no option: the name of a file."""


class Option:
    """One option: ``key`` tells which it is, ``on`` whether it is the positive form, ``arg`` its argument.

    ``words``: as they stand on a command line.
    """

    __slots__ = ("arg", "key", "on", "words")

    def __init__(self, key: str, words: list[str], arg: str = "", on: bool = True) -> None:
        self.key = key
        self.words = words
        self.arg = arg
        self.on = on

    def __repr__(self) -> str:
        return f"Option({self.key!r}, {self.words!r})"


def given(key: str, arg: str) -> Option:
    """The option ``-key arg``."""
    return Option(key, ["-" + key, arg], arg)


def inputs(names: Iterable[str]) -> list[Option]:
    """Those files."""
    return [Option(INPUT, [name], name) for name in names]


def read(words: Iterable[str]) -> list[Option]:
    """The words of a command line, in order."""
    result: list[Option] = []
    rest = iter(words)
    for word in rest:
        if word in SEPARATE:
            arg = next(rest, "")
            result.append(Option(word[1:], [word, arg], arg))
        elif not word.startswith("-") or word == "-":
            result.append(Option(INPUT, [word], word))
        else:
            result.append(_single(word))
    return result


def _single(word: str) -> Option:
    """An option that is one word."""
    if word == "-O" or (word.startswith("-O") and word[2:].isdigit()):
        return Option("O", [word], word[2:])
    if word == "-g" or (word.startswith("-g") and word[2:].isdigit()):
        return Option("g", [word], word[2:])
    if word.startswith("-fno-"):
        return Option("f" + word[5:], [word], on=False)
    if word == "-fcf-protection":
        return Option("fcf-protection=", [word], "full")
    joined = next((j for j in _JOINED if word.startswith(j, 1)), None)
    if joined is not None:
        return Option(joined, [word], word[1 + len(joined) :])
    if word.startswith("-mno-"):
        return Option("m" + word[5:], [word], on=False)
    if word.startswith("-m") and "=" in word:
        return Option(word[1:].partition("=")[0] + "=", [word], word.partition("=")[2])
    return Option(word[1:], [word])


def words_of(options: Iterable[Option]) -> list[str]:
    """The options as a command line has them."""
    return [word for option in options for word in option.words]
