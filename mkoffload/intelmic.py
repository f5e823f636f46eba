"""The emulated device's image: device code of all objects, linked by the stock gcc into one shared object.

Objects in table order go in; a host object comes out that registers the image.  The route: our IR prefix becomes GCC's
again, lto1 links all translation units in one partition (what no region or device symbol reaches falls away), ld makes
the DSO without host constructors, and the host object takes it in.  docs/internals.md has the contracts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from gompy.objects.elf import (
    SHF_EXCLUDE,
    SHF_GNU_RETAIN,
    SHT_FINI_ARRAY,
    SHT_INIT_ARRAY,
    SHT_PREINIT_ARRAY,
    SHT_PROGBITS,
    Elf,
    ElfError,
    open_object,
)
from gompy.objects.lto import resolution_text, resolve, with_flags
from gompy.objects.names import (
    OBJECT_KIND_HOST_ONLY,
    OBJECT_KIND_LTO,
    OFFLOAD_FUNC_SECTION,
    OFFLOAD_VAR_SECTION,
    TARGET_INTELMIC,
    TARGET_TABLE,
)

from mkoffload.hostobject import host_object_text
from mkoffload.inputs import Input
from mkoffload.process import Child, Temps, ToolError, child_failed, echo, find_tool, run
from mkoffload.tables import Names, differences, table_names

BDIR = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "gompy", "_native", "bdir")
TOOL_FOLDER = os.path.join(BDIR, "accel", TARGET_INTELMIC)
CLEARED = (
    "COLLECT_GCC",
    "COLLECT_GCC_OPTIONS",
    "COLLECT_AS_OPTIONS",
    "COLLECT_LTO_WRAPPER",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "GOMPY_AS",
    "LD_RUN_PATH",
    "LIBRARY_PATH",
    "OFFLOAD_TARGET_DEFAULT",
    "OFFLOAD_TARGET_NAMES",
)
"""Variables of the host's link that must not reach the compiler of the image."""
LIBRARIES = ("stdc++", "gfortran", "quadmath", "gomp", "m", "gcc_s", "c")
CONSTRUCTORS = (SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY)


class Options:
    """mkoffload's command line, taken apart.

    ``compile``: what goes to the compiler; ``link``: what goes to ld.  Raises ToolError for an unusable line.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.output = ""
        self.dumpbase = ""
        self.verbose = False
        self.save_temps = False
        self.objects: list[str] = []
        self.compile: list[str] = []
        self.link: list[str] = []
        self.openmp: bool | None = None
        self.openacc: bool | None = None
        rest = iter(words)
        for word in rest:
            if word == "-o":
                self.output = next(rest, "")
            elif word in ("-dumpbase", "-dumpdir", "-dumpbase-ext"):
                value = next(rest, "")
                if word == "-dumpbase":
                    self.dumpbase = value
            elif word == "-v":
                self.verbose = True
            elif word == "-save-temps" or word.startswith("-save-temps="):
                self.save_temps = True
            elif word.startswith("-foffload-abi="):
                if word != "-foffload-abi=lp64":
                    raise ToolError("unrecognizable argument of option -foffload-abi=" if word != "-foffload-abi=ilp32"
                                    else "-foffload-abi=ilp32 is not supported: the device is 64-bit")
            elif word in ("-l", "-L"):
                self.link.append(word + next(rest, ""))
            elif word in ("-Xlinker",):
                self.link.append(next(rest, ""))
            elif word.startswith(("-l", "-L")):
                self.link.append(word)
            elif word.startswith("-Wl,"):
                self.link += word[4:].split(",")
            elif word in ("-Xassembler", "-include", "-I", "-D", "-U", "-x", "--param"):
                self.compile += [word, next(rest, "")]
            elif word.startswith("-fopenmp") or word.startswith("-fno-openmp"):
                self.openmp = word == "-fopenmp" if word in ("-fopenmp", "-fno-openmp") else self.openmp
                self.compile.append(word)
            elif word in ("-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE", "-pie", "-no-pie"):
                pass  # the image is a shared object whatever the host is
            elif word.startswith("-flto") or word == "-shared":
                pass
            elif word.startswith("-"):
                self.compile.append(word)
            else:
                self.objects.append(word)
        if not self.output:
            raise ToolError("output file not specified")
        if not self.dumpbase:
            self.dumpbase = self.output


def device_environment() -> dict[str, str]:
    """The environment without the host link's variables."""
    return {name: value for name, value in os.environ.items() if name not in CLEARED}


def compiler() -> str:
    """The gcc that makes the image: the one of the host link.  ToolError if COLLECT_GCC is unset, as GCC's mkoffload."""
    name = os.environ.get("COLLECT_GCC")
    if not name:
        raise ToolError("COLLECT_GCC must be set.")
    return name


def library_arguments(library_path: str) -> list[str]:
    """-L and -l arguments: those of the host's libraries that exist there, and only if something needs them."""
    directories: list[str] = []
    for directory in library_path.split(":"):
        if directory and os.path.isdir(directory):
            real = os.path.realpath(directory)
            if real not in directories:
                directories.append(real)
    present: set[str] = set()
    for directory in directories:
        try:
            present.update(os.listdir(directory))
        except OSError:
            continue
    libraries = [f"-l{name}" for name in LIBRARIES if f"lib{name}.so" in present or f"lib{name}.so.1" in present]
    return [f"-L{d}" for d in directories] + ["--as-needed", *libraries]


def neutralised(elf: Elf) -> bytes:
    """The compiled device code with its tables kept and its constructors made no constructors.

    ``.init_array`` and its like become excluded plain data, so that they are no roots of the garbage collection either:
    what only host constructors reach is dropped from the image.
    """
    changes: dict[int, tuple[int, int]] = {}
    for section in elf.sections:
        if section.type in CONSTRUCTORS or section.name.startswith((".ctors", ".dtors")):
            changes[section.index] = (SHT_PROGBITS, section.flags | SHF_EXCLUDE)
        elif section.name in (OFFLOAD_FUNC_SECTION, OFFLOAD_VAR_SECTION):
            changes[section.index] = (section.type, section.flags | SHF_GNU_RETAIN)
    return with_flags(bytes(elf.data), elf, changes)


class Image:
    """One image being made: the steps, in order, and what they leave behind."""

    def __init__(self, options: Options, temps: Temps, library_path: str) -> None:
        self.options = options
        self.temps = temps
        self.library_path = library_path
        self.gcc = compiler()
        self.env = device_environment()
        self.folder = temps.folder()
        self.inputs: list[Input] = []

    def path(self, suffix: str, kept: str = "") -> str:
        """Name of an intermediate file: beside the output with -save-temps, else in the temporary folder."""
        if self.options.save_temps:
            return self.options.dumpbase + (kept or suffix)
        return os.path.join(self.folder, "x" + suffix)

    def read_inputs(self) -> list[Input]:
        """Open all objects; those with device code, ready for lto1, are the result.  Warns of those without."""
        self.inputs = [Input(name) for name in self.options.objects]
        usable = []
        for index, item in enumerate(self.inputs):
            if item.has_ir:
                item.extract(self.folder, index)
                usable.append(item)
            else:
                sys.stderr.write(
                    f"mkoffload: warning: {item.name}: no device code for {TARGET_INTELMIC}; "
                    "its regions run on the host; compile it with gompcc\n"
                )
        return usable

    def compile(self, usable: list[Input]) -> Elf:
        """lto1 over all translation units: one relocatable with the image's code and tables."""
        resolution = self.path(".res", ".mkoffload.res")
        with open(resolution, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(resolution_text([i.device_file for i in usable], resolve([i.symbols for i in usable])))
        output = self.path(".o", ".mkoffload.o")
        command = [self.gcc, "-xlto", "-c", *self.options.compile, "-fPIC", "-ffunction-sections", "-fdata-sections"]
        command += ["-flto-partition=none", f"-fresolution={resolution}", "-flinker-output=dyn"]
        if self.options.save_temps:
            command += ["-save-temps", "-dumpdir", "", "-dumpbase", self.options.dumpbase + ".mkoffload", "-dumpbase-ext", ""]
        else:
            command.append("-pipe")
        command += ["-v"] if self.options.verbose else []
        run([*command, *[i.device_file for i in usable], "-o", output], self.env, self.options.verbose)
        return open_object(output)

    def check(self, compiled: Elf) -> tuple[Names, Names]:
        """Compare the image's tables with the host's, by name.  ToolError names the entries that differ.

        The tables of LTO objects are made by host LTO later: entries between those of the others are taken as theirs,
        and their number is noted in their description.
        """
        image = table_names(compiled)
        for table, what in enumerate(("function", "variable")):
            known = [(i, i.host_names()[table]) for i in self.inputs if i.has_ir]
            missing = len(image[table]) - sum(len(names) for _, names in known)
            slim = [i for i, names in known if i.lto and not names]
            host: Names = []
            for item, names in known:
                if item.lto and not names and missing > 0 and item is slim[0]:
                    names = [None] * missing
                    if table == 0:
                        item.described[0].nfuncs = missing
                    else:
                        item.described[0].nvars = missing
                host += names
            found = differences(host, image[table])
            if found:
                shown = "; ".join(f"{index}: host has {one}, image has {other}" for index, one, other in found[:8])
                more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
                raise ToolError(
                    f"{self.options.output}: the {what} tables of host and image differ ({len(host)} and "
                    f"{len(image[table])} entries): {shown}{more}"
                )
        return image

    def link(self, compiled: Elf) -> str:
        """ld: the image, a DSO that exports its tables."""
        with open(compiled.name, "wb") as file:
            file.write(neutralised(compiled))
        image = self.path(".so", ".mkoffload")
        script = self.path(".map", ".mkoffload.map")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"{{ global: {TARGET_TABLE}; local: *; }};\n")
        command = [find_tool("ld", BDIR), "-m", "elf_x86_64", "-shared", "--gc-sections", "--eh-frame-hdr", "-z", "defs"]
        command += ["-z", "noexecstack", "--hash-style=gnu", "--version-script", script, "-o", image]
        command += [os.path.join(BDIR, "imgbegin.o"), compiled.name, os.path.join(BDIR, "imgend.o")]
        command += [*self.options.link, *library_arguments(self.library_path)]
        echo(command, self.options.verbose)
        status, _, errors = Child(command, self.env, capture_stderr=True).wait()
        text = errors.decode("utf-8", "replace")
        if status:
            sys.stderr.write(text)
            raise child_failed(command[0], status)
        sys.stderr.write(text)
        return image

    def pack(self, image: str, tables: tuple[Names, Names]) -> None:
        """The host object."""
        described = [d for item in self.inputs for d in item.described]
        output = os.path.basename(self.options.dumpbase)
        text = host_object_text(image, described, len(tables[0]), len(tables[1]), output)
        command = [find_tool("as", BDIR), "--64", "-o", self.options.output]
        if self.options.save_temps:
            source = self.options.dumpbase + ".s"
            with open(source, "w", encoding="ascii") as file:
                file.write(text)
            run([*command, source], self.env, self.options.verbose)
        else:
            run([*command, "-"], self.env, self.options.verbose, text.encode())


def build(words: Sequence[str], temps: Temps, library_path: str | None = None) -> bool:
    """Make the host object that the command line (without the program's name) asks for.

    False: no object has device code, nothing was made.  Raises ToolError.
    """
    options = Options(words)
    image = Image(options, temps, os.environ.get("LIBRARY_PATH", "") if library_path is None else library_path)
    try:
        usable = image.read_inputs()
        if not usable:
            return False
        compiled = image.compile(usable)
        tables = image.check(compiled)
        image.pack(image.link(compiled), tables)
    except ElfError as error:
        raise ToolError(f"cannot read {error}") from None
    return True
