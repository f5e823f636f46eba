"""The emulated device's image: device code of all objects, linked into one shared object.

Objects in table order go in; a host object comes out that registers the image.  The route: an lto1 (mkoffload/accel.py)
compiles all translation units in one partition (what no region or device symbol reaches falls away), ld makes the DSO
without host constructors, and the host object takes it in.  docs/internals.md has the contracts.
"""

from __future__ import annotations

import io
import os
import sys

from gompy.objects.elf import Elf, ElfError, open_object
from gompy.objects.names import ACCEL_ONLY, ACCEL_STOCK, ACCEL_TRUE, TARGET_INTELMIC, TARGET_TABLE
from gompy.objects.naming import Names, base_name, differences
from gompy.tools.process import Child, Temps, ToolError, child_failed, echo, find_tool, linker_appends, run, write_file
from mkoffload.accel import BDIR, CLASSES_CUT, Compiler, another, choose, find_stock_wrapper
from mkoffload.hostobject import host_object_text
from mkoffload.imagelink import (
    all_libraries,
    library_arguments,
    neutralised,
    undefined_symbols,
    wanted_libraries,
)
from mkoffload.initialisers import LISTING, NO_MERGING, concerned, in_objects, warnings
from mkoffload.inputs import Input
from mkoffload.owncopies import own_copies
from mkoffload.tables import table_names
from mkoffload.undefined import demangled, explain_undefined, parse_undefined
from mkoffload.vtables import PREFIXES, Candidates, Vtables, candidates, of_device_classes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gompy.objects.naming import Rule
    from mkoffload.listing import Initialiser

__all__ = ["BDIR", "TOOL_FOLDER", "Made", "build", "complain", "find_stock_wrapper"]

POSITION_INDEPENDENCE = (
    *("-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-pic", "-fno-PIC", "-fno-pie", "-fno-PIE", "-pie", "-no-pie"),
)
FALLEN_BACK = (
    "the accelerator compiler cannot make this image (-v shows why), gcc's own lto1 has: ‘declare variant’ goes by the "
    "host there; GOMPY_ACCEL=gcc asks for that, and no more is said"
)
UNSANITARY = {"thread", "hwaddress", "kernel-address", "kernel-hwaddress"}
"""Sanitizers whose runtime has to be the program's, or the kernel."""
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


class Options:
    """mkoffload's command line, taken apart.

    ``compile``: what goes to the compiler; ``link``: what goes to ld.  Raises ToolError for an unusable line.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.output = ""
        self.dumpbase = ""
        self.verbose = False
        self.save_temps = False
        self.accel_only = False
        self.objects: list[str] = []
        self.compile: list[str] = []
        self.link: list[str] = []
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
                    raise ToolError(
                        "unrecognizable argument of option -foffload-abi="
                        if word != "-foffload-abi=ilp32"
                        else "-foffload-abi=ilp32 is not supported: the device is 64-bit"
                    )
            elif word in ("-l", "-L"):
                self.link.append(word + next(rest, ""))
            elif word == "-Xlinker":
                self.link.append(next(rest, ""))
            elif word.startswith(("-l", "-L")):
                self.link.append(word)
            elif word.startswith("-Wl,"):
                self.link += word[4:].split(",")
            elif word in ("-Xassembler", "-include", "-I", "-D", "-U", "-x", "--param"):
                self.compile += [word, next(rest, "")]
            elif word == ACCEL_ONLY:
                self.accel_only = True
            elif word.startswith("-fsanitize=") and UNSANITARY & set(word[len("-fsanitize=") :].split(",")):
                raise ToolError(f"{word} is not supported for {TARGET_INTELMIC}: address and undefined are")
            elif word in POSITION_INDEPENDENCE:
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


def host_compiler() -> str:
    """The gcc that makes the image: the one of the host link.  ToolError if COLLECT_GCC is unset, as in GCC's."""
    name = os.environ.get("COLLECT_GCC")
    if not name:
        raise ToolError("COLLECT_GCC must be set.")
    return name


class Made:
    """An image that was made: names of its table entries, and of those among them that host LTO must come out with."""

    def __init__(self, tables: tuple[Names, Names], rule: Rule = base_name) -> None:
        self.tables = tables
        self.rule = rule  # what of the names host and image must agree in
        self.lto: tuple[Names, Names] = ([], [])
        self.classes: list[str] = []  # symbols of the host that the host object refers to


class Image:
    """One image being made: the steps, in order, and what they leave behind."""

    def __init__(self, options: Options, temps: Temps, library_path: str, compiler: Compiler | None = None) -> None:
        self.options = options
        self.temps = temps
        self.library_path = library_path
        self.gcc = host_compiler()
        self.env = device_environment()
        self.folder = temps.folder()
        self.compiler: Compiler = compiler or choose(self.gcc, self.env)
        self.inputs: list[Input] = []
        self.exported: list[str] = []  # vtables and type information that lto1 has to keep
        self.classes = Candidates([], [], set())
        self.initialisers: set[str] = set()  # functions of the host's that run when the image is loaded
        self.units: list[Initialiser] = []

    def path(self, suffix: str, kept: str = "") -> str:
        """Name of an intermediate file: beside the output with -save-temps, else in the temporary folder."""
        if self.options.save_temps:
            return self.options.dumpbase + (kept or suffix)
        return os.path.join(self.folder, "x" + suffix)

    def read_inputs(self) -> list[Input]:
        """Open all objects; those with device code, ready for lto1, are the result.  Warns of those without."""
        if self.options.verbose:
            sys.stderr.write(f"mkoffload: accelerator compiler: {self.compiler.title}\n")
        self.inputs = [Input(name, self.compiler.accel) for name in self.options.objects]
        usable = []
        for index, item in enumerate(self.inputs):
            if item.has_ir:
                item.extract(self.folder, index)
                usable.append(item)
            else:
                sys.stderr.write(f"mkoffload: warning: {self.compiler.missing(item)}\n")
        self.classes = candidates(usable)
        if self.compiler.accel == ACCEL_STOCK:
            self.exported = self.classes.names  # the accelerator compiler has no IR of them
        return usable

    def classes_without_ir(self) -> list[str]:
        """Vtables and type information that regions get from the host, and that gcc's own compiler would have.

        Where the choice of the compiler is not free: the vtables that are surely the device's.
        """
        if self.compiler.accel == ACCEL_STOCK:
            return []
        if not another(self.compiler, self.inputs):
            return of_device_classes(self.inputs)
        try:
            return candidates([item for item in map(Input, self.options.objects) if item.has_ir]).names
        except ToolError:
            return []  # gcc's own cannot read them all (a bundle with objects of plain gcc)

    def check(self, compiled: Elf) -> Made:
        """Compare the image's tables with the host's, by name.  ToolError names the entries that differ.

        LTO objects stand together in the order of the tables.  Where one of them is slim, their names are known only
        after host LTO: the image's entries between those of the others are taken as theirs (``Made.lto``).
        """
        image = table_names(compiled)
        made = Made(image, self.compiler.rule)
        for table, what in enumerate(("function", "variable")):
            known = [(i, i.host_names()[table]) for i in self.inputs if i.has_ir]
            missing = len(image[table]) - sum(len(names) for item, names in known if not item.lto)
            unknown = any(item.lto and not item.has_tables for item, _ in known)
            host: Names = []
            started = False
            for item, names in known:
                if not item.lto:
                    host += names
                elif not unknown:
                    made.lto[table].extend(names)
                    host += names
                elif not started:
                    started = True
                    made.lto[table].extend(image[table][len(host) : len(host) + max(missing, 0)])
                    host += made.lto[table]
                    if table == 0:
                        item.described[0].nfuncs = len(made.lto[table])
                    else:
                        item.described[0].nvars = len(made.lto[table])
                elif table == 0:
                    item.described[0].nfuncs = 0
                else:
                    item.described[0].nvars = 0
            complain(self.options.output, what, host, image[table], made.rule)
        return made

    def compile_with_listing(self, usable: list[Input], device: Names) -> list[str]:
        """Compile again, each unit's initialisers apart and listed; choose those that the device runs."""
        listing = os.path.join(self.folder, "listing")
        self.options.compile += [NO_MERGING, f"{LISTING}={listing}"]
        compiled = self.compiler.compile(self, usable)
        from mkoffload.listing import reader

        elf = open_object(compiled[0])
        with open(listing, encoding="utf-8", errors="replace") as file:
            read = reader(file.read(), elf, device)
        self.units = [read.read(name) for name in concerned(elf, device)]
        self.units = [unit for unit in self.units if unit.variables]
        self.initialisers = {unit.name for unit in self.units if not unit.cause}
        return compiled

    def drop_initialisers(self, symbol: str) -> None:
        """None of them runs: there is no device code for what they call."""
        self.initialisers = set()
        for unit in self.units:
            unit.cause = unit.cause or f"what initialises it needs ‘{symbol}’, of which there is no device code"

    def link(self, compiled: Elf, more: list[str], vtables: Vtables) -> str:
        """ld: the image, a DSO that exports its tables.  ToolError after a message for every undefined symbol.

        Vtables that need what the device has not are taken out of ``vtables``.
        """
        relocatable = neutralised(compiled, self.initialisers)
        write_file(compiled.name, relocatable)
        image = self.path(".so", ".mkoffload")
        script = self.path(".map", ".mkoffload.map")
        write_file(script, f"{{ global: {TARGET_TABLE}; local: *; }};\n")
        command = [find_tool("ld", BDIR), "-m", "elf_x86_64", "-shared", "--gc-sections", "--eh-frame-hdr"]
        command += ["-z", "defs", "-z", "noexecstack", "--no-demangle", "--hash-style=gnu", "--build-id"]
        command += ["--version-script", script, "-o", image]
        command += [os.path.join(BDIR, "imgbegin.o"), compiled.name, *more]
        places = compiled.find(".debug_info") is not None
        command += ["--print-gc-sections"] if places else []
        undefined = [*undefined_symbols(compiled.symbols()), *self.classes.foreign]
        few = wanted_libraries(undefined)
        status, text = 1, ""
        libraries: list[str] | tuple[str, ...] = few
        while True:
            last = [self._vtable_object(vtables)] if vtables else []
            last += [os.path.join(BDIR, "imgfini.o")] if self.initialisers else []
            whole = [*command, *last, os.path.join(BDIR, "imgend.o"), *self.options.link]
            whole += library_arguments(self.library_path, libraries)
            echo(whole, self.options.verbose)
            status, _, errors = Child(whole, self.env, capture_stderr=True).wait()
            text = errors.decode("utf-8", "replace")
            if not status or "undefined reference" not in text:
                break
            if libraries is few:
                libraries = all_libraries(undefined)
            elif self.initialisers:
                self.drop_initialisers(next(iter(parse_undefined(text)), ""))
                relocatable = neutralised(compiled, self.initialisers)
                write_file(compiled.name, relocatable)
            elif not vtables.drop(compiled, set(parse_undefined(text))):
                break
        if status:
            assembly = self.compiler.assembly(self) if "undefined reference" in text else ""
            messages = explain_undefined(text, assembly, self.inputs)
            for message in demangled(messages, self.env):
                sys.stderr.write(f"mkoffload: error: {message}\n")
            if not messages:
                sys.stderr.write(
                    "".join(t for t in text.splitlines(keepends=True) if "removing unused section" not in t)
                )
            elif self.compiler.accel == ACCEL_TRUE and any(s.startswith(PREFIXES) for s in parse_undefined(text)):
                sys.stderr.write(f"mkoffload: error: {CLASSES_CUT}\n")
            raise child_failed(command[0], status)
        if places:
            from mkoffload import dropped

            gone, text = dropped.removed(text, compiled.name)
            again = dropped.with_places(relocatable, compiled, gone)
            if again is not None:
                write_file(compiled.name, again)
                run([word for word in whole if word != "--print-gc-sections"], self.env, self.options.verbose)
        sys.stderr.write(text)
        return image

    def make(self) -> Made | None:
        """All the steps.  None: no object has device code.  Raises ToolError."""
        try:
            usable = self.read_inputs()
            if not usable:
                return None
            missing = self.classes_without_ir()
            if missing:
                # Regions would work on copies of the host's, whose way back faults: they are read-only there.
                names = demangled([", ".join(missing)], self.env)[0]
                raise ToolError(f"regions get {names} from the host: {CLASSES_CUT}")
            compiled, *more = self.compiler.compile(self, usable)
            elf = open_object(compiled)
            made = self.check(elf)
            if concerned(elf, made.tables[1]) and self.compiler.accel == ACCEL_STOCK:
                compiled, *more = self.compile_with_listing(usable, made.tables[1])
                elf = open_object(compiled)
            elif self.compiler.accel != ACCEL_STOCK:
                self.units = in_objects(self.inputs, made.tables[1], self.folder, self.env)
            vtables = Vtables(self.exported, elf, self.classes)
            image = self.link(elf, more, vtables)
            for item, message in own_copies(self.inputs, open_object(image), made.tables[1]):
                sys.stderr.write(f"mkoffload: warning: {item.shown}: {message}\n")
            for message in demangled(warnings(self.units, TARGET_INTELMIC), self.env):
                sys.stderr.write(f"mkoffload: warning: {message}\n")
            self.pack(image, made.tables, vtables)
        except ElfError as error:
            raise ToolError(f"cannot read {error}") from None
        made.classes = [name for name, _ in vtables.entries]
        return made

    def _vtable_object(self, vtables: Vtables) -> str:
        """The image's table entries of the vtables."""
        output = self.path(".vtables.o", ".mkoffload.vtables.o")
        text = vtables.table_text() + '\t.section .note.GNU-stack,"",@progbits\n'
        run([find_tool("as", BDIR), "--64", "-o", output, "-"], self.env, self.options.verbose, text.encode())
        return output

    def pack(self, image: str, tables: tuple[Names, Names], vtables: Vtables) -> None:
        """The host object."""
        described = [d for item in self.inputs for d in item.described]
        described += [vtables.described()] if vtables else []
        output = os.path.basename(self.options.dumpbase).removesuffix("x" + TARGET_INTELMIC).rstrip(".")
        lengths = len(tables[0]), len(tables[1]) + len(vtables.entries)
        accel, appended = self.compiler.accel, linker_appends()
        text = host_object_text(image, described, *lengths, output, accel, vtables, appended)
        command = [find_tool("as", BDIR), "--64", "-o", self.options.output]
        if self.options.save_temps:
            source = self.options.dumpbase + ".s"
            write_file(source, text)
            run([*command, source], self.env, self.options.verbose)
        else:
            run([*command, "-"], self.env, self.options.verbose, text.encode())


def complain(output: str, what: str, host: Names, image: Names, rule: Rule) -> None:
    """ToolError naming the entries in which two tables differ, if they do."""
    found = differences(host, image, rule)
    if found:
        shown = "; ".join(f"entry {index}: host has {one}, image has {other}" for index, one, other in found[:8])
        more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
        raise ToolError(
            f"{output}: the {what} tables of host and image differ "
            f"({len(host)} and {len(image)} entries): {shown}{more}"
        )


def build(words: Sequence[str], temps: Temps, library_path: str | None = None) -> Made | None:
    """Make the host object that the command line (without the program's name) asks for.

    None: no object has device code, nothing was made.  Raises ToolError.
    """
    options = Options(words)
    library_path = os.environ.get("LIBRARY_PATH", "") if library_path is None else library_path
    image = Image(options, temps, library_path)
    if image.compiler.accel == ACCEL_STOCK:
        return image.make()
    # What the accelerator compiler has no IR of (vtables), or fails on, gcc's own may yet compile: until that is known,
    # the messages of the first are held back.
    shown, sys.stderr = sys.stderr, io.StringIO()
    try:
        made = image.make()
        shown.write(sys.stderr.getvalue())
        return made
    except ToolError as error:
        second = another(image.compiler, image.inputs)
        if second is None or options.verbose:
            shown.write(sys.stderr.getvalue())
        if second is None:
            raise
        if options.verbose:
            shown.write(f"mkoffload: {error}; trying the other compiler\n")
    finally:
        sys.stderr = shown
    made = Image(options, temps, library_path, second).make()
    if made is not None:
        sys.stderr.write(f"mkoffload: note: {FALLEN_BACK}\n")
    return made
