"""Reading a gcc command line, just far enough to know what gcc will do with it.

gcc itself stays the judge of every option; this module only has to tell options from inputs, and to know the few
options that decide whether a command compiles, links, and offloads.  Source of the tables: GCC 12's option files
(common.opt, c-family/c.opt, fortran/lang.opt), the suffix table in gcc.cc, and libiberty's rules for ``@file``.
"""

from __future__ import annotations

import os

_SOURCE_SUFFIXES = """
.c .i .ii .cc .cp .cxx .cpp .CPP .c++ .C .m .mi .mm .M .mii
.f .for .ftn .F .FOR .fpp .FPP .FTN .f90 .f95 .f03 .f08 .F90 .F95 .F03 .F08 .fii
.d .dd .di .go .ads .adb .mod"""
SOURCE_SUFFIXES = frozenset(_SOURCE_SUFFIXES.split())
"""File names that gcc hands to a compiler; other names are the linker's (gcc.cc: default_compilers)."""
HEADER_SUFFIXES = frozenset((".h", ".H", ".hh", ".hp", ".hxx", ".hpp", ".HPP", ".h++", ".tcc"))
"""Inputs that are precompiled; alone on a line they are not linked."""
ASSEMBLER_SUFFIXES = frozenset((".s", ".S", ".sx"))

QUERY_PREFIXES = ("-print-", "--print-", "--help", "-dumpversion", "-dumpfullversion", "-dumpmachine", "-dumpspecs")
QUERIES = frozenset(("--version", "--target-help"))
STOP_BEFORE_ASSEMBLY = frozenset(
    ("-E", "-M", "-MM", "-fsyntax-only", "--preprocess", "--dependencies", "--user-dependencies")
)
STOP_BEFORE_LINK = {"-c": "-c", "--compile": "-c", "-S": "-S", "--assemble": "-S"}


class Word:
    """One word of the expanded command line, and which argument of the original one it came from."""

    __slots__ = ("origin", "text")

    def __init__(self, text: str, origin: int) -> None:
        self.text = text
        self.origin = origin


class CommandLine:
    """What a command asks gcc to do.

    ``words`` is the line after expansion of ``@file``; ``original`` the line as given.
    """

    def __init__(self, original: list[str]) -> None:
        self.original = original
        self.words: list[Word] = []
        self.openmp = False
        self.openacc = False
        self.query = False
        self.preprocess_only = False
        self.stop = ""  # "-c", "-S" or "", when it goes on to the link
        self.relocatable = False
        self.shared = False
        self.static = False
        self.not_lp64 = False
        self.lto: bool | None = None  # -flto, -fno-lto; None when neither is given
        self.verbose = False
        self.sources: list[str] = []
        self.fortran = False  # one of them, at least
        self.c_family = False  # one of them, at least
        self.headers: list[str] = []  # to be precompiled
        self.assembler: list[str] = []
        self.linker_inputs: list[str] = []  # files; "-lNAME" as one word
        self.names_libgomp = False
        self.linker = ""  # of -fuse-ld=
        self.only_archives = False  # for the libraries that follow: -Wl,-Bstatic
        self.libgomp_archive = False  # libgomp.a is linked into a program that is not static

    @property
    def offloads(self) -> bool:
        """Whether an offloading model is in effect."""
        return self.openmp or self.openacc

    @property
    def compiles(self) -> bool:
        """Whether it makes assembly code, objects or precompiled headers of sources."""
        return bool(self.sources or self.headers or self.assembler) and not self.preprocess_only

    @property
    def links(self) -> bool:
        """Whether the linker will run."""
        if self.stop or self.preprocess_only:
            return False
        return bool(self.sources or self.assembler or self.linker_inputs)  # headers alone are not linked


def expand(arguments: list[str]) -> list[Word]:
    """Replace every ``@file`` that can be read by its words; others stay as they are, as gcc does."""
    if not any(word.startswith("@") for word in arguments):
        return [Word(text, index) for index, text in enumerate(arguments)]
    from gompy.tools.response import expand_from

    return [Word(text, origin) for text, origin in expand_from(arguments)]


def parse(arguments: list[str]) -> CommandLine:
    """Classify a command line (without the program's name)."""
    from gompy.tools.options import SEPARATE  # here: most lines are known by less not to concern us

    line = CommandLine(arguments)
    line.words = expand(arguments)
    language = ""  # of -x; "" is "none"
    texts = [word.text for word in line.words]
    count = len(texts)
    i = 0
    while i < count:
        text = texts[i]
        i += 1
        if text == "-" or not text.startswith("-"):
            _input(line, text, language)
            continue
        if text in SEPARATE:
            value = texts[i] if i < count else ""
            i += 1
            if text in ("-x", "--language"):
                language = "" if value == "none" else value
            elif text == "-l":
                _library(line, value)
            elif text.startswith(("--print-",)):
                line.query = True
            elif text == "-z" or text in ("-Xlinker", "--for-linker"):
                if value in ("-r", "--relocatable", "-i"):
                    line.relocatable = True
                elif value in ("-shared", "-Bshareable", "--shared"):
                    line.shared = True
                else:
                    _archives(line, value)
            continue
        _option(line, text)
        if text.startswith("-x"):
            language = "" if text == "-xnone" else text[2:]
        elif text.startswith("--language="):
            language = "" if text == "--language=none" else text[11:]
    return line


def _option(line: CommandLine, text: str) -> None:
    """Note an option that has no separate argument."""
    if text in STOP_BEFORE_LINK:
        # -S wins over -c wherever they stand (gcc.cc tests them in this order).
        if line.stop != "-S":
            line.stop = STOP_BEFORE_LINK[text]
    elif text in STOP_BEFORE_ASSEMBLY:
        line.preprocess_only = True
    elif text.startswith("-l"):
        _library(line, text[2:])
    elif text in ("-fopenmp", "--openmp"):
        line.openmp = True
    elif text in ("-fno-openmp", "--no-openmp"):
        line.openmp = False
    elif text in ("-fopenacc", "--openacc"):
        line.openacc = True
    elif text in ("-fno-openacc", "--no-openacc"):
        line.openacc = False
    elif text == "-flto" or text.startswith("-flto="):
        line.lto = True
    elif text in ("-fno-lto", "--no-lto"):
        line.lto = False
    elif text in QUERIES or text.startswith(QUERY_PREFIXES):
        line.query = True
    elif text in ("-v", "--verbose", "-###"):
        line.verbose = True
    elif text in ("-r", "--relocatable"):
        line.relocatable = True
    elif text in ("-shared", "--shared"):
        line.shared = True
    elif text in ("-static", "--static", "-static-pie"):
        line.static = True
    elif text.startswith("-fuse-ld="):
        line.linker = text[9:]
    elif text in ("-m32", "-mx32", "-m16"):
        line.not_lp64 = True
    elif text == "-m64":
        line.not_lp64 = False
    elif text.startswith("-Wl,"):
        parts = text.split(",")[1:]
        line.relocatable |= "-r" in parts or "--relocatable" in parts or "-i" in parts
        line.linker_inputs.append(text)
        for part in parts:
            _archives(line, part)


def _archives(line: CommandLine, word: str) -> None:
    """Note a word to the linker that says which kind of library the following ones are."""
    if word in ("-Bstatic", "-dn", "-non_shared", "-static"):
        line.only_archives = True
    elif word in ("-Bdynamic", "-dy", "-call_shared"):
        line.only_archives = False


def _library(line: CommandLine, name: str) -> None:
    """Note ``-l name``."""
    line.linker_inputs.append(f"-l{name}")
    if name in ("gomp", ":libgomp.so", ":libgomp.so.1"):
        line.names_libgomp = True
    line.libgomp_archive |= name == ":libgomp.a" or (name == "gomp" and line.only_archives)


def _input(line: CommandLine, name: str, language: str) -> None:
    """Note an input file."""
    base = os.path.basename(name)
    suffix = os.path.splitext(base)[1]
    if language.startswith("assembler"):
        line.assembler.append(name)
    elif language.endswith("-header") or (not language and suffix in HEADER_SUFFIXES):
        line.headers.append(name)
    elif language or name == "-" or suffix in SOURCE_SUFFIXES:
        line.sources.append(name)
        fortran = (language or suffix[1:]).lower().startswith("f")
        line.fortran |= fortran
        line.c_family |= not fortran
    elif suffix in ASSEMBLER_SUFFIXES:
        line.assembler.append(name)
    else:
        line.linker_inputs.append(name)
        if base.startswith("libgomp.so"):
            line.names_libgomp = True
        line.libgomp_archive |= base == "libgomp.a"


def rebuild(line: CommandLine, kept: list[str | None]) -> list[str]:
    """The original line with some words replaced (by the text at the same place in ``kept``) or dropped (None).

    An ``@file`` none of whose words changes stays an ``@file``.
    """
    changed = {word.origin for word, text in zip(line.words, kept, strict=True) if text != word.text}
    out: list[str] = []
    done = -1
    for word, text in zip(line.words, kept, strict=True):
        if word.origin in changed:
            if text is not None:
                out.append(text)
        elif word.origin != done:
            out.append(line.original[word.origin])
        done = word.origin
    return out
